"""The coordinator process's entry."""

import os

from actors.coordinator.coordinator import CoordinatorActor
from actors.entity.args import CoordinatorArgs
from actors.launch import Launch
from actors.runtime import Runtime, run_actor


async def serve(runtime: Runtime) -> None:
    """Be the coordinator that the launch describes."""
    args = CoordinatorArgs.model_validate(runtime.launch.args)
    environment = dict(os.environ)
    if args.agent.input_dir:
        environment["AGIRAPH_INPUT"] = args.agent.input_dir
    coordinator = CoordinatorActor(runtime, args, environment)
    try:
        await coordinator.live()
    finally:
        coordinator.conversation.close()
        coordinator.office.close()


def main(launch: Launch) -> int:
    """Run one coordinator; return the process's exit code."""
    return run_actor(launch, serve)

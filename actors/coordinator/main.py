"""The coordinator process's entry."""

import os

from actors.coordinator.coordinator import CoordinatorActor
from actors.entity.args import CoordinatorArgs
from actors.launch import Launch
from actors.runtime import Runtime, run_actor
from agiraph.agent.inbox import Inbox
from agiraph.agent.own_prompts import check_own_prompts
from agiraph.prompt_folder import lay_over


async def serve(runtime: Runtime) -> None:
    """Be the coordinator that the launch describes, in one run after the other.

    Messages that wait to enter the conversation wait on through the change.
    """
    check_own_prompts(runtime.home.prompts)
    lay_over(runtime.home.prompts)
    args = CoordinatorArgs.model_validate(runtime.launch.args)
    inbox = Inbox()
    while True:
        coordinator = CoordinatorActor(runtime, args, dict(os.environ), inbox)
        try:
            await coordinator.live()
        finally:
            coordinator.close()


def main(launch: Launch) -> int:
    """Run one coordinator; return the process's exit code."""
    return run_actor(launch, serve)

"""The coordinator process's entry."""

import os

from actors.coordinator.coordinator import CoordinatorActor
from actors.entity.args import CoordinatorArgs
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from agiraph.agent.custom_prompts import check_own_prompts
from agiraph.agent.inbox import EntityInbox
from agiraph.settings.prompt_folder import lay_over


async def serve(runtime: Runtime) -> None:
    """Run the coordinator that the launch describes, in one run after the other.

    Messages that wait to enter the conversation continue to wait in the next run.
    """
    check_own_prompts(runtime.home.prompts)
    lay_over(runtime.home.prompts)
    args = CoordinatorArgs.model_validate(runtime.launch.args)
    inbox = EntityInbox()
    while True:
        coordinator = CoordinatorActor(runtime, args, dict(os.environ), inbox)
        try:
            await coordinator.run()
        finally:
            coordinator.close()


def main(launch: ActorLaunch) -> int:
    """Run one coordinator; return the process's exit code."""
    return run_actor(launch, serve)

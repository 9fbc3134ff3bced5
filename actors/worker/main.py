"""The worker process's entry."""

import os
from typing import TYPE_CHECKING

from actors.entity.args import WorkerArgs
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.worker.worker import WorkerActor
from agiraph.agent.custom_prompts import check_own_prompts
from agiraph.settings.prompt_folder import lay_over

if TYPE_CHECKING:
    from actors.worker.mirror.mirror import Mirror


async def serve(runtime: Runtime) -> None:
    args = WorkerArgs.model_validate(runtime.launch.args)
    if runtime.launch.host:
        from actors.worker.mirror.mirroring import mirrored  # for other machines only

        async with mirrored(runtime, args) as (mirror, args):
            await work(runtime, args, mirror)
    else:
        await work(runtime, args)


async def work(runtime: Runtime, args: WorkerArgs, mirror: "Mirror | None" = None) -> None:
    check_own_prompts(runtime.home.prompts)
    lay_over(runtime.home.prompts)
    environment = dict(os.environ)
    if args.spec.input:
        environment["AGIRAPH_INPUT"] = args.spec.input
    worker = WorkerActor(runtime, args, environment, mirror)
    try:
        await worker.run()
    finally:
        worker.context.close()


def main(launch: ActorLaunch) -> int:
    """Run one worker; return the process's exit code."""
    return run_actor(launch, serve)

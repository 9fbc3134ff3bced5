"""The worker process's entry."""

import os

from actors.entity.args import WorkerArgs
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.worker.worker import WorkerActor
from agiraph.agent.custom_prompts import check_own_prompts
from agiraph.core.prompt_folder import lay_over


async def serve(runtime: Runtime) -> None:
    check_own_prompts(runtime.home.prompts)
    lay_over(runtime.home.prompts)
    args = WorkerArgs.model_validate(runtime.launch.args)
    environment = dict(os.environ)
    if args.input_dir:
        environment["AGIRAPH_INPUT"] = args.input_dir
    worker = WorkerActor(runtime, args, environment)
    try:
        await worker.run()
    finally:
        worker.context.close()


def main(launch: ActorLaunch) -> int:
    """Run one worker; return the process's exit code."""
    return run_actor(launch, serve)

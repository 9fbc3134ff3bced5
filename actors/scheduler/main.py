"""The process `clock`: the scheduler, by the machine's time."""

from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.scheduler.scheduler import Scheduler, TimeSource


async def serve(runtime: Runtime, time: TimeSource | None = None) -> None:
    """Schedule until cancelled."""
    scheduler = Scheduler(runtime, time or TimeSource())
    await runtime.ready()
    try:
        await scheduler.run()
    finally:
        await scheduler.close()


def main(launch: ActorLaunch) -> int:
    """Run the scheduler; return its exit code."""
    return run_actor(launch, serve)

"""The process `clock`: keeps every agent's triggers by the machine's time."""

from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.scheduler.scheduler import Scheduler
from actors.scheduler.time_source import SystemTime, TimeSource


async def serve(runtime: Runtime, time: TimeSource | None = None) -> None:
    """Keep time until cancelled."""
    clock = Scheduler(runtime, time or SystemTime())
    await runtime.ready()
    try:
        await clock.run()
    finally:
        await clock.close()


def main(launch: ActorLaunch) -> int:
    """Run the clock; return its exit code."""
    return run_actor(launch, serve)

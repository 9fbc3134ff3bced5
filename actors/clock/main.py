"""The process `clock`: keeps every agent's triggers by the machine's time."""

from actors.clock.clock import Clock
from actors.clock.time_source import TimeSource, WallTime
from actors.launch import Launch
from actors.runtime import Runtime, run_actor


async def serve(runtime: Runtime, time: TimeSource | None = None) -> None:
    """Keep time until cancelled."""
    clock = Clock(runtime, time or WallTime())
    await runtime.ready()
    try:
        await clock.run()
    finally:
        await clock.close()


def main(launch: Launch) -> int:
    """Run the clock; return its exit code."""
    return run_actor(launch, serve)

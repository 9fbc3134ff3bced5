"""An actor that is ready and waits: what `benchmarks.spawn` starts and weighs."""

from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor


def main(launch: ActorLaunch) -> int:
    """Live until stopped."""
    return run_actor(launch, wait)


async def wait(runtime: Runtime) -> None:
    """Take messages and do nothing with them."""
    await runtime.ready()
    while True:
        runtime.done(await runtime.receive())

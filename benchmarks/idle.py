"""An actor that is ready and waits: what `benchmarks.spawn` starts and weighs."""

from actors.launch import Launch
from actors.runtime import Runtime, run_actor


def main(launch: Launch) -> int:
    """Live until stopped."""
    return run_actor(launch, wait)


async def wait(runtime: Runtime) -> None:
    """Take messages and do nothing with them."""
    await runtime.ready()
    while True:
        runtime.done(await runtime.receive())

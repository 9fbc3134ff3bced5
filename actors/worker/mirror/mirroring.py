"""Mirroring: runs a worker's process in a mirror of its home, from its start to its end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from actors.entity.args import WorkerArgs
from actors.runtime.gated_endpoint import GatedEndpoint
from actors.runtime.runtime import Runtime
from actors.worker.mirror.mirror import Mirror


@asynccontextmanager
async def mirrored(runtime: Runtime, args: WorkerArgs) -> AsyncIterator[tuple[Mirror, WorkerArgs]]:
    """Yield the mirror, and the arguments with the paths of this machine.

    In the block the runtime's home is the mirror, and no message leaves the process before its
    files.
    """
    mirror = Mirror(runtime, args)
    await mirror.open()
    runtime.home = mirror.home
    assert isinstance(runtime.endpoint, GatedEndpoint)
    runtime.endpoint.gate = mirror.send_changes
    folder = str(mirror.input_dir) if mirror.input_dir else None
    try:
        yield (
            mirror,
            args.model_copy(update={"spec": args.spec.model_copy(update={"input": folder})}),
        )
    finally:
        await mirror.send_changes(is_last=True)

"""The bus between real processes: one is killed with messages in its hands."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from tests.contracts.bus import (
    PATIENCE,
    REPOSITORY,
    Ping,
    Task,
    ZeromqBus,
    numbers,
    open_managed_bus,
    until,
    until_depth,
)
from transport.errors import PeerLost
from transport.tickets import make_ticket

HOLDER = """
import asyncio, os, signal, sys
from tests.contracts.bus import CODEC, number
from transport.endpoint import Endpoint

async def main():
    url, ticket = sys.argv[1], bytes.fromhex(sys.argv[2])
    bob = Endpoint(url=url, address="bob", incarnation=1, ticket=ticket, codec=CODEC)
    await bob.start()
    while True:
        received = await bob.receive()
        if number(received) == 0:
            bob.done(received)
        if number(received) == 99:
            os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_killed_process_loses_no_unacknowledged_message(tmp_path: Path) -> None:
    async with open_managed_bus("zeromq", tmp_path) as managed:
        bus = managed.bus
        assert isinstance(bus, ZeromqBus)
        supervisor = await managed.announce("bob", "ada")
        ada = await managed.join("ada")
        ticket = make_ticket(bus.key, "bob", 1).hex()
        command = [sys.executable, "-c", HOLDER, bus.url, ticket]
        holder = subprocess.Popen(command, cwd=REPOSITORY)  # noqa: ASYNC220
        for n in range(4):
            await ada.send("bob", Task(n=n))
        # A message that has had its effect leaves its mailbox.
        await until_depth(supervisor, "bob", 3)
        gone: list[tuple[str, int]] = []
        ada.on_down = lambda address, incarnation: gone.append((address, incarnation))
        asking = asyncio.create_task(ada.ask("bob", Ping(n=99)))
        assert await asyncio.to_thread(holder.wait, PATIENCE) == -signal.SIGKILL
        heir = await managed.join("bob", 2)
        assert await numbers(heir, 3) == [1, 2, 3]
        await asyncio.wait([asking], timeout=PATIENCE)
        assert isinstance(asking.exception(), PeerLost)
        await until(lambda: gone == [("bob", 1)])

"""The reader's process: called over pipes, killed when it is slow, restarted after its exit."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from actors.tools.web.reader_process import ReaderProcess
from agiraph.core.errors import Refused
from agiraph.settings.config import load_config
from agiraph.tools.sandbox.own_code import own_code
from agiraph.tools.sandbox.probe import probe
from agiraph.tools.sandbox.sandbox import Sandbox

PAGE = {
    "do": "page",
    "body": b"<html><title>T</title><body><p>some words</p></body></html>",
    "charset": "",
    "url": "https://x.example/",
}


FOUND = probe()
BEHIND = pytest.mark.skipif(not FOUND.works, reason=f"no sandbox here: {FOUND.why}")
LOOK = """
import os, socket, sys
secret, port, home = sys.argv[1:]
def seen(what):
    try:
        what()
    except OSError:
        return False
    return True
print(seen(lambda: open(secret)), seen(lambda: os.listdir(home)),
      seen(lambda: socket.create_connection(("127.0.0.1", int(port)), 5)),
      len([name for name in os.listdir("/proc") if name.isdigit()]) < 4)
"""


@pytest.fixture
async def reader(request: pytest.FixtureRequest) -> AsyncIterator[ReaderProcess]:
    """A reader that has not begun; a parameter is the sandbox that it is in."""
    environ = {"PATH": os.environ["PATH"], "BRAVE_API_KEY": "secret"}
    made = ReaderProcess(environ, getattr(request, "param", None), memory_mb=1024)
    yield made
    await made.close()


async def test_a_page_is_read_in_a_process_that_sees_no_key(reader: ReaderProcess) -> None:
    assert reader.pid is None
    told = await reader.ask(PAGE, 30)
    assert (told["title"], told["markdown"]) == ("T", "some words")
    assert reader.pid not in (None, os.getpid())
    with open(f"/proc/{reader.pid}/environ", "rb") as file:
        assert b"secret" not in file.read()


@pytest.mark.parametrize("reader", [Sandbox(load_config().sandbox, FOUND)], indirect=True)
@BEHIND
async def test_sandboxed_reader_has_no_network(reader: ReaderProcess) -> None:
    assert (await reader.ask(PAGE, 30))["title"] == "T"
    assert reader.pid is not None
    parser = psutil.Process(reader.pid).children(recursive=True)[-1]
    for name in ("net", "pid", "mnt"):
        assert os.readlink(f"/proc/{parser.pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")
    await reader.close()
    psutil.wait_procs([parser], timeout=30)
    assert not parser.is_running()
    assert (await reader.ask(PAGE, 30))["markdown"] == "some words"


@BEHIND
def test_compromised_reader_can_read_no_file_and_reach_no_network(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a key")
    wall = Sandbox(load_config().sandbox, FOUND)
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = [str(secret), str(server.getsockname()[1]), str(tmp_path)]
        argv = [sys.executable, "-c", LOOK, *words]
        done = [
            subprocess.run(one, capture_output=True, text=True, timeout=60, check=True).stdout
            for one in (
                argv,
                wall.around_helper(argv, readable=own_code(), home=tmp_path, has_network=False),
            )
        ]
    assert done[0].split()[:3] == ["True"] * 3
    assert done[1].split() == ["False"] * 3 + ["True"]


async def test_requests_are_answered_in_turn_by_one_process(
    reader: ReaderProcess,
) -> None:
    first = await asyncio.gather(*(reader.ask(dict(PAGE), 30) for _ in range(5)))
    assert len(first) == 5
    pid = reader.pid
    await reader.ask(PAGE, 30)
    assert reader.pid == pid


async def test_slow_page_costs_only_the_reader_process(
    reader: ReaderProcess,
) -> None:
    await reader.ask(PAGE, 30)
    pid = reader.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(Refused, match=r"longer than 0\.05 s"):
        await reader.ask(PAGE, 0.05)
    assert not os.path.exists(f"/proc/{pid}")
    assert (await reader.ask(PAGE, 30))["title"] == "T"


async def test_crashed_reader_is_restarted(reader: ReaderProcess) -> None:
    await reader.ask(PAGE, 30)
    pid = reader.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    asking = asyncio.ensure_future(reader.ask(PAGE, 30))
    await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Refused, match="crashed"):
        await asking
    assert (await reader.ask(PAGE, 30))["title"] == "T"


async def test_answer_of_a_cancelled_request_is_not_given_to_the_next(
    reader: ReaderProcess,
) -> None:
    await reader.ask(PAGE, 30)
    asking = asyncio.ensure_future(reader.ask({**PAGE, "body": b"<p>other</p>"}, 30))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await reader.ask(PAGE, 30))["markdown"] == "some words"

"""Another user of the same machine, not root: reads, changes and reaches nothing of a home."""

import json
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from agiraph.http.client import Client, read_gateway_address
from agiraph.http.discovery import is_held
from agiraph.storage.home import Home
from tests.integration.commands import Commands, await_nothing_left
from tests.scenarios.scenario_home import processes_of

STRANGER = 61_234
"""A user id that no account has."""
NOT_ROOT = "only root can act as another user"


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    """A home in a world-readable folder, with an ended run and its processes."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        given = Path(folder, "given")
        given.mkdir()
        (given / "notes.md").write_text("# Notes\n")
        commands = Commands(Path(folder, "my home"))
        umask = os.umask(0o022)
        try:
            begun = commands.program("up")
            assert begun.returncode == 0, begun.stderr
            done = commands.here(
                "run",
                "Survey it",
                "--name",
                "secret",
                "--input",
                str(given),
                "--model",
                "script/survey",
            )
            assert done.returncode == 0, done.stderr
            yield commands
            if is_held(commands.home):
                commands.here("down")
        finally:
            os.umask(umask)
        await_nothing_left(commands.home)


def test_no_file_of_a_home_is_open_to_other_users(commands: Commands) -> None:
    """Not by its folder alone: each private folder and file is closed itself."""
    home = Home(commands.home)
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    for top in (home.system.path, home.human.path, home.agents):
        assert stat.S_IMODE(top.stat().st_mode) == 0o700
        for place in top.rglob("*"):
            mode = place.lstat().st_mode
            if stat.S_ISSOCK(mode) or stat.S_ISLNK(mode) or place.parent.name == "published":
                continue
            assert not mode & 0o077 or stat.S_ISDIR(mode), f"{place} has mode {mode:o}"
    assert stat.S_IMODE(home.knowledge.stat().st_mode) & 0o077 == 0


@pytest.mark.skipif(os.geteuid() != 0, reason=NOT_ROOT)
def test_another_user_can_neither_read_nor_change_nor_connect(commands: Commands) -> None:
    home, processes = commands.home, [one.pid for one in processes_of(commands.home)]
    sockets = [str(place) for place in home.rglob("*") if stat.S_ISSOCK(place.lstat().st_mode)]
    places = [str(home), *map(str, home.rglob("*"))]
    assert sockets
    assert len(processes) > 4

    def look() -> dict[str, Any]:
        return {
            "user": os.geteuid(),
            "read": [place for place in places if os.access(place, os.R_OK)],
            "written": [place for place in places if os.access(place, os.W_OK)],
            "listed": [place for place, *_ in os.walk(home)],
            "reached": [place for place in sockets if connects(place)],
            "seen": [name for pid in processes for name in seen_of(pid)],
            "signalled": [pid for pid in processes if signals(pid)],
        }

    found = as_stranger(look)
    assert found.pop("user") == STRANGER
    assert found.keys() == {"read", "written", "listed", "reached", "seen", "signalled"}
    assert not any(found.values()), found


@pytest.mark.skipif(os.geteuid() != 0, reason=NOT_ROOT)
def test_a_link_that_a_browser_is_started_with_is_of_no_use_to_another_user(
    commands: Commands,
) -> None:
    """The command line of the browser, with the link, can be read by all."""
    url, token = read_gateway_address(commands.home)
    with Client(url, token) as client:
        codes = [
            client.create_login_link(user=one).path.partition("#")[2] for one in (1000, STRANGER)
        ]

    def log_in(code: str) -> int:
        return httpx.post(f"{url}/login", json={"code": code}).status_code

    assert as_stranger(lambda: {"answers": [*map(log_in, codes)]}) == {"answers": [403, 200]}
    assert log_in(codes[0]) == 200, "root and the user of the link may use it"


def connects(place: str) -> bool:
    with socket.socket(socket.AF_UNIX) as link, suppress(OSError):
        link.connect(place)
        return True
    return False


def seen_of(pid: int) -> Iterator[str]:
    """Yield the readable data of a process: its variables, memory map, files and folder."""
    for name in ("environ", "maps", "mem", "stack"):
        with suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
            file.read(1)
            yield f"{pid}/{name}"
    for name in ("fd", "map_files"):
        with suppress(OSError):
            yield from (f"{pid}/{name}/{one}" for one in os.listdir(f"/proc/{pid}/{name}"))
    with suppress(OSError):
        yield os.readlink(f"/proc/{pid}/cwd")


def signals(pid: int) -> bool:
    with suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


def as_stranger(look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of `look` in a process of the other user."""
    begin, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            os.write(end, json.dumps(look()).encode())
        except BaseException as error:  # the parent shows it
            print(f"the other user: {error!r}", file=sys.stderr)
        finally:
            os._exit(0)
    os.close(end)
    with open(begin, "rb") as pipe:
        found: dict[str, Any] = json.loads(pipe.read() or b"{}")
    os.waitpid(pid, 0)
    return found

"""Two reference servers by other authors, from the npm registry, in the sandbox and over HTTP."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agiraph.tools.sandbox.probe import probe
from tests.fakes.model_server import SeenRequest, call, calls
from tests.fakes.real_agents import Release, program_of
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, MakeLiveHome
from tests.scenarios.steps import one_worker, publish, write

SERVER = "@modelcontextprotocol/server"
FILES = Release("npm", f"{SERVER}-filesystem", "2026.8.31", "mcp-server-filesystem", 20)
EVERYTHING = Release("npm", f"{SERVER}-everything", "2026.8.31", "mcp-server-everything", 20)
END = (write("facts.md", "done"), publish("done"))


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class EverythingServer:
    """The everything server, over HTTP."""

    def __init__(self) -> None:
        self._program = str(program_of(EVERYTHING))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}/mcp"
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        node = Path(str(shutil.which("node"))).parent
        process = subprocess.Popen(
            [self._program, "streamableHttp"],
            env={"PATH": str(node), "PORT": str(self._port)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: is_listening(self._port), "the everything server listens")
        return process

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """End it and start it again: it knows no session any more."""
        self.kill()
        self.process = self._start()


@pytest.fixture(scope="module")
def everything() -> Iterator[EverythingServer]:
    server = EverythingServer()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    (folder / "tea.txt").write_text("Green tea is brewed at 80 degrees.")
    return folder


@pytest.fixture(scope="module")
def live_home(docs: Path, everything: EverythingServer, make_live_home: MakeLiveHome) -> LiveHome:
    program = str(program_of(FILES))
    modules = str(Path(program).parents[2])
    files: dict[str, Any] = {"command": program, "args": [str(docs)], "grant": ["*"]}
    if probe().works:
        wall = {"wrap": "bwrap", "writable": [str(docs)], "readable": [modules], "network": False}
        files |= wall
    over_http = {"url": everything.url, "grant": ["*"], "headers": {"X-Team": "blue"}}
    return make_live_home({"mcp": {"servers": {"files": files, "all": over_http}}})


def test_a_worker_uses_servers_that_others_wrote(live_home: LiveHome, docs: Path) -> None:
    def look(seen: SeenRequest) -> Any:
        assert "80 degrees" in seen.results("files__read_text_file")[0]
        assert "Access denied" in seen.results("files__read_text_file")[1]
        assert "hello" in seen.result("all__echo")
        assert "5" in seen.result("all__get-sum")
        assert "image" in seen.result("all__get-tiny-image")
        return calls(*END)

    live_home.plays(
        coordinator=one_worker("olga"),
        olga=[
            calls(
                call("files__write_file", path=str(docs / "new.txt"), content="by a team"),
                call("files__read_text_file", path=str(docs / "tea.txt")),
                call("files__read_text_file", path="/etc/passwd"),
                call("all__echo", message="hello"),
                call("all__get-sum", a=2, b=3),
                call("all__get-tiny-image"),
                call("all__read_resource"),
                call("all__get_prompt"),
            ),
            look,
        ],
    )
    live_home.complete("Use what others wrote")
    assert (docs / "new.txt").read_text() == "by a team"
    rows = {row["name"]: row for row in live_home.json("mcp", "list", "--kept")}
    assert rows["files"]["state"] == "ready"
    assert rows["files"]["grant"] == ["*"]
    assert "files__read_text_file" in [tool["name"] for tool in rows["files"]["tools"]]
    assert "all__echo" in live_home.command("mcp", "list", "--json").stdout
    shown = live_home.command("mcp", "list").stdout
    assert "read_text_file" in shown


def test_restarted_server_is_connected_again(
    live_home: LiveHome, everything: EverythingServer
) -> None:
    everything.restart()
    live_home.plays(
        coordinator=one_worker("pia"), pia=[call("all__echo", message="still there"), calls(*END)]
    )
    outcome = live_home.complete("Speak again")
    [conversation] = outcome.run.glob("workers/pia-*/conversation.jsonl")
    assert "Echo: still there" in conversation.read_text()

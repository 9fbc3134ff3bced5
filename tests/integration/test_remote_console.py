"""A console on another machine: commands over TLS, with a token and without the home's files."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agiraph.http.api import ApiError, DeclareInputRequest, NotReachable
from agiraph.http.client import Client
from agiraph.storage.file_records import FileEntry
from cli.run.input_upload import PIECE, entries_below
from tests.integration.commands import Commands, await_nothing_left
from tests.integration.probed_supervisor import ROOT
from tests.integration.test_gateway_listening import certificate, needs_openssl
from tests.integration.waiting import until

pytestmark = needs_openssl


@dataclass
class RemoteConsole:
    """A home with a supervisor, and the commands of a machine that is only a console of it."""

    home: Commands
    console: Commands
    url: str
    ca: Path
    token: str

    def far(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command on the console's machine for the home that it knows as `atlas`."""
        return self.console.here(*words, "--url", "atlas")

    def json(self, *words: str) -> object:
        done = self.far(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteConsole]:
    folder = tmp_path_factory.mktemp("far")
    cert, key = certificate(folder, "localhost")
    home = Commands(folder / "home")
    home.home.mkdir()
    (home.home / "agiraph.yaml").write_text(f"http: {{tls_cert: {cert}, tls_key: {key}}}\n")
    nowhere = {"XDG_CONFIG_HOME": str(folder / "config"), "AGIRAPH_HOME": str(folder / "none")}
    console = Commands(folder / "none", nowhere)
    with home.supervisor(), Client.for_home(home.home) as client:
        url = client.url.replace("127.0.0.1", "localhost")
        token = home.here("tokens", "add", "laptop", "--scope", "control").stdout.strip()
        login = ("login", "--url", url, "--name", "atlas", "--ca", str(cert))
        done = console.here(*login, stdin=f"{token}\n")
        assert done.returncode == 0, done.stderr
        assert "scope control" in done.stdout
        yield RemoteConsole(home, console, url, cert, token)
    await_nothing_left(home.home)
    assert not (folder / "none").exists()


def test_remote_console_shows_identity_and_progress(remote: RemoteConsole) -> None:
    rows = remote.json("ps")
    assert isinstance(rows, list)
    assert {"supervisor", "router", "human"} <= {row["address"] for row in rows}
    status = remote.json("status")
    assert isinstance(status, dict)
    assert (status["running"], status["home"]) == (True, str(remote.home.home))
    assert remote.far("logs").returncode == 2


def test_a_wrong_token_and_an_unknown_authority_are_refused(remote: RemoteConsole) -> None:
    wrong = remote.far("ps", "--token", "wrong")
    assert (wrong.returncode, "token" in wrong.stderr) == (1, True)
    stranger = remote.console.here("ps", "--url", remote.url.replace("localhost", "127.0.0.1"))
    assert (stranger.returncode, "no token for" in stranger.stderr) == (2, True)
    known = ("--url", remote.url.replace("localhost", "127.0.0.1"), "--token", remote.token)
    untrusted = remote.console.here("ps", *known)
    assert (untrusted.returncode, "CERTIFICATE_VERIFY_FAILED" in untrusted.stderr) == (4, True)


def test_remote_input_is_uploaded_although_the_gateway_is_killed(
    remote: RemoteConsole, tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    (folder / "sub").mkdir(parents=True)
    (folder / "notes.md").write_text("# Notes\n")
    (folder / "sub" / "link").symlink_to("../notes.md")
    (folder / "big.bin").write_bytes(bytes(range(256)) * 20_000)
    declared = DeclareInputRequest(
        name="papers", files=tuple(entries_below(folder, lambda _text: None))
    )
    with Client(remote.url, remote.token, ca=str(remote.ca)) as client:
        found = client.declare_input(declared)
        assert (found.path, len(found.wanted)) == (None, 2)
        client.send_input(found.id, 0, (folder / "big.bin").read_bytes()[:PIECE])
        with pytest.raises(ApiError, match="declare it again"):
            client.send_input(found.id, 0, b"x")
        before = client.health().pid
        with contextlib.suppress(NotReachable):
            client.act("human", "kill")
        until(lambda: _pid(client) not in (None, before), "another gateway")
    survey = ("run", "Survey", "-i", str(folder), "-m", "script/survey", "--name", "far")
    done = remote.console.run(*survey, "--url", "atlas", "--json")
    assert done.returncode == 0, done.stderr
    assert "2 files, 5.1 MB, of which 4.2 MB is there" in done.stderr
    told = json.loads(done.stdout)
    assert (told["status"], "notes.md" in told["result"]) == ("completed", True)
    assert remote.far("result", "far").stdout.strip() == told["result"].strip()
    there = remote.home.home / "inputs" / found.id
    assert (there / "big.bin").read_bytes() == (folder / "big.bin").read_bytes()
    assert (there / "sub/link").read_text() == "# Notes\n"
    created = ("events", "far", "-f", "--url", "atlas", "--json", "--type", "agent.created")
    with remote.console.running(*created) as following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["type"] == "agent.created"
    assert remote.far("attach", "far").stdout.strip() == told["result"].strip()


def test_a_mcp_client_reaches_the_teams_of_a_home_elsewhere(remote: RemoteConsole) -> None:
    mcp = pytest.importorskip("mcp")
    serve = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "agiraph", "mcp", "serve", "--url", "atlas"],
        env=remote.console.environ | {"PYTHONPATH": str(ROOT)},
    )

    async def agents() -> list[dict[str, object]]:
        async with asyncio.timeout(60), mcp.Client(serve) as client:
            answer = await client.call_tool("agents", {})
            assert not answer.is_error, answer.content
            found: list[dict[str, object]] = answer.structured_content["agents"]
            return found

    known = remote.json("agents")
    assert isinstance(known, list)
    assert [one["agent"] for one in asyncio.run(agents())] == [one["id"] for one in known]


def test_an_input_that_climbs_and_a_token_that_may_not_are_refused(
    remote: RemoteConsole, tmp_path: Path
) -> None:
    (tmp_path / "out").symlink_to("../secret")
    climbing = remote.far("run", "Survey", "-i", str(tmp_path), "-m", "script/survey")
    assert (climbing.returncode, "'out' leads out of the folder" in climbing.stderr) == (2, True)
    with Client(remote.url, remote.token, ca=str(remote.ca)) as client:
        hostile = DeclareInputRequest(name="x", files=(FileEntry(path="../x", kind="folder"),))
        with pytest.raises(ApiError, match="is not the path of a file") as refused:
            client.declare_input(hostile)
        assert refused.value.status == 422
    reader = remote.home.here("tokens", "add", "wall", "--scope", "talk").stdout.strip()
    (tmp_path / "out").unlink()
    lesser = remote.far("run", "x", "-i", str(tmp_path), "--token", reader)
    assert "needs the scope 'control'" in lesser.stderr
    audit = (remote.home.home / "human/audit.jsonl").read_text().splitlines()
    calls = [json.loads(line) for line in audit if '"/inputs' in line]
    assert {("laptop", 422), ("wall", 403)} <= {(one["who"], one["status"]) for one in calls}


def _pid(client: Client) -> int | None:
    with contextlib.suppress(ApiError, NotReachable):
        return client.health().pid
    return None

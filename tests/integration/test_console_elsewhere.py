"""A console on another machine: commands over TLS, with a token and without the home's files."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agiraph.http.client import Client
from tests.integration.commands import Commands, await_nothing_left
from tests.integration.test_gateway_listening import certificate, needs_openssl

pytestmark = needs_openssl


@dataclass
class Place:
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
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
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
        yield Place(home, console, url, cert, token)
    await_nothing_left(home.home)
    assert not (folder / "none").exists()


def test_who_it_is_and_how_it_goes_is_seen_from_elsewhere(place: Place) -> None:
    rows = place.json("ps")
    assert isinstance(rows, list)
    assert {"supervisor", "router", "human"} <= {row["address"] for row in rows}
    status = place.json("status")
    assert isinstance(status, dict)
    assert (status["running"], status["home"]) == (True, str(place.home.home))
    assert place.far("logs").returncode == 2


def test_a_wrong_token_and_an_unknown_authority_are_refused(place: Place) -> None:
    wrong = place.far("ps", "--token", "wrong")
    assert (wrong.returncode, "token" in wrong.stderr) == (1, True)
    stranger = place.console.here("ps", "--url", place.url.replace("localhost", "127.0.0.1"))
    assert (stranger.returncode, "no token for" in stranger.stderr) == (2, True)
    known = ("--url", place.url.replace("localhost", "127.0.0.1"), "--token", place.token)
    untrusted = place.console.here("ps", *known)
    assert (untrusted.returncode, "CERTIFICATE_VERIFY_FAILED" in untrusted.stderr) == (4, True)


def test_a_run_is_watched_and_read_from_elsewhere(place: Place, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    survey = ("run", "Survey", "-i", str(tmp_path), "-m", "script/survey", "--name", "far", "-d")
    begun = place.home.here(*survey)
    assert begun.returncode == 0, begun.stderr
    done = place.far("attach", "far", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "completed"
    assert place.far("result", "far").stdout.strip() == told["result"].strip()
    created = ("events", "far", "-f", "--url", "atlas", "--json", "--type", "agent.created")
    with place.console.running(*created) as following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["type"] == "agent.created"

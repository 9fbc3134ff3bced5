"""The remote home of a command: options, variables, and the remotes that `login` stored."""

from pathlib import Path
from typing import Any

import click
import pytest

from agiraph.core.errors import InvalidInput
from agiraph.http.remotes import (
    Remote,
    Remotes,
    checked_url,
    read_remotes,
    require_private,
    write_remotes,
)
from cli.command_table import AT_HOME, COMMANDS, OVER_API, WITHOUT_HOME
from cli.options import remote
from cli.options.everywhere import SharedOption
from tests.unit.cli.fakes import command

ATLAS = Remote("https://atlas.example", "tok-a", "atlas")
OTHER = Remote("https://other.example:8443", "tok-o")


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store two remotes in a folder of the test."""
    for name in ("AGIRAPH_HOME", "AGIRAPH_URL", "AGIRAPH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "agiraph" / "remotes.json"
    write_remotes(file, Remotes({}).with_remote(ATLAS).with_remote(OTHER))
    return file


def chosen(*words: str) -> Remote | None:
    """Return the target home of a command line."""
    found: list[Remote | None] = []
    options: list[Any] = [
        SharedOption([name], expose_value=False) for name in ("--url", "--home", "--token")
    ]
    look = click.Command(
        "look", params=options, callback=lambda: found.append(remote.chosen_remote())
    )
    look.main(list(words), standalone_mode=False)
    return found[0]


def token(*words: str) -> str:
    """Return the token that a command line sends."""
    found = chosen(*words)
    assert found is not None
    return found.token


def test_every_command_is_in_one_class() -> None:
    classes = [AT_HOME, WITHOUT_HOME, OVER_API]
    assert {name: sum(name in one for one in classes) for name in COMMANDS} == dict.fromkeys(
        COMMANDS, 1
    )
    assert frozenset().union(*classes) == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(AT_HOME))
def test_command_on_local_files_refuses_a_remote_home(name: str) -> None:
    told = command(None, name, "--url", "atlas")
    assert (told.exit_code, "type it on the machine of atlas" in told.stderr) == (2, True)


def test_options_count_before_variables_and_these_before_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert chosen() == OTHER  # it was logged in without a name
    assert chosen("--home", "/x") is None
    assert chosen("--url", "atlas") == ATLAS
    assert chosen("--url", "https://ATLAS.example/") == ATLAS
    monkeypatch.setenv("AGIRAPH_HOME", "/x")
    assert chosen() is None
    monkeypatch.setenv("AGIRAPH_URL", "atlas")
    assert chosen() == ATLAS
    with pytest.raises(click.UsageError, match="each names a home"):
        chosen("--url", "atlas", "--home", "/x")
    with pytest.raises(InvalidInput, match="unknown remote 'atlsa', did you mean 'atlas'"):
        chosen("--url", "atlsa")
    with pytest.raises(click.UsageError, match="--token needs --url"):
        chosen("--home", "/x", "--token", "t")


def test_environment_token_applies_only_to_the_gateway_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGIRAPH_TOKEN", "of-env")
    assert token("--url", "atlas") == "tok-a"
    assert token("--url", "https://new.example") == "of-env"
    monkeypatch.setenv("AGIRAPH_URL", "https://atlas.example/")
    assert token() == "of-env"
    assert token("--url", "https://new.example") == ""
    assert token("--token", "typed") == "typed"


@pytest.mark.parametrize(
    "url", ["http://atlas.example:80", "http://127.evil.example", "http://[2001:db8::1]:8000"]
)
def test_a_token_is_not_sent_in_the_clear(url: str) -> None:
    with pytest.raises(InvalidInput, match="is not encrypted"):
        require_private(Remote(url))
    require_private(Remote(url, insecure=True))
    for safe in ("http://127.0.0.1:8000", "http://[::1]:8000", "http://localhost", ATLAS.url):
        require_private(Remote(safe))


@pytest.mark.parametrize(
    "text",
    ["atlas", "ftp://atlas", "https://", "https://me:pw@atlas", "https://a?b", "https://a:x"],
)
def test_invalid_gateway_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not the address of a gateway"):
        checked_url(text)


def test_remotes_are_listed_without_their_tokens_and_forgotten(config: Path) -> None:
    assert config.stat().st_mode & 0o777 == 0o600
    listed = command(None, "remotes").stdout
    assert "atlas" in listed
    assert "tok-" not in listed
    assert command(None, "remotes", "forget", "atlas").exit_code == 0
    assert command(None, "remotes", "forget", OTHER.url).exit_code == 0
    assert read_remotes(config) == Remotes({})
    config.write_text("{")
    told = command(None, "ps")
    assert (told.exit_code, f"{config}: is damaged" in told.stderr) == (2, True)


def test_files_of_the_home_are_not_for_a_run_elsewhere() -> None:
    for words in (("--estimate",), ("--record", "calls.jsonl"), ("-m", "replay/calls.jsonl")):
        told = command(None, "run", "A goal", *words, "--url", "atlas")
        assert (told.exit_code, "cannot be used with --url" in told.stderr) == (2, True)


def test_a_gateway_that_does_not_answer_is_named() -> None:
    told = command(None, "ps", "--url", "http://127.0.0.1:9", "--token", "t")
    assert told.exit_code == 4
    assert "no gateway answers at http://127.0.0.1:9" in told.stderr
    assert "is that its URL" in told.stderr

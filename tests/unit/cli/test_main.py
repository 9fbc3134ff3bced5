"""The group: help without imports, and every error as one line and an exit code."""

import os
import subprocess
import sys

import click
import pytest

from agiraph.core.errors import InvalidInput, OutOfBudget, Refused, nearly
from agiraph.http.errors import AMBIGUOUS, ApiError, NotReachable
from cli.command_table import COMMANDS, FAMILIES
from cli.exits import exit_code, explanation
from cli.main import agiraph
from tests.unit.cli.fakes import FakeClient, command
from tests.unit.cli.options.test_everywhere import commands


def test_help_lists_every_command_by_family() -> None:
    result = command(None, "--help")
    assert result.exit_code == 0
    for name, entry in COMMANDS.items():
        assert f"  {name} " in result.stdout
        assert entry.help in result.stdout
        assert entry.family in FAMILIES


def test_help_imports_no_command() -> None:
    look = (
        "import sys; from cli.main import agiraph\n"
        "try: agiraph.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'rich', 'httpx', 'pydantic', 'cli.run.command', 'yaml', 'asyncio'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    result = command(None, name, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"agiraph {name}" in result.stdout


def test_every_help_fits_80_columns_and_names_its_arguments() -> None:
    for name, found in commands(agiraph):
        words = name.replace("triggers ", "triggers AGENT ").split()
        for way in ((*words, "--help"), ("help", *words)):
            told = command(None, *way)
            assert told.exit_code == 0
            assert [line for line in told.stdout.splitlines() if len(line) > 80] == []
            assert "Examples:" in told.stdout, name
        text = told.stdout.partition("Options:")[0].partition("\n")[2]
        for argument in found.params:
            if isinstance(argument, click.Argument):
                metavar = argument.make_metavar(click.Context(found)).strip("[].")
                assert metavar in text or "|" in metavar, f"{name}: {metavar} is not described"


def test_help_begins_with_the_common_path_and_fits_80_columns() -> None:
    lines = command(None, "help").stdout.splitlines()
    assert lines == command(None, "--help").stdout.splitlines()
    assert lines[4].startswith("  agiraph init ")
    assert lines[5].startswith("  agiraph run GOAL ")
    assert max(map(len, lines)) <= 80
    headings = [line for line in lines if line.rstrip(":") in FAMILIES]
    assert headings == [f"{family}:" for family in FAMILIES]


def test_unknown_command_is_refused_with_the_known_ones() -> None:
    result = command(None, "swarm")
    assert result.exit_code == 2
    assert "unknown command 'swarm' (known: " in result.stderr
    assert result.stdout == ""


def test_alias_runs_its_command_and_is_not_in_the_help() -> None:
    assert command(None, "context", "--help").stdout.count("agiraph knowledge") >= 3
    assert "context" not in {line.split()[0] for line in command(None).stdout.splitlines() if line}


def test_a_mistyped_option_is_guessed() -> None:
    told = command(None, "run", "x", "--modle", "script").stderr
    assert "--modle" in told
    assert "Did you mean" in told
    assert "--model" in told


def test_a_mistyped_command_is_guessed_and_the_nearest_are_listed() -> None:
    told = command(None, "bord").stderr.splitlines()[-1]
    assert "unknown command 'bord', did you mean 'board'? (known: board, " in told
    assert told.endswith(f" and {len(COMMANDS) - 5} more)")


def test_each_group_refuses_an_unknown_subcommand_with_the_known_ones() -> None:
    groups = {name: one for name, one in commands(agiraph) if isinstance(one, click.Group)}
    assert {"tokens", "knowledge", "host", "config", "local", "mcp"} <= groups.keys()
    for name, group in groups.items():
        if name in ("plan", "roles"):
            continue  # another word is a goal
        words = ("triggers", "an-agent") if name == "triggers" else name.split()
        result = command(None, *words, "shw")
        first = min(nearly("shw", group.commands) or sorted(group.commands))
        assert result.exit_code == 2
        assert "'shw'" in result.stderr, name
        assert "(known: " in result.stderr, name
        assert first in result.stderr, name


@pytest.mark.parametrize("words", [(), ("local",), ("mcp",)], ids=" ".join)
def test_a_group_alone_prints_its_help_once(words: tuple[str, ...]) -> None:
    result = command(None, *words)
    assert "Options:" in result.output
    assert result.output.count("Usage:") == 1


def test_version_option_prints_the_version() -> None:
    assert command(None, "--version").stdout.startswith("agiraph ")


@pytest.mark.parametrize(
    "words",
    [("ps",), ("agents",), ("send", "a", "b"), ("console", "a"), ("run", "x", "--detach")],
    ids=" ".join,
)
def test_missing_supervisor_is_exit_4_with_one_line_of_advice(words: tuple[str, ...]) -> None:
    result = command(None, *words, "--home", "/tmp/nowhere")
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.count("\n") == 1
    assert "no supervisor runs on home /tmp/nowhere" in result.stderr
    assert "agiraph up" in result.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotReachable("away"), 4),
        (ApiError(404, "unknown"), 2),
        (ApiError(409, "taken"), 1),
        (ApiError(409, "several", AMBIGUOUS), 2),
        (ApiError(422, "wrong"), 2),
        (ApiError(402, "spent"), 3),
        (InvalidInput("wrong"), 2),
        (OutOfBudget("spent"), 3),
        (Refused("no"), 1),
        (OSError(28, "No space left on device", "/x"), 1),
        (click.UsageError("wrong"), 2),
        (click.Abort(), 130),
        (KeyboardInterrupt(), 130),
        (RuntimeError("bug"), 1),
    ],
)
def test_each_error_has_its_exit_code(error: BaseException, code: int) -> None:
    assert exit_code(error) == code
    assert explanation(error)


def test_a_bug_is_one_line_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGIRAPH_DEBUG", raising=False)
    client = FakeClient()
    monkeypatch.setattr(client, "agents", lambda **_: 1 / 0)
    result = command(client, "agents")
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("agiraph: internal error: ZeroDivisionError")


def test_home_comes_from_the_option_before_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGIRAPH_HOME", "/tmp/from-env")
    assert "home /tmp/from-env" in command(None, "agents").stderr
    assert "home /tmp/named" in command(None, "agents", "--home", "/tmp/named").stderr
    monkeypatch.delenv("AGIRAPH_HOME")
    assert os.path.expanduser("~/.agiraph") in command(None, "agents").stderr


def test_output_replaces_characters_that_its_encoding_lacks() -> None:
    look = "from cli.main import main; import sys; sys.argv = ['agiraph', 'ü😀']; main()"
    environ = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, env=environ)
    assert b"unknown command '\xfc?'" in done.stderr
    assert done.returncode == 2

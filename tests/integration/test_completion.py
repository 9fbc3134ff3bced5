"""Shell completion by the script that `agiraph completion` prints."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.front_door import run_here

BASH = """eval "$(agiraph completion bash)"
complete_words() {
    COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _agiraph_completion agiraph
    echo "${COMPREPLY[*]}"
}
complete_words agiraph board shop ""
complete_words agiraph bo
complete_words agiraph bord ""
"""
Complete = Callable[[str], list[str]]


def bash(program: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of bash where this `agiraph` is found first."""
    words = ["bash", "--norc", "-c", program]
    return subprocess.run(words, env=environment(home), capture_output=True, text=True, check=True)


def environment(home: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "AGIRAPH_HOME": str(home)}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two agents, of which one has two nodes, and with a host."""
    home = tmp_path_factory.mktemp("home")
    for agent, node in (("shop-1f2e3d", "prices"), ("shop-1f2e3d", "a-plan"), ("news-0a1b2c", "x")):
        folder = home / "agents" / agent / "runs" / "20260101-000000-abc" / "nodes" / f"{node}-w-1"
        folder.mkdir(parents=True)
        (folder / "_spec.md").write_text(f"# {node}\n\nDo it.\n")
    (home / "system" / "logs").mkdir(parents=True)
    for address in ("broker", "shop-1f2e3d.coordinator"):
        (home / "system" / "logs" / f"{address}.log").touch()
    (home / "system" / "hosts.json").write_text('{"hosts": [{"name": "north"}]}')
    return home


@pytest.fixture
def complete(home: Path) -> Complete:
    """Return the completions of a line; a trailing blank begins a new word."""

    def offered(line: str) -> list[str]:
        words = [*line.split(), *([""] if line.endswith(" ") else [])]
        asked = {
            "_AGIRAPH_COMPLETE": "bash_complete",
            "COMP_WORDS": "\n".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        done = run_here((), cwd=home, environ={**environment(home), **asked})
        assert done.stderr == ""
        return [said.removeprefix("plain,") for said in done.stdout.split()]

    return offered


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("agiraph bo", ["board"]),
        ("agiraph show --ru", ["--run", "--runs"]),
        ("agiraph tokens ro", ["rotate"]),
        ("agiraph show ", ["news-0a1b2c", "shop-1f2e3d"]),
        ("agiraph --json run x --agent sh", ["shop-1f2e3d"]),
        ("agiraph board shop ", ["a-plan", "prices"]),
        ("agiraph events shop-1f2e3d --node pr", ["prices"]),
        ("agiraph kill shop-1f2e3d/", ["shop-1f2e3d/coordinator"]),
        ("agiraph logs b", ["broker"]),
        ("agiraph rm news-0a1b2c sh", ["shop-1f2e3d"]),
        ("agiraph run x -m script/", ["script/chaos", "script/survey", "script/team"]),
        ("agiraph triggers news-0a1b2c fi", ["fire"]),
        ("agiraph host drain n", ["north"]),
        ("agiraph move ada ", ["home", "north"]),
        ("agiraph help comp", []),
    ],
)
def test_commands_options_and_names_are_completed(
    complete: Complete, line: str, offered: list[str]
) -> None:
    assert sorted(complete(line)) == offered


@pytest.mark.parametrize(
    "line",
    ["agiraph bord ", "agiraph --home /nowhere show ", "agiraph board x "],
)
def test_completion_without_candidates_prints_nothing(complete: Complete, line: str) -> None:
    assert complete(line) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_for_the_requested_shell(shell: str, home: Path) -> None:
    script = bash(f"agiraph completion {shell}", home).stdout
    assert f"_AGIRAPH_COMPLETE={shell}_complete" in script


def test_a_shell_completes_by_the_script(home: Path) -> None:
    done = bash(BASH, home)
    assert (done.stdout, done.stderr) == ("a-plan prices\nboard\n\n", "")

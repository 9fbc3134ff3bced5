"""What a shell completes, by the script that `agiraph completion` prints."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BASH = """eval "$(agiraph completion bash)"
COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); {more}
_agiraph_completion agiraph
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
Complete = Callable[[str], list[str]]


def bash(program: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of bash where this `agiraph` is found first."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = os.environ | {"PATH": path, "AGIRAPH_HOME": str(home)}
    words = ["bash", "--norc", "-c", program]
    return subprocess.run(words, env=environ, capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two agents, of which one has two nodes."""
    home = tmp_path_factory.mktemp("home")
    for agent, node in (("shop-1f2e3d", "prices"), ("shop-1f2e3d", "a-plan"), ("news-0a1b2c", "x")):
        folder = home / "agents" / agent / "runs" / "20260101-000000-abc" / "nodes" / f"{node}-w-1"
        folder.mkdir(parents=True)
        (folder / "_spec.md").write_text(f"# {node}\n\nDo it.\n")
    (home / "system" / "logs").mkdir(parents=True)
    for address in ("broker", "shop-1f2e3d.coordinator"):
        (home / "system" / "logs" / f"{address}.log").touch()
    return home


@pytest.fixture
def complete(home: Path) -> Complete:
    """What bash offers for a line; a line that ends in a blank is completed by a new word."""

    def offered(line: str) -> list[str]:
        more = 'COMP_WORDS+=(""); ((++COMP_CWORD))' if line.endswith(" ") else ""
        done = bash(BASH.format(line=line, more=more), home)
        assert done.stderr == ""
        return done.stdout.split()

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
        ("agiraph run x -m script/", ["script/survey"]),
        ("agiraph triggers news-0a1b2c fi", ["fire"]),
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
def test_where_nothing_can_be_known_nothing_is_said(complete: Complete, line: str) -> None:
    assert complete(line) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_that_of_the_shell(shell: str, home: Path) -> None:
    script = bash(f"agiraph completion {shell}", home).stdout
    assert f"_AGIRAPH_COMPLETE={shell}_complete" in script

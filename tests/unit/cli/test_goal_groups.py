"""`plan` and `team`: a misspelled subcommand starts no paid run."""

from pathlib import Path

import pytest

from agiraph.core.ids import AgentId
from agiraph.storage.files import make_folder
from agiraph.storage.home import Home
from tests.unit.cli.fakes import command


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        (("plan", "chekc"), "did you mean 'check'?"),
        (("plan", "shwo", "plan.yaml"), "did you mean 'show'?"),
        (("plan", "help"), "known: check, export"),
        (("roles", "lsit"), "`agiraph roles run lsit`"),
        (("roles", "agentz"), "did you mean 'agents'?"),
    ],
)
def test_misspelled_subcommand_is_refused_with_a_suggestion(
    words: tuple[str, ...], suggested: str
) -> None:
    result = command(None, *words)
    assert result.exit_code == 2
    assert suggested in result.stderr


@pytest.mark.parametrize(("group", "meant"), [("plan", "plan export"), ("roles", "roles turns")])
@pytest.mark.parametrize("agent", ["bakery-1a2b3c", "bakery"])
def test_agent_as_goal_is_refused(tmp_path: Path, group: str, meant: str, agent: str) -> None:
    make_folder(Home(tmp_path).agent(AgentId("bakery-1a2b3c")).path)
    result = command(None, group, agent, "--home", str(tmp_path))
    assert result.exit_code == 2
    assert f"'{agent}' is an agent, not a goal" in result.stderr
    assert f"(possible: `agiraph {meant} {agent}`" in result.stderr


@pytest.mark.parametrize("words", [("plan", "write"), ("roles", "run")], ids=" ".join)
def test_name_of_an_agent_is_a_goal_behind_the_subcommand(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    make_folder(Home(tmp_path).agent(AgentId("bakery-1a2b3c")).path)
    refused = command(None, words[0], "bakery", "--home", str(tmp_path))
    assert f"as a goal: `agiraph {' '.join(words)} bakery`" in refused.stderr
    taken = command(None, *words, "bakery", "--home", str(tmp_path))
    assert "is an agent" not in taken.stderr

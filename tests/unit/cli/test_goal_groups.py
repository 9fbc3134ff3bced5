"""`plan` and `team`: a word that is nearly a subcommand starts no paid run."""

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
        (("team", "lsit"), "`agiraph team run lsit`"),
        (("team", "agentz"), "did you mean 'agents'?"),
    ],
)
def test_word_near_a_subcommand_is_refused(words: tuple[str, ...], suggested: str) -> None:
    result = command(None, *words)
    assert result.exit_code == 2
    assert suggested in result.stderr


@pytest.mark.parametrize(
    ("group", "meant"), [("plan", "plan export shop-1a2b3c"), ("team", "team turns shop-1a2b3c")]
)
def test_agent_as_goal_is_refused(tmp_path: Path, group: str, meant: str) -> None:
    make_folder(Home(tmp_path).agent(AgentId("shop-1a2b3c")).path)
    result = command(None, group, "shop-1a2b3c", "--home", str(tmp_path))
    assert result.exit_code == 2
    assert f"agiraph {meant}" in result.stderr

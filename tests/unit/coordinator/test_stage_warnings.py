"""What a coordinator is told of an outside agent that it hires."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actors.coordinator.stages import warnings_of
from agiraph.core.config import load_config


@pytest.fixture
def runtime(tmp_path: Path) -> Any:
    """Return a runtime whose home has a rule about commands."""
    (tmp_path / "approvals.yaml").write_text(
        "rules: [{name: no-push, tool: bash, pattern: '*push*', action: deny, worker: 'ada'}]"
    )
    return SimpleNamespace(home=SimpleNamespace(path=tmp_path), config=load_config())


def test_it_is_told_which_rules_do_not_hold_the_one_it_hires(runtime: Any) -> None:
    [told] = warnings_of(runtime, "ada", "writer", "codex --search")
    assert told.startswith("codex does not ask before it acts: the rule 'no-push'")
    assert warnings_of(runtime, "bob", "writer", "codex") == [], "the rule is about ada"
    assert warnings_of(runtime, "ada", "writer", "claude-code-acp") == [], "it asks"
    assert warnings_of(runtime, "ada", "writer", None) == []


def test_one_that_is_not_known_any_more_stops_nothing(runtime: Any) -> None:
    assert warnings_of(runtime, "ada", "writer", "no-such-agent") == []

"""The warnings that a coordinator gets about an external agent that it hires."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actors.coordinator.stages import warnings_of
from agiraph.core.specs import AskedAgent
from agiraph.settings.config import load_config


@pytest.fixture
def runtime(tmp_path: Path) -> Any:
    """Return a runtime whose home has a rule about commands."""
    (tmp_path / "approvals.yaml").write_text(
        "rules: [{name: no-push, tool: bash, pattern: '*push*', action: deny, worker: 'ada'}]"
    )
    return SimpleNamespace(home=SimpleNamespace(path=tmp_path), config=load_config())


def asked(command: str, name: str = "ada") -> AskedAgent:
    """Return an external agent that a model asks for."""
    return AskedAgent(command=command, author="model", name=name, role="writer")


def test_the_rules_that_do_not_bind_an_exempt_agent_are_warnings(runtime: Any) -> None:
    home = runtime.home.path
    row = "{command: [sh], rule_exempt: true, rules: %s}"
    (home / "agents.yaml").write_text(f"free: {row % 'sandbox'}\nasks: {row % 'asked'}\n")
    [told] = warnings_of(runtime, asked("free"))
    assert told.startswith("free does not ask before it acts: the rule 'no-push'")
    assert warnings_of(runtime, asked("free", "bob")) == [], "the rule is about ada"
    assert warnings_of(runtime, asked("asks")) == []


def test_an_agent_that_does_not_exist_any_more_has_no_warnings(runtime: Any) -> None:
    assert warnings_of(runtime, asked("no-such-agent")) == []

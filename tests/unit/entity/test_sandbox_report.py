"""What is told of the wall round commands: to the model that gives them, and to the person."""

import asyncio
from typing import Any

import pytest

from actors.entity.sandbox_report import guidance_of, report_missing_sandbox
from agiraph.core.config import SandboxConfig, load_config
from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.tools.sandbox.probe import SandboxProbe
from agiraph.tools.toolbox import Toolbox
from cli.console.event_text import EventNarrator

WORKS = SandboxProbe("/usr/bin/bwrap")
MISSING = SandboxProbe(why="bubblewrap is not installed", advice="apt install bubblewrap")


def settings(**values: Any) -> SandboxConfig:
    return load_config().sandbox.model_copy(update=values)


def found(monkeypatch: pytest.MonkeyPatch, what: SandboxProbe) -> None:
    monkeypatch.setattr("agiraph.tools.sandbox.sandbox.probe", lambda: what)


async def told(
    monkeypatch: pytest.MonkeyPatch, what: SandboxProbe, config: SandboxConfig
) -> list[Any]:
    """Return what is reported at a run's beginning."""
    found(monkeypatch, what)
    reported: list[Any] = []

    def report(event: str, data: dict[str, Any], key: str) -> None:
        reported.append((event, data, key))

    task = asyncio.ensure_future(report_missing_sandbox(report, config, "r1"))
    done, _ = await asyncio.wait([task], timeout=0.2)
    assert not done, "it stays, for the coordinator ends with the first that ends"
    task.cancel()
    return reported


def test_a_worker_is_told_what_stands_round_its_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    toolbox = Toolbox.for_entity("worker")
    found(monkeypatch, WORKS)
    assert "run in a sandbox" in guidance_of(toolbox, settings(), "ada")
    alone = guidance_of(toolbox, settings(no_network_for=("ada",)), "ada")
    assert "They have no network." in alone
    found(monkeypatch, MISSING)
    assert "keep to your own" in guidance_of(toolbox, settings(), "ada")
    assert "Commands are refused here" in guidance_of(toolbox, settings(required=True), "ada")


def test_who_has_no_shell_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, MISSING)
    toolbox = Toolbox.for_entity("worker", ("read_file",))
    assert guidance_of(toolbox, settings(), "ada") == toolbox.guidance()


async def test_the_person_is_told_once_a_run_that_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [(event, data, key)] = await told(monkeypatch, MISSING, settings())
    assert (event, key) == ("sandbox.missing", "r1:sandbox")
    happened = Event(type=event, agent_id=AgentId("a"), ts=0.0, data=data)
    line = EventNarrator().describe(happened)
    assert "commands run without: there is no sandbox, bubblewrap is not installed" in line.text
    assert "apt install bubblewrap" in line.text
    assert line.tone == "bad"
    [(_, strict, _)] = await told(monkeypatch, MISSING, settings(required=True))
    assert strict["effect"] == "commands are refused"
    [(_, open_, _)] = await told(monkeypatch, MISSING, settings(network=False))
    assert open_["effect"] == "commands run without, and with the network"


async def test_what_was_asked_for_or_stands_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await told(monkeypatch, WORKS, settings()) == []
    assert await told(monkeypatch, MISSING, settings(mode="none")) == []

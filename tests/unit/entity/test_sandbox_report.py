"""Reports about the sandbox of commands: to the model that gives them, and to the person."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from actors.entity.sandbox_report import guidance_of, report_sandbox
from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.http.api import EventView
from agiraph.logs.event_text import AUTORUN
from agiraph.settings.config import SandboxConfig, load_config
from agiraph.tools.sandbox.input_news import MOST_NAMED, events_data, note
from agiraph.tools.sandbox.probe import SandboxProbe
from agiraph.tools.sandbox.survey import FoundAutorun
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.toolbox import Toolbox
from cli.console.event_text import line_of
from tests.unit.tools.scopes.home_layout import build

WORKS = SandboxProbe("/usr/bin/bwrap")
MISSING = SandboxProbe(why="bubblewrap is not installed", advice="apt install bubblewrap")


def settings(**values: Any) -> SandboxConfig:
    return load_config().sandbox.model_copy(update=values)


def found(monkeypatch: pytest.MonkeyPatch, found_probe: SandboxProbe) -> None:
    monkeypatch.setattr("agiraph.tools.sandbox.sandbox.probe", lambda: found_probe)


async def told(
    monkeypatch: pytest.MonkeyPatch,
    found_probe: SandboxProbe,
    config: SandboxConfig,
    scope: Scope | None = None,
) -> list[Any]:
    """Return the reports at a run's beginning."""
    found(monkeypatch, found_probe)
    reported: list[Any] = []

    def report(event: str, data: dict[str, Any], key: str) -> None:
        reported.append((event, data, key))

    task = asyncio.ensure_future(report_sandbox(report, config, "r1", scope))
    done, _ = await asyncio.wait([task], timeout=0.2)
    assert not done, "it stays, for the coordinator ends with the first that ends"
    task.cancel()
    return reported


def test_worker_prompt_describes_the_sandbox_of_its_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    toolbox = Toolbox.for_entity("worker")
    found(monkeypatch, WORKS)
    assert "run in a sandbox" in guidance_of(toolbox, settings(), "ada")
    written = guidance_of(toolbox, settings(input="write"), "ada")
    assert "You may change files of the input, but not `.git`" in written
    alone = guidance_of(toolbox, settings(no_network_for=("ada",)), "ada")
    assert "They have no network." in alone
    found(monkeypatch, MISSING)
    assert "only your own files" in guidance_of(toolbox, settings(), "ada")
    assert "Commands are refused until" in guidance_of(toolbox, settings(required=True), "ada")


def test_worker_without_a_shell_gets_no_sandbox_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, MISSING)
    toolbox = Toolbox.for_entity("worker", ("read_file",))
    assert guidance_of(toolbox, settings(), "ada") == toolbox.guidance()


async def test_missing_sandbox_is_reported_once_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [(event, data, key)] = await told(monkeypatch, MISSING, settings())
    assert (event, key) == ("sandbox.missing", "r1:sandbox")
    happened = Event(type=event, agent_id=AgentId("a"), ts=0.0, data=data)
    line = line_of(EventView.of(happened))
    assert "commands run without: there is no sandbox, bubblewrap is not installed" in line.text
    assert "apt install bubblewrap" in line.text
    assert line.tone == "bad"
    [(_, strict, _)] = await told(monkeypatch, MISSING, settings(required=True))
    assert strict["effect"] == "commands are refused"
    [(_, open_, _)] = await told(monkeypatch, MISSING, settings(network=False))
    assert open_["effect"] == "commands run without, and with the network"


async def test_working_or_disabled_sandbox_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await told(monkeypatch, WORKS, settings()) == []
    assert await told(monkeypatch, MISSING, settings(mode="none")) == []


async def test_an_input_folder_that_stays_read_only_is_reported_once_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    layout = build(tmp_path.resolve() / "home")
    scope = layout.worker()
    assert await told(monkeypatch, WORKS, settings(input="write"), scope) == []
    (layout.input_dir / ".git").symlink_to("elsewhere")
    scope = replace(scope, rules=replace(scope.rules, run=layout.agent.run("r2").path))
    assert await told(monkeypatch, WORKS, settings(), scope) == [], "it is not to be written"
    [(event, data, key)] = await told(monkeypatch, WORKS, settings(input="write"), scope)
    assert (event, key) == ("sandbox.input_read_only", "r1:input")
    line = line_of(EventView.of(Event(type=event, agent_id=AgentId("a"), ts=0.0, data=data)))
    assert line.text.startswith("the input folder is read-only for commands: .git is a symbolic")


async def test_commands_of_git_that_may_run_files_of_the_folder_are_reported_once_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    layout = build(tmp_path.resolve() / "home")
    (tmp_path / ".gitconfig").write_text('[filter "x"]\n\tclean = cd tools && ./clean\n')
    monkeypatch.setenv("HOME", str(tmp_path.resolve()))
    monkeypatch.setattr("agiraph.tools.sandbox.input_guard.user_home", lambda: Path("/nowhere"))
    [(event, data, key)] = await told(monkeypatch, WORKS, settings(input="write"), layout.worker())
    assert (event, key) == ("sandbox.git_commands", "r1:git_commands")
    assert data["commands"] == ["filter.x.clean = cd tools && ./clean"]
    line = line_of(EventView.of(Event(type=event, agent_id=AgentId("a"), ts=0.0, data=data)))
    assert "look at the changes before you use git there" in line.text
    assert line.text.endswith("filter.x.clean = cd tools && ./clean")


def test_new_files_by_which_programs_run_are_described() -> None:
    found = [FoundAutorun(f"s{number}/.git", "git", number) for number in range(MOST_NAMED + 10)]
    data = events_data("/shop", found)[-1]
    happened = Event(type=AUTORUN, agent_id=AgentId("a"), ts=0.0, data=data)
    text = line_of(EventView.of(happened)).text
    assert f"before you use git in /shop: {data['paths'][0]}, {data['paths'][1]}" in text
    assert f"s{MOST_NAMED - 1}/.git and 10 more" in text
    assert "New in the input folder: s0/.git" in note(found)

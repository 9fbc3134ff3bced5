"""Reports about the sandbox of commands: to the model that gives them, and to the person."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from actors.entity.sandbox_report import (
    OF_WORKER,
    CommandPlace,
    guidance_of,
    machine_in_words,
    report_sandbox,
)
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
from tests.fakes.person_home import build_person
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


def machine(tmp_path: Path, path: str = os.defpath, **sandbox: Any) -> str:
    """Return the section about the machine for the worker `ada` in the role `writer`."""
    config = load_config().model_copy(update={"sandbox": settings(**sandbox)})
    project = tmp_path / "project"
    place = CommandPlace(path, project, tmp_path / "home", ("ada", "writer"), OF_WORKER)
    return machine_in_words(config, place)


def test_machine_section_describes_sandbox_network_and_input(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found(monkeypatch, WORKS)
    assert "run in a sandbox" in machine(tmp_path)
    assert "Network of commands: yes." in machine(tmp_path)
    assert "Network of commands: no." in machine(tmp_path, no_network_for=("writer",))
    assert "files of the input, but not `.git`" in machine(tmp_path, input="write")
    found(monkeypatch, MISSING)
    assert "only your own files" in machine(tmp_path)
    assert "lasts until your node ends" not in machine(tmp_path)
    assert "Network of commands: yes." in machine(tmp_path, network=False)
    assert "Commands are refused until" in machine(tmp_path, required=True)


def test_given_programs_are_shown_without_a_look_at_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def look(path: str) -> tuple[str, ...]:
        raise AssertionError(f"looked for programs on {path}")

    found(monkeypatch, WORKS)
    monkeypatch.setattr("actors.entity.sandbox_report.inventory", look)
    place = CommandPlace(os.defpath, None, tmp_path, ("ada",), OF_WORKER, ("Programs: abacus.",))
    assert "- Programs: abacus.\n- Network" in machine_in_words(load_config(), place)


def test_machine_section_names_the_limits_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found(monkeypatch, WORKS)
    shell, files = load_config().shell, load_config().files
    text = machine(tmp_path)
    for number in (
        *(shell.timeout_seconds, shell.max_timeout_seconds, shell.output_limit, shell.processes),
        *(shell.total_memory_mb, files.read_limit),
    ):
        assert f"{number:,}" in text


def test_machine_section_names_programs_with_versions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    person = build_person(tmp_path.resolve() / "person", tmp_path / "project")
    person.file(".pyenv/versions/3.11.7/lib/python3.11/site-packages/pytest/__init__.py")
    monkeypatch.setenv("HOME", str(person.root))
    found(monkeypatch, WORKS)
    text = machine(tmp_path, person.path.removesuffix(f":{os.defpath}"))
    assert "its own Python environment: `$AGIRAPH_INPUT/.venv/bin/python`." in text
    assert "- Programs: python3 3.11 (with pytest), node 22.1.0, npm, rg, jq, ruby." in text
    assert machine(tmp_path, str(tmp_path)).count("Programs: none of the usual ones.") == 1


def test_worker_without_a_shell_gets_no_machine_section() -> None:
    with_shell, without = Toolbox.for_entity("worker"), Toolbox.for_entity("worker", ("read_file",))
    assert guidance_of(with_shell, lambda: "### This machine").endswith("\n\n### This machine")
    assert guidance_of(without, lambda: "### This machine") == without.guidance()


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

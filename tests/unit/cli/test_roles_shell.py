"""The shell of a team: each command and its refusals, the session, history and completion."""

import io
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.roles import MOST_TURNS, Role, roles_of
from agiraph.http.api import (
    CheckRolesRequest,
    CreateAgentRequest,
    RoleTeamRunView,
    RoleTeamView,
    RoleView,
    StartRunRequest,
)
from agiraph.roles.engine import RoleTurn
from cli.roles.saved_tasks import MOST_BYTES, load_tasks
from cli.roles.shell import AgenticShell
from cli.roles.shell_words import ABOUT, changes, completions
from cli.roles.typed_lines import LONGEST_LINE, MOST_LINES, add_to_history, read_history
from cli.run.screen import TerminalScreen
from cli.run.target import RunOptions, RunTarget
from tests.unit.cli.fakes import FakeClient, event

LEAD = "project_manager"


def view_of(section: dict[str, Any]) -> RoleTeamView:
    team = roles_of(section)
    roles = tuple(
        RoleView(**dict(role), name=name, model=role.agent or "script/team")
        for name, role in team.roles.items()
    )
    return RoleTeamView.model_validate(dict(team) | {"roles": roles})


class TeamClient(FakeClient):
    """A gateway whose teams answer at once."""

    section: Any = None
    answers: tuple[str, ...] = ("It is done.",) * 9

    def check_roles(self, asked: CheckRolesRequest) -> RoleTeamView:
        try:
            return view_of(asked.section or self.section or {})
        except InvalidInput as error:
            return RoleTeamView(problems=(str(error),))

    def role_turns(self, agent: str, *, after: int = 0) -> RoleTeamRunView:
        answer, self.answers = self.answers[0], self.answers[1:]
        words = {"from_role": LEAD, "to_role": "user", "from_agent": "default", "to_agent": "user"}
        turn = RoleTurn.model_validate(
            {"turn": 1, "action": "finalize", "message": "fine", **words}
        )
        is_over = self.record.status == "completed"
        return RoleTeamRunView(
            agent=self.record.id,
            run=self.record.run or "",
            task=self.record.goal,
            status="finalized" if is_over else "running",
            lead_role=LEAD,
            max_turns=12,
            roles={LEAD: Role()},
            turns=(turn,) if is_over else (),
            ending="finalized" if is_over else None,
            final_output=answer if is_over else None,
        )


class TeamShell:
    """A shell, its stdout and stderr, and its requests to the gateway."""

    def __init__(self, capsys: pytest.CaptureFixture[str], file: Path | None = None) -> None:
        self._capsys = capsys
        self.client = TeamClient()
        terms = {"goal": "a task", "model": "script/team", "when_spent": "stop"}
        fake: Any = self.client
        self._said = io.StringIO()
        screen = TerminalScreen(self._said, is_live=False)
        target = RunTarget(Path("/nowhere"), fake, None, screen)
        options = RunOptions(Path("/nowhere"), terms, None, None, as_json=False)
        self.shell = AgenticShell(target, options, file, None, is_offline=False)

    def do(self, line: str) -> str:
        """Type a line; return the output."""
        self._capsys.readouterr()
        self._said.seek(0)
        self._said.truncate()
        self.shell.do(line)
        shown = self._capsys.readouterr()
        return shown.out + shown.err + self._said.getvalue()

    def task(self, task: str, *steps: Callable[[], None]) -> str:
        """Type a task, which the team completes behind these steps."""
        ends = (self.client.end("completed"), event("agent.completed"))
        self.client.script += steps or ends
        return self.do(task)

    def asked(self) -> list[Any]:
        """Return the requested runs, in order."""
        requests = [one[-1] for one in self.client.did if one[0] in ("create", "begin")]
        assert all(isinstance(one, CreateAgentRequest | StartRunRequest) for one in requests)
        return requests


@pytest.fixture
def team_shell(capsys: pytest.CaptureFixture[str]) -> TeamShell:
    return TeamShell(capsys)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/nonsense", "unknown command '/nonsense'"),
        ("/histroy", "did you mean '/history'?"),
        ("help", "did you mean '/help'?"),
        ("exit", "did you mean '/exit'?"),
        ("/maxturns", "/maxturns needs a number from 1 to 200 (now: as agents.yaml says)"),
        ("/maxturns 0", "not '0'"),
        (f"/maxturns {MOST_TURNS + 1}", "not '201'"),
        ("/maxturns many", "not 'many'"),
        ("/followup", "/followup needs on or off (now: on)"),
        ("/followup maybe", "not 'maybe'"),
        ("/history 1", "the number of a task (there are none yet), not '1'"),
        ("/history x", "not 'x'"),
        ("/load", "/load needs the FILE that /save wrote"),
        ("/load /nowhere/there", "/nowhere/there: No such file or directory"),
        ("/load /", "/: Is a directory"),
        ("/save /nowhere/there", "/nowhere/there: cannot be written"),
        *[
            (f"{name} more", f"{name} takes nothing behind it, not 'more'")
            for name, (argument, _) in ABOUT.items()
            if not argument
        ],
    ],
)
def test_each_command_reports_its_errors(team_shell: TeamShell, line: str, why: str) -> None:
    assert why in team_shell.do(line)
    assert team_shell.client.did == []


def test_commands_show_the_team_and_the_session(team_shell: TeamShell) -> None:
    assert all(name in team_shell.do("/help") for name in ABOUT)
    assert "script/team" in team_shell.do("/agents")
    assert "a task ends after 3 turns" in team_shell.do("/maxturns 3")
    shown = team_shell.do("/team")
    assert "lead project_manager, at most 3 turns" in shown
    assert "qa_engineer: QA Engineer. Validate behavior" in shown
    assert "5 roles can work, led by project_manager" in team_shell.do("/validate")
    assert "max turns  3" in team_shell.do("/info")
    assert "no tasks yet" in team_shell.do("/history")
    team_shell.client.section = {"lead_role": "boss"}
    for command in ("/team", "/agents", "/validate"):
        assert "unknown role in agentic_team.lead_role 'boss'" in team_shell.do(command)


def test_task_shows_turns_and_output_and_receives_earlier_tasks(team_shell: TeamShell) -> None:
    team_shell.client.answers = ("Red.", "Blue.", "Green.")
    shown = team_shell.task("Paint it")
    assert "project_manager" in shown
    assert "\nRed.\n" in shown
    assert "finalized, 1 turn" in shown
    team_shell.task("Another colour")
    team_shell.do("/followup off")
    team_shell.task("And another")
    first, second, third = team_shell.asked()
    assert (first.goal, first.roles.earlier) == ("Paint it", ())
    [earlier] = second.roles.earlier
    assert (earlier.task, earlier.output) == ("Paint it", "Red.")
    assert isinstance(second, StartRunRequest), "the same agent goes on"
    assert third.roles.earlier == ()


def test_history_lists_outputs_and_shows_one_in_full(team_shell: TeamShell) -> None:
    team_shell.client.answers = ("\n".join(f"line {number}" for number in range(1, 31)),)
    team_shell.task("Count")
    shown = team_shell.do("/history")
    assert "1. Count  (finalized, 1 turn)\n   line 1\n   line 2\n" in shown
    assert "line 11" not in shown
    assert "... 20 more lines: /history 1" in shown
    assert "line 30" in team_shell.do("/history 1")
    assert "(1 to 1), not '2'" in team_shell.do("/history 2")
    team_shell.do("/reset")
    assert "no tasks yet" in team_shell.do("/history")


def test_ctrl_c_stops_a_task_and_the_session_continues(team_shell: TeamShell) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    assert team_shell.task("Never ends", interrupt).endswith("stopped\n")
    assert ("stop", team_shell.client.record.id) in team_shell.client.did
    assert "1. Never ends  (stopped, 0 turns)" in team_shell.do("/history")
    team_shell.client.end("stopped")()
    assert "It is done." in team_shell.task("Another")


def test_a_session_is_saved_and_loaded(team_shell: TeamShell, tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    team_shell.task("Paint it")
    team_shell.do("/maxturns 7")
    assert f"saved: {file}" in team_shell.do(f"/save {file}")
    team_shell.task("More")
    assert "saved" in team_shell.do(f"/save {file}"), "a session may be saved over"
    team_shell.do("/reset")
    team_shell.do("/maxturns 9")
    assert "loaded: 2 tasks" in team_shell.do(f"/load {file}")
    assert "max turns  7" in team_shell.do("/info")
    team_shell.task("Go on")
    assert isinstance(team_shell.asked()[-1], CreateAgentRequest), "another agent, told of them"
    assert [one.task for one in team_shell.asked()[-1].roles.earlier] == ["Paint it", "More"]


@pytest.mark.parametrize(
    "garbage",
    [
        *(b"", b"\xff\xfe", b"[]", b"{}", b'"x"', b"[" * 100_000, b"{", b'{"tasks": 1}'),
        *(b'{"tasks": [{}]}', b'{"tasks": [], "max_turns": 999}', b'{"tasks": [], "more": 1}'),
    ],
)
def test_file_without_a_session_is_neither_loaded_nor_replaced(
    team_shell: TeamShell, tmp_path: Path, garbage: bytes
) -> None:
    file = tmp_path / "notes"
    file.write_bytes(garbage)
    assert "it is not a file that /save has written" in team_shell.do(f"/load {file}")
    assert "not saved, there is a file of that name" in team_shell.do(f"/save {file}")
    assert file.read_bytes() == garbage
    assert "no tasks yet" in team_shell.do("/history"), "the session goes on"


def test_endless_file_is_not_read_as_a_session() -> None:
    with pytest.raises(InvalidInput, match=f"more than {MOST_BYTES:,} bytes"):
        load_tasks(Path("/dev/zero"))


def test_reload_shows_the_changes_of_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "roles.yaml"
    file.write_text("roles: {qa_engineer: {agent: codex}}")
    team_shell = TeamShell(capsys, file)
    team_shell.do("/validate")
    assert "nothing has changed" in team_shell.do("/reload")
    file.write_text("max_turns: 4\nroles: {qa_engineer: {agent: gemini}, writer: {agent: a/b}}")
    shown = team_shell.do("/reload")
    assert "qa_engineer: gemini, " in shown
    assert "before: codex" in shown
    assert "writer: new, a/b" in shown
    assert "max_turns: 4, before: 12" in shown
    file.write_text("roles: {writer: {agent: a/b")
    shown = team_shell.do("/reload")
    assert "roles.yaml" in shown
    assert "nothing has changed" not in shown, "it cannot be read"
    file.write_text("roles: {writer: {agent: a/b}}")
    team_shell.task("Write")
    assert team_shell.asked()[-1].roles.section == {"roles": {"writer": {"agent": "a/b"}}}


def test_changes_name_removed_roles_and_changed_fields() -> None:
    before = view_of({"roles": {"writer": {}, "qa_engineer": {"responsibilities": "a"}}})
    after = view_of({"roles": {"qa_engineer": {"responsibilities": "b", "fallback": "codex"}}})
    assert changes(before, after) == [
        "qa_engineer: fallback is now 'codex'",
        "qa_engineer: responsibilities is now 'b'",
        "writer: gone",
    ]
    [first, *others] = before.roles
    broken = before.model_copy(
        update={"roles": (first.model_copy(update={"problem": "is not installed"}), *others)}
    )
    assert changes(broken, before) == [f"{LEAD}: can work now"]


def test_a_pipe_is_read_line_by_line_to_its_end(
    team_shell: TeamShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("/followup off\n\n  /info  \n/exit\n/help\n"))
    team_shell.shell.run()
    shown = capsys.readouterr()
    assert "follow-up  off" in shown.out
    assert "roles>" not in shown.out
    assert "show this" not in shown.out, "what stands behind /exit is not done"


# --- typed lines ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "word", "found"),
    [
        ("", "/hi", ["/history "]),
        ("", "/re", ["/reset", "/reload"]),
        ("", "/x", []),
        ("", "hi", []),
        ("/followup ", "", ["on", "off"]),
        ("/followup ", "of", ["off"]),
        ("/help ", "", []),
        ("Paint ", "a", []),
    ],
)
def test_completion_of_commands_and_arguments(before: str, word: str, found: list[str]) -> None:
    assert completions(before, word) == found


def test_completion_of_files(tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    for name in ("session.json", ".hidden", "other"):
        (tmp_path / name).touch()
    found = completions("/load ", f"{tmp_path}/s")
    assert found == [f"{tmp_path}/saved/", f"{tmp_path}/session.json"]
    assert completions("/save ", f"{tmp_path}/.h") == [f"{tmp_path}/.hidden"]
    assert completions("/load ", f"{tmp_path}/none/x") == []


def test_the_history_of_lines_stays_and_is_the_persons_alone(tmp_path: Path) -> None:
    path = tmp_path / "system" / "typed.jsonl"
    assert read_history(path) == []
    for line in ("first", "first", "two\nlines", "x" * (LONGEST_LINE + 1), "last"):
        add_to_history(path, line)
    assert read_history(path) == ["first", "two\nlines", "last"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    path.write_bytes(path.read_bytes() + b'\xff\n{"a": 1}\n"nul \\u0000"\n"torn')
    assert read_history(path) == ["first", "two\nlines", "last"]


def test_the_history_of_lines_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "typed.jsonl"
    path.write_text("".join(f'"{number}"\n' for number in range(MOST_LINES + 5)))
    add_to_history(path, "last")
    kept = read_history(path)
    assert (len(kept), kept[-1]) == (MOST_LINES, "last")

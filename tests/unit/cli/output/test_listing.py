"""Commands that look: as JSON for scripts and as columns for people."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from cli.output.formats import format_count, format_money, format_percent, format_size, format_time
from cli.output.listing import Column, Details, Listing, fitting
from tests.fakes.model_server import FakeModelServer, say
from tests.unit.cli.fakes import AGENT, FakeClient, command, event, json_of, question, summary

LISTINGS = (
    ("ps",), ("agents",), ("board", "survey"), ("workers", "survey"), ("messages", "survey"),
    ("events", "survey"), ("files", "survey"), ("questions",), ("models",),
)  # fmt: skip


def client() -> FakeClient:
    return FakeClient(
        files={"_output.md": b"# Report\nall is well\n", "a.bin": b"\xff\xfe\x00"},
        asked=[question(), question("q-2", status="answered", answer="SQLite")],
        log=[
            event("agent.created", 1, goal="Survey"),
            event("tool.called", 2, entity="alice", tool="bash", arguments={"command": "ls -la"}),
            event("node.completed", 3, name="tables", worker="alice", summary="3 tables"),
        ],
        providers=[{"name": "script", "usable": True, "reason": "built in"}],
    )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["ps"], ["ADDRESS", "broker", f"{AGENT}/coordinator", "ready"]),
        (["ps", "survey"], [f"{AGENT}/coordinator"]),
        (["agents"], ["STATUS", AGENT, "Survey this folder", "working"]),
        (["show", "survey"], ["goal", "Survey this folder", "script/survey"]),
        (["board", "survey"], ["tables", "completed", "alice", "3 tables"]),
        (["workers", "survey"], ["alice", "busy", "bash"]),
        (["messages", "survey"], ["alice", "bob", "dupes: 2"]),
        (["events", "survey"], ["alice: bash ls -la", "alice: completed tables: 3 tables"]),
        (["files", "survey"], ["_output.md", "21 B"]),
        (["files", "survey", "_output.md"], ["# Report\nall is well"]),
        (["questions"], ["q-1", "Which database?", "open"]),
        (["questions", "--all"], ["q-1", "q-2", "SQLite"]),
        (["models"], ["script", "yes", "built in"]),
    ],
)
def test_a_listing_for_people(args: list[str], words: list[str]) -> None:
    result = command(client(), *args)
    assert result.exit_code == 0, result.stderr
    for word in words:
        assert word in result.stdout


@pytest.mark.parametrize("args", LISTINGS, ids=" ".join)
def test_a_listing_is_one_json_array(args: tuple[str, ...]) -> None:
    rows = json_of(command(client(), *args, "--json"))
    assert isinstance(rows, list)
    assert rows


def test_ps_of_one_agent_lists_only_its_entities() -> None:
    assert "broker" not in command(client(), "ps", "survey").stdout


def test_empty_listing_is_reported_on_stderr_only() -> None:
    result = command(FakeClient(), "questions")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no open question" in result.stderr
    assert json_of(command(FakeClient(), "questions", "--json")) == []


@pytest.mark.parametrize(
    "args",
    [["show", "x"], ["board", "x"], ["workers", "x"], ["messages", "x"], ["events", "x"],
     ["files", "x"], ["ps", "x"], ["questions", "x"], ["send", "x", "hello"], ["console", "x"]],
)  # fmt: skip
def test_unknown_agent_is_refused_with_the_known_names(args: list[str]) -> None:
    result = command(client(), *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"unknown agent 'x' (known: {AGENT})" in result.stderr


def test_events_can_be_cut_by_cursor_number_and_type() -> None:
    def seqs(*more: str) -> list[int]:
        found = json_of(command(client(), "events", "survey", "--json", *more))
        return [row["seq"] for row in found]

    assert seqs() == [1, 2, 3]
    assert seqs("--after", "1") == [2, 3]
    assert seqs("--limit", "2") == [1, 2]
    assert seqs("--type", "tool.", "--type", "agent.") == [1, 2]


def test_followed_events_are_one_json_object_a_line() -> None:
    following = FakeClient(script=[event("agent.created"), event("node.created", name="a")])
    result = command(following, "events", "survey", "-f", "--json")
    assert [line[:9] for line in result.stdout.splitlines()] == ['{"type": ', '{"type": ']


def test_file_in_several_parts_is_printed_whole() -> None:
    assert command(client(), "files", "survey", "_output.md").stdout_bytes == (
        b"# Report\nall is well\n"
    )
    found = json_of(command(client(), "files", "survey", "_output.md", "--json"))
    assert found["content"] == "# Report\nall is well\n"
    assert found["is_truncated"] is False


def test_binary_file_is_written_unchanged_to_a_pipe() -> None:
    assert command(client(), "files", "survey", "a.bin").stdout_bytes == b"\xff\xfe\x00"
    found = json_of(command(client(), "files", "survey", "a.bin", "--json"))
    assert found["encoding"] == "base64"


def test_missing_file_is_refused() -> None:
    result = command(client(), "files", "survey", "none.md")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no file 'none.md'" in result.stderr


def test_a_goal_cannot_play_tricks_on_the_terminal() -> None:
    tricky = FakeClient(record=summary(goal="nice\x1b[2J\x1b]0;owned\x07\nsecond\u202eline"))
    out = command(tricky, "agents").stdout
    assert "nice ⏎ second⟨U+202E⟩line" in out
    assert "\x1b" not in out
    assert "\x1b" not in command(tricky, "show", "survey").stdout


def test_record_fields_are_shown_in_plain_units(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Spent(BaseModel):
        has_roles: bool = False
        is_estimate: bool = True
        cost_usd: float = 0.0
        tokens: int = 0

    Details(Spent()).print(as_json=False)
    shown = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    values = {key.strip(): value.strip() for key, value in shown.items()}
    assert values == {"has roles": "no", "is estimate": "yes", "cost usd": "$0.00", "tokens": "0"}


def test_models_without_a_supervisor_are_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-a-real-one")
    result = command(None, "models", "--json", "--home", str(tmp_path))
    rows = {row["name"]: row for row in json_of(result)}
    assert rows["anthropic"]["usable"] is True
    assert "sk-not-a-real-one" not in result.stdout


def test_model_server_is_usable_only_if_it_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with FakeModelServer(lambda seen: say("hi")) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{server.url}/v1")
        asked = ("models", "--json", "--home", str(tmp_path))
        (up,) = [row for row in json_of(command(None, *asked)) if row["name"] == "ollama"]
    (down,) = [row for row in json_of(command(None, *asked)) if row["name"] == "ollama"]
    assert (up["usable"], up["default_model"]) == (True, "ollama/fake")
    assert (down["usable"], "does not answer" in down["reason"]) == (False, True)


def test_external_agents_are_listed_with_their_install_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin/codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho codex-cli 9.9\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    (tmp_path / "agents.yaml").write_text("claude-code: {carried: ''}\n")
    home = ("--home", str(tmp_path))
    result = command(None, "outside", "--json", *home)
    rows = {row["name"]: row for row in json_of(result)}
    assert (rows["codex"]["installed"], rows["codex"]["version"]) == (True, "codex-cli 9.9")
    assert (rows["claude-code"]["installed"], rows["claude-code"]["program"]) == (False, None)
    assert (rows["claude-code"]["rules"], rows["codex"]["rules"]) == ("asked", "sandbox")
    assert rows["codex"]["problem"] == ""
    program.write_text("#!/bin/sh\necho no namespaces >&2\nexit 1\n")
    (tmp_path / "agiraph.yaml").write_text("sandbox: {mode: none}\n")
    again = {row["name"]: row for row in json_of(command(None, "outside", "--json", *home))}
    assert "its own sandbox does not work (no namespaces)" in again["codex"]["problem"]
    shown = command(None, "outside", *home).stdout
    assert "npm install -g @anthropic-ai/claude-code" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (format_size(0), "0 B"),
        (format_size(1536), "1.5 KB"),
        (format_size(83_000_000), "83 MB"),
        (format_size(None), ""),
        (format_count(1234567), "1,234,567"),
        (format_count(0), ""),
        (format_money(None), ""),
        (format_money(0.0123), "$0.0123"),
        (format_money(12.5), "$12.50"),
        (format_percent(3.6), "4%"),
        (format_time(None), ""),
    ],
)
def test_values_are_shown_in_their_units(shown: str, text: str) -> None:
    assert shown == text


def test_narrow_table_omits_its_spare_columns() -> None:
    columns = (Column("A", "a"), Column("B", "b", spare=1), Column("C", "c", spare=2))
    rows = [{"a": "x" * 10, "b": "y" * 10, "c": "z" * 10}]
    assert [c.key for c in fitting(rows, columns, 100)] == ["a", "b", "c"]
    assert [c.key for c in fitting(rows, columns, 30)] == ["a", "b"]
    assert [c.key for c in fitting(rows, columns, 3)] == ["a"]


@pytest.mark.parametrize(("wraps", "lines"), [(True, 2), (False, 1)])
def test_wrapping_column_continues_on_the_next_line_and_others_are_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wraps: bool, lines: int
) -> None:
    columns = (Column("NAME", "name"), Column("HOW", "how", wide=True, wraps=wraps))
    how = "install it with the package manager of this system"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    Listing([{"name": "sandbox", "how": how}], columns, "none").print(as_json=False)
    rows = [line.removeprefix("sandbox") for line in capsys.readouterr().out.splitlines()[2:]]
    assert len(rows) == lines
    assert (" ".join(" ".join(rows).split()) == how) == wraps


def test_agents_are_filtered_by_status_and_words() -> None:
    client = FakeClient(record=summary(status="completed"))
    assert len(json_of(command(client, "agents", "--status", "completed", "--json"))) == 1
    assert json_of(command(client, "agents", "--status", "working", "--json")) == []
    assert "no matching agents" in command(client, "agents", "--search", "nothing like it").stderr
    wrong = command(client, "agents", "--status", "asleep")
    assert wrong.exit_code == 2
    assert "waiting_for_human" in wrong.stderr


def test_one_table_is_printed_into_a_pipe() -> None:
    done = command(FakeClient(), "top", "--sort", "entity")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["ENTITY", "STATE", "CPU"]
    assert [line.split()[0] for line in lines[1:]] == ["coordinator", "broker"]


def test_json_prints_the_rows_of_ps_in_that_order_and_of_one_agent_only() -> None:
    rows = json_of(command(FakeClient(), "top", AGENT, "--json"))
    assert [row["address"] for row in rows] == [f"{AGENT}/coordinator"]
    assert "doing" in rows[0]


def test_unknown_sort_is_refused_with_the_possible_ones() -> None:
    refused = command(FakeClient(), "top", "--sort", "beauty")
    assert refused.exit_code == 2
    assert "'tokens'" in refused.stderr


def test_all_notes_of_earlier_work_are_listed_in_a_long_log() -> None:
    note = {"id": "c-1", "kind": "preference", "title": "Tea", "score": 0.5, "why": "fits"}
    late = event("knowledge.used", 1001, notes=[note])
    log = [*(event("tool.result", number) for number in range(1, 1001)), late]
    result = command(FakeClient(log=log), "knowledge", "why", "survey")
    assert "Tea" in result.stdout

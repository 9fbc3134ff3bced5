"""`agiraph run`: requests, output, the result, and the exit codes."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import Result

from agiraph.core.models import Event
from agiraph.core.specs import Mode, WhenSpent
from agiraph.http.api import AgentView, EventView, NotReachable
from agiraph.http.own_supervisor import SupervisorFailed
from agiraph.storage.files import make_private_folder
from agiraph.storage.home import Home
from agiraph.storage.run_lease import left_agents
from cli.interrupts import EndedBySignal
from cli.run.command import MODES, WHEN_SPENT
from cli.run.progress import RunProgress
from tests.unit.cli.fakes import (
    AGENT,
    RUN,
    FakeClient,
    FakeSupervisor,
    command,
    event,
    json_of,
    question,
    summary,
)

REPORT = "# Report\nThree tables, two of them alike.\n"


def finished(**more: Any) -> FakeClient:
    """Return a client whose team works a little and completes."""
    client = FakeClient(files={"_output.md": REPORT.encode()}, **more)
    said: dict[str, Any] = {"from": "alice", "to": "bob", "content": "dupes"}
    client.script += [
        event("agent.created", goal="Survey"),
        event("worker.spawned", name="alice", role="surveyor"),
        event("node.created", node_id="n1", name="tables", task="Look at the tables"),
        event("node.started", node_id="n1", name="tables", worker="alice"),
        event("tool.called", entity="alice", tool="bash", arguments={"command": "ls -la"}),
        event("tool.result", entity="alice", tool="bash", is_error=False, preview="3 files"),
        event("message.sent", entity="alice", **said),
        event("model.answered", entity="alice", input_tokens=900, output_tokens=100),
        event("node.completed", node_id="n1", name="tables", worker="alice", summary="3 tables"),
        client.end("completed", REPORT.strip()),
        event("agent.completed", result=REPORT.strip()),
    ]
    return client


def test_stdout_has_only_the_result() -> None:
    result = command(finished(), "run", "Survey this folder")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == REPORT


def test_progress_on_stderr_shows_the_actions_of_each_entity(tmp_path: Path) -> None:
    said = command(finished(), "run", "Survey this folder", "--home", str(tmp_path)).stderr
    for words in (
        "model script/survey: models.default in the settings",
        "new worker alice, surveyor",
        "alice          works on tables",
        "alice          bash ls -la",
        "alice          → bob: dupes",
        "alice          completed tables: 3 tables",
        "120 tokens · $0.5000",
        f"files: {tmp_path}/agents/{AGENT}/runs/{RUN}",
    ):
        assert words in said
    assert "3 files" not in said
    assert "\x1b" not in said


def test_progress_counts_external_usage_once() -> None:
    progress = RunProgress()
    for account in ("door", "own"):
        data = {"account": account, "calls": 3, "input_tokens": 100, "output_tokens": 7}
        ended = {"type": "outside.ended", "agent_id": "a", "ts": 0.0, "entity": "cody"}
        progress.see(EventView.of(Event.model_validate({**ended, "data": data})))
    assert progress.usage.tokens == 107


def test_the_progress_has_no_result_which_the_command_prints() -> None:
    line = RunProgress().see(event("agent.completed", result="# Report"))
    assert line is not None
    assert line.text == "the goal is met"


def test_the_progress_line_counts_nodes_and_shows_the_retry_of_a_call() -> None:
    progress = RunProgress()
    assert progress.status(1.0) == "1.0 s · 0 tokens · no node is running"
    planned = progress.status(1.0, "waits for the nodes of the plan")
    assert planned == "1.0 s · 0 tokens · coordinator: waits for the nodes of the plan"
    for name in ("tables", "prices"):
        progress.see(event("node.created", node_id=f"n-{name}", name=name))
        progress.see(event("node.started", node_id=f"n-{name}", name=name, worker="ada"))
    progress.see(event("node.completed", node_id="n-tables", name="tables", worker="ada"))
    assert progress.status(2.0) == "2.0 s · 0 tokens · 1 of 2 nodes · ada: prices"
    retry = event("model.retry", entity="ada", kind="overloaded", message="busy", attempt=1)
    lines = [progress.see(retry), progress.see(retry)]
    assert [line is not None for line in lines] == [True, False]
    assert "busy, ada: prices" in progress.status(3.0)
    progress.see(event("model.answered", entity="ada", text="", calls=["bash"]))
    assert "busy" not in progress.status(4.0)
    assert progress.see(retry) is not None


def test_reason_of_a_failed_run_is_shown_once() -> None:
    reason = "the model cannot be asked (bad_key): no"
    client = FakeClient()
    client.script += [
        event("model.failed", kind="bad_key", message="no"),
        event("agent.failed", reason=reason),
        event("message.sent", to="human", content=reason),
        event("message.sent", to="human", content=f"{reason} The trigger t is paused."),
        client.end("failed"),
    ]
    said = command(client, "run", "x").stderr
    assert said.count(reason) == 2
    assert "The trigger t is paused" in said
    again = f"to try again: agiraph run GOAL --agent {AGENT}"
    assert again in said
    assert said.endswith(f"survey failed: {reason}\n")


def test_json_output_is_exactly_one_object(tmp_path: Path) -> None:
    output = Home(tmp_path).agent(AGENT).run(RUN).output
    output.parent.mkdir(parents=True)
    output.write_text(REPORT)
    told = json_of(command(finished(), "run", "Survey", "--json", "--home", str(tmp_path)))
    assert list(told) == [
        "agent",
        "run",
        "status",
        "reason",
        "failure_class",
        "incomplete",
        "result",
        "output",
        "written",
        "missing",
        "usage",
        "seconds",
    ]
    assert (told["agent"], told["run"], told["status"]) == (AGENT, RUN, "completed")
    assert (told["result"], told["output"]) == (REPORT, str(output))
    assert told["usage"]["tokens"] == 120
    assert told["usage"]["cost_usd"] == 0.5


@pytest.mark.parametrize("files", [{}, {"_output.md": b""}, {"_output.md": b"# Rep"}])
def test_damaged_output_file_does_not_change_the_answer(files: dict[str, bytes]) -> None:
    client = finished()
    client.files = files
    assert command(client, "run", "Survey").stdout == REPORT


def test_every_option_reaches_the_gateway(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("nodes: [{id: a, task: read}]")
    client = finished()
    result = command(
        client, "run", " Survey ", "--model", "anthropic/x", "--worker-model", "openai/y",
        "--mode", "infinite", "--input", str(tmp_path), "--plan", str(plan), "--budget", "2.5",
        "--name", "Surveyor",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    [(_, request)] = client.did
    assert request.goal == "Survey"
    assert (request.model, request.worker_model) == ("anthropic/x", "openai/y")
    assert (request.mode, request.name, request.budget_usd) == ("infinite", "Surveyor", 2.5)
    assert request.input == str(tmp_path.resolve())
    assert request.plan == plan.read_text()
    assert "model anthropic/x: from --model" in result.stderr


@pytest.mark.parametrize(
    ("budget", "usd", "tokens"),
    [
        (["--budget", "$2"], 2.0, None),
        (["-b", "500k-tokens"], None, 500_000),
        (["-b", "1", "-b", "2m-tokens", "-b", "3"], 3.0, 2_000_000),
    ],
    ids=str,
)
def test_a_budget_is_of_dollars_or_tokens(
    budget: list[str], usd: float | None, tokens: int | None
) -> None:
    client = finished()
    command(client, "run", "Survey", *budget)
    [(_, request)] = client.did
    assert (request.budget_usd, request.budget_tokens) == (usd, tokens)


def test_reason_for_the_model_is_shown() -> None:
    client = finished(record=summary(model="openai/gpt"))
    client.default = ("openai/gpt", "OPENAI_API_KEY is set")
    assert "model openai/gpt: OPENAI_API_KEY is set" in command(client, "run", "Survey").stderr


@pytest.mark.parametrize(
    "args",
    [
        [""], ["  \n"], [], ["x", "--budget", "0"], ["x", "--budget", "nan-sense"],
        ["x", "--budget", "none"], ["x", "--budget", "500k"], ["x", "--timeout", "soon"],
        ["x", "--timeout", "-1"], ["x", "--input", "/no/such/folder"],
        ["x", "--plan", "/no/such/plan"], ["x", "--name", "a/b"], ["x", "--mode", "eternal"],
        ["x", "--detach", "--timeout", "3"], ["x", "--mode", "infinite", "--cycle", "0.5s"],
    ],
)  # fmt: skip
def test_wrong_usage_is_exit_2_and_starts_nothing(args: list[str]) -> None:
    client = finished()
    result = command(client, "run", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert client.did == []


def test_plan_that_is_not_text_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "plan"
    plan.write_bytes(b"\xff\xfe")
    result = command(finished(), "run", "x", "--plan", str(plan))
    assert result.exit_code == 2
    assert "is not UTF-8 text (byte 0)" in result.stderr


def test_goal_on_stdin_that_is_not_text_is_refused() -> None:
    client = finished()
    result = command(client, "run", "-", stdin=b"caf\xe9")
    assert (result.exit_code, client.did) == (2, [])
    assert "stdin: is not UTF-8 text (byte 3)" in result.stderr


def test_current_folder_with_a_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    client = finished()
    with contextlib.chdir(folder):
        result = command(client, "run", "x", "--input", ".")
    assert (result.exit_code, client.did) == (2, [])
    assert "caf\\xe9' is not UTF-8 text" in result.stderr


@pytest.mark.parametrize("name", ["no/such/calls.jsonl", "file/calls.jsonl"])
def test_a_recording_that_cannot_be_written_is_refused_at_once(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    client = finished()
    result = command(client, "run", "x", "--record", str(tmp_path / name))
    assert (result.exit_code, result.stdout, client.did) == (2, "", [])
    assert f"{tmp_path / name}: cannot be written (" in result.stderr


def test_a_recording_that_is_there_stays_until_the_run_has_ended(tmp_path: Path) -> None:
    older = tmp_path / "calls.jsonl"
    older.write_text("older")
    assert command(None, "run", "", "--record", str(older)).exit_code == 2
    assert command(None, "run", "x", "--record", str(older)).exit_code != 0
    assert older.read_text() == "older"


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("bad key", 1),
        ("the model cannot be asked (out_of_budget): $1 of $1 are spent", 3),
    ],
    ids=["failed", "out of budget"],
)
def test_failed_run_shows_its_reason_and_prints_its_object(reason: str, code: int) -> None:
    client = FakeClient()
    client.script += [client.end("failed"), event("agent.failed", reason=reason)]
    result = command(client, "run", "x", "--json")
    assert result.exit_code == code
    assert f"survey failed: {reason}" in result.stderr
    told = json.loads(result.stdout)
    assert (told["status"], told["result"], told["output"]) == ("failed", None, None)
    assert told["reason"] == reason


def test_a_timeout_stops_the_agent_and_is_exit_1() -> None:
    client = FakeClient()
    result = command(client, "run", "x", "--timeout", "0.05", "--json")
    assert result.exit_code == 1
    assert "not finished within 0.05 seconds (--timeout)" in result.stderr
    told = json.loads(result.stdout)
    assert (told["status"], told["reason"]) == (
        "stopped",
        "not finished within 0.05 seconds (--timeout)",
    )
    assert client.did[-1] == ("stop", AGENT)


def test_an_interrupt_stops_the_agent_and_is_exit_130() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    client = FakeClient(script=[interrupt])
    result = command(client, "run", "x", "--json")
    assert (result.exit_code, result.stdout) == (130, "")
    assert client.did[-1] == ("stop", AGENT)


def test_an_interrupt_before_the_watch_stops_the_agent_too() -> None:
    class Interrupted(FakeClient):
        def agents(self, **_: object) -> list[AgentView]:
            raise KeyboardInterrupt

    client = Interrupted()
    assert command(client, "run", "x").exit_code == 130
    assert client.did[-1] == ("stop", AGENT)


@pytest.mark.parametrize(
    ("interrupt", "unfinished"), [(KeyboardInterrupt, []), (EndedBySignal, [AGENT])]
)
def test_only_the_human_stops_a_run_permanently(
    tmp_path: Path, interrupt: type[BaseException], unfinished: list[str]
) -> None:
    def end() -> None:
        raise interrupt

    make_private_folder(Home(tmp_path).system.path)
    client = FakeClient(record=summary(status="completed"), script=[end])
    result = command(client, "run", "x", "--agent", AGENT, "--home", str(tmp_path))
    assert (result.exit_code, client.did[-1]) == (130, ("stop", AGENT))
    assert left_agents(tmp_path) == unfinished


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "Missing argument 'GOAL'"),
        (("--resume", "--budget", "2"), "--budget needs a GOAL"),
        (("--resume",), "no agent is unfinished"),
        (("--resume", "--agent", AGENT), "is completed: nothing to resume"),
    ],
)
def test_run_without_a_goal_needs_an_agent_to_resume(
    tmp_path: Path, words: tuple[str, ...], problem: str
) -> None:
    client = FakeClient(record=summary(status="completed"))
    result = command(client, "run", *words, "--home", str(tmp_path))
    assert (result.exit_code, client.did) == (2, [])
    assert problem in result.stderr


def test_a_detached_run_resumes_nothing(tmp_path: Path) -> None:
    result = command(FakeClient(), "run", "x", "--detach", "--resume", "--home", str(tmp_path))
    assert result.exit_code == 2
    assert "--resume cannot be used with --detach" in result.stderr


def test_question_is_shown_with_the_command_that_answers_it(tmp_path: Path) -> None:
    client = FakeClient()
    asked = (client.ask(question()), event("human.question", question="Which database?"))
    client.script += [*asked, client.end("completed", "done"), event("agent.completed")]
    said = command(client, "run", "x", "--home", str(tmp_path)).stderr
    assert "alice asks: Which database?" in said
    assert f"agiraph respond q-1 'your answer' --home {tmp_path}" in said
    assert said.count("Which database?") == 1


def test_end_reported_only_by_an_event_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.run.watch.RECORD_WITHIN_SECONDS", 0.0)
    client = FakeClient(script=[event("agent.failed", reason="given up")])
    result = command(client, "run", "x")
    assert result.exit_code == 1
    assert "given up" in result.stderr


# --- supervisors ---------------------------------------------------------------------------------


class OwnRun:
    """A gateway that can be reached only once its supervisor has started."""

    def __init__(self, client: FakeClient) -> None:
        self.client = client
        self.client.is_open = False
        self.supervisor = FakeSupervisor(self.open)

    def open(self) -> None:
        self.client.is_open = True

    def run(self, *args: str) -> Result:
        return command(self.client, "run", *args, supervisor=self.supervisor)


def test_supervisor_is_started_for_the_run_and_stopped_afterwards() -> None:
    own = OwnRun(finished())
    result = own.run("Survey", "--model", "script/survey")
    assert result.exit_code == 0, result.stderr
    assert own.supervisor.did == ["start", "stop"]
    assert own.client.did[-1] == ("stop", AGENT)


def test_running_supervisor_is_used_and_not_stopped() -> None:
    own = OwnRun(finished())
    own.open()
    assert own.run("Survey").exit_code == 0
    assert own.supervisor.did == []
    assert [did[0] for did in own.client.did] == ["create"]


def test_own_supervisor_is_stopped_after_a_failure() -> None:
    own = OwnRun(finished())
    result = own.run("x", "--model", "nope/x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "unknown provider 'nope'" in result.stderr
    assert own.supervisor.did == ["start", "stop"]


def test_output_of_a_failed_supervisor_is_shown(tmp_path: Path) -> None:
    own = OwnRun(finished())

    def fail() -> None:
        raise SupervisorFailed("the supervisor on /h ended (exit code 1):\nno space left")

    own.supervisor.on_start = fail
    result = own.run("x", "--home", str(tmp_path), "--model", "openai/gpt")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no space left" in result.stderr


def test_detach_needs_a_running_supervisor() -> None:
    result = command(None, "run", "x", "--detach")
    assert result.exit_code == 4
    assert "--detach needs a running supervisor" in result.stderr


def test_detach_prints_the_agent_and_exits() -> None:
    client = FakeClient()
    assert command(client, "run", "x", "--detach").stdout == f"{AGENT}\n"
    told = json_of(command(client, "run", "x", "--detach", "--json"))
    assert (told["agent"], told["status"], told["result"]) == (AGENT, "working", None)


def test_gateway_that_restarts_is_found_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient(files={"_output.md": b"done"})
    away = iter([True, True])

    def agent(_agent: str) -> AgentView:
        if next(away, False):
            raise NotReachable("restarting")
        return client.record

    monkeypatch.setattr(client, "agent", agent)
    monkeypatch.setattr("cli.run.watch.REFRESH_SECONDS", 0.0)
    client.script += [
        event("agent.started"), event("agent.paused"), event("agent.resumed"),
        client.end("completed"), event("agent.completed"),
    ]  # fmt: skip
    result = command(client, "run", "x")
    assert (result.exit_code, result.stdout) == (0, "done\n")


def test_command_waits_for_the_gateway_while_the_disk_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient(files={"_output.md": b"done"})
    refusals = [1, 2, 3]

    def agent(_agent: str) -> AgentView:
        if refusals:
            refusals.pop()
            raise NotReachable("no room for its database")
        return client.record

    seconds = iter(range(0, 1_000_000, 100))
    monkeypatch.setattr("cli.run.watch.time.monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(client, "agent", agent)
    monkeypatch.setattr("cli.run.watch.has_room", lambda _home: not refusals)
    client.script += [
        *(event("agent.resumed") for _ in range(6)),
        client.end("completed"), event("agent.completed"),
    ]  # fmt: skip
    result = command(client, "run", "x")
    assert (result.exit_code, result.stdout) == (0, "done\n")
    assert "is full: the team waits" in result.stderr


def test_goal_for_a_known_agent_starts_and_shows_only_the_new_run() -> None:
    client = FakeClient(files={"_output.md": REPORT.encode()}, record=summary(status="completed"))
    client.script += [
        *(
            one.model_copy(update={"run_id": "20200101-000000-aaaaaa"})
            for one in (
                event("node.created", node_id="n1", name="older", task="Old"),
                event("agent.stopped", reason="old"),
            )
        ),
        client.end("completed", "new result"),
    ]
    result = command(client, "run", "And another", "--agent", AGENT)
    assert result.exit_code == 0, result.stderr
    [(_, agent, request), *_] = [act for act in client.did if act[0] == "begin"]
    assert (agent, request.goal, request.model, request.mode) == (AGENT, "And another", None, None)
    assert "as in its last run" in result.stderr
    assert "older" not in result.stderr


@pytest.mark.parametrize(
    ("args", "code", "expected"),
    [
        ((AGENT, "--name", "y"), 2, "--name cannot be used with --agent"),
        ((AGENT,), 1, "still at work"),
        (("nobody",), 2, "unknown agent 'nobody' (known: "),
    ],
)
def test_option_that_conflicts_with_an_agent_is_refused(
    args: tuple[str, ...], code: int, expected: str
) -> None:
    result = command(FakeClient(), "run", "x", "--agent", *args)
    assert result.exit_code == code
    assert expected in result.stderr


def test_option_choices_match_the_records() -> None:
    assert (get_args(Mode), get_args(WhenSpent)) == (MODES, WHEN_SPENT)

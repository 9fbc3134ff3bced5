"""The HTTP API over a real socket: board, files, memory, processes, money."""

import re
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from agiraph.board.commands import CreateNode
from agiraph.board.store import BoardStore
from agiraph.core.models import BUDGET, EntityState, ProposedAction
from agiraph.core.money import Budget, BudgetState, Shortage
from agiraph.core.specs import NodeSpec
from agiraph.core.turns import Usage, UsageRow
from agiraph.http.api import CreateTriggerRequest, FileContentView, FolderView
from agiraph.http.client import Client, NotReachable
from agiraph.http.errors import AMBIGUOUS
from agiraph.messages.body import MessageBody
from agiraph.messages.child import ChildHeartbeat
from agiraph.messages.control import RefusedReply
from agiraph.messages.model import (
    AskBudgets,
    AskUsage,
    BudgetTable,
    ResetBudget,
    SetBudgetMessage,
    UsageTable,
)
from agiraph.storage.home_folders import HomeLock
from cli.doctor_checks.check import DoctorContext
from cli.doctor_checks.home import check_processes
from cli.main import agiraph
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, RUN, GatewayHome, ask, refused, running_gateway
from transport.errors import DeadlineExceeded

COORDINATOR = f"{AGENT}/coordinator"


def test_the_board_and_the_workers_are_read_from_the_journal(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    assert client.board("survey").nodes == ()
    worker = gateway_home.add_team("Alice")[0]
    gateway_home.arrive(
        arrived(
            ChildHeartbeat(doing=EntityState(state="busy", step="thinking")), f"{AGENT}/{worker}"
        )
    )
    board = client.board("survey")
    assert [(node.name, node.status) for node in board.nodes] == [("tables", "pending")]
    assert board.current_stage == 0
    assert client.node("survey", "tables").id == board.nodes[0].id
    assert client.node("survey", board.nodes[0].id).path == f"nodes/{board.nodes[0].name}"
    assert refused(client.node, "survey", "chairs").status == 404
    row = client.workers("survey")[0]
    assert (row.name, row.address, row.step) == ("Alice", f"{AGENT}/{worker}", "thinking")


def test_an_earlier_board_is_shown_again(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    gateway_home.add_team("Alice")
    board = client.board(AGENT)
    assert board.max_concurrent is not None
    earlier = board.model_copy(update={"max_concurrent": None})
    assert (len(board.nodes), client.board(AGENT, at=board.seq)) == (1, earlier)
    before = client.board(AGENT, at=1)
    assert (before.seq, before.nodes, before.run) == (1, (), board.run)
    assert refused(client.board, AGENT, at=board.seq + 1).status == 404


def test_files_of_the_run_are_listed_and_read(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    run = gateway_home.home.agent(AGENT).run(RUN).path
    (run / "_plan.md").write_text("# Plan\n")
    (run / "nodes").mkdir()
    (run / "data.bin").write_bytes(b"\xff\xfe\x00")
    (run / "with space & ünïcode?.txt").write_text("ok")
    listing = client.list_files("survey")
    assert [entry.name for entry in listing.entries] == [
        "nodes",
        "_plan.md",
        "data.bin",
        "with space & ünïcode?.txt",
    ]
    assert client.read_file("survey", "_plan.md").content == "# Plan\n"
    assert client.read_file("survey", "with space & ünïcode?.txt").content == "ok"
    assert client.read_file("survey", "data.bin").encoding == "base64"
    assert isinstance(client.workspace("survey", "nodes"), FolderView)
    assert isinstance(client.workspace("survey", "_plan.md"), FileContentView)


@pytest.mark.parametrize(
    "path", ["../../agent.json", "..%2f..%2fagent.json", "%2e%2e/x", "link", "link/agent.json"]
)
def test_path_cannot_leave_the_run(gateway_home: GatewayHome, client: Client, path: str) -> None:
    gateway_home.add_agent()
    run = gateway_home.home.agent(AGENT).run(RUN).path
    (run / "link").symlink_to(gateway_home.home.agent(AGENT).path)
    answer = client._http.get(f"/agents/survey/workspace/{path}")
    assert answer.status_code in (403, 404)
    assert "created_at" not in answer.text


def test_the_memory_is_listed_read_and_searched(gateway_home: GatewayHome, client: Client) -> None:
    home = gateway_home.home.agent(gateway_home.add_agent().id)
    (home.memory / "knowledge").mkdir(parents=True)
    home.memory_file.write_text("# Main\n")
    (home.memory / "knowledge/x.md").write_text("# X\n\n## Heat\n\nIt melts at 40 degrees.\n")
    (home.path / "secret.md").write_text("secret")
    (home.memory / "link.md").symlink_to(home.path / "secret.md")
    assert [entry.path for entry in client.memory(AGENT)] == ["MEMORY.md", "knowledge/x.md"]
    assert client.memory_file(AGENT, "MEMORY.md").content == "# Main\n"
    hits = client.search_memory(AGENT, "melting")
    assert [(hit.path, hit.heading) for hit in hits] == [("knowledge/x.md", "X > Heat")]
    assert client.search_memory(AGENT, "secret") == []
    for path in ("link.md", "knowledge/y.md", "%2e%2e/agent.json", "secret.md", "agent.json"):
        error = refused(client.memory_file, AGENT, path)
        assert error.status == 404, path


def test_entities_show_process_mailbox_cost_and_activity(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    worker = gateway_home.add_team("Alice")[0]
    gateway_home.arrive(
        arrived(
            ChildHeartbeat(doing=EntityState(state="busy", step="bash", since=1.0)),
            f"{AGENT}/{worker}",
        )
    )
    rows = {row.address: row for row in client.entities()}
    coordinator = rows[COORDINATOR]
    assert (coordinator.name, coordinator.mailbox, coordinator.tokens) == ("survey", 3, 15)
    alice = rows[f"{AGENT}/{worker}"]
    assert (alice.name, alice.state, alice.step) == ("Alice", "busy", "bash")
    assert (alice.doing, alice.doing_since is not None) == ("bash", True)
    assert next(iter(rows)) == "supervisor"


@pytest.mark.parametrize(
    "named", ["Alice", "survey/alice", "{id}", "survey-abc123/{id}", "al", "sur/al", "survey/ali"]
)
def test_an_entity_is_found_by_address_name_or_id(
    gateway_home: GatewayHome, client: Client, named: str
) -> None:
    gateway_home.add_agent()
    worker = gateway_home.add_team("Alice")[0]
    acted = client.act(named.format(id=worker), "kill")
    assert [row.address for row in acted.entities] == [f"{AGENT}/{worker}"]


def test_ambiguous_prefix_of_an_entity_is_refused_with_the_matches(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    alice, alan = gateway_home.add_team("Alice", "Alan")
    error = refused(client.act, "al", "kill")
    assert (error.status, error.type) == (409, AMBIGUOUS)
    assert f"{AGENT}/{alice}, {AGENT}/{alan}" in error.detail
    assert refused(client.transcript, AGENT, "Al").type == AMBIGUOUS
    assert refused(client.send, AGENT, "hello", to="al").type == AMBIGUOUS
    assert client.send(AGENT, "hello", to="ali").to == ("Alice",)
    assert [row.address for row in client.act("coord", "kill").entities] == [COORDINATOR]


def test_action_on_an_agent_applies_to_its_whole_team(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    gateway_home.add_team("Alice", "Bob")
    assert len(client.act("survey", "restart").entities) == 3


def test_entity_without_a_process_is_not_killed(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    worker = f"{AGENT}/{gateway_home.add_team('Alice')[0]}"
    parked = {"state": "parked", "pid": None}
    gateway_home.children[worker] = gateway_home.children[worker].model_copy(update=parked)
    error = refused(client.act, "Alice", "kill")
    assert error.status == 409
    assert error.detail == f"nothing to kill: there is no process; {worker} is parked"
    assert [row.address for row in client.act("survey", "kill").entities] == [COORDINATOR]


def test_impossible_action_is_refused_with_the_reason(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    error = refused(client.act, "nobody", "stop")
    assert (error.status, COORDINATOR in error.detail) == (404, True)
    assert refused(client.act, "supervisor", "stop").status == 409
    assert refused(client.act, "supervisor", "pause").status == 409
    assert client._http.post("/entities/survey/explode").status_code == 422


def test_models_usage_consoles_and_health_are_served(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    assert client.models().default == "script/fake"
    assert client.usage().total.tokens == 15
    assert client.usage(agent="survey").total.tokens == 15
    ticket = client.attach_console()
    assert (ticket.address, bytes.fromhex(ticket.ticket)) == ("console/1", b"\x01\x02")
    assert client.health().agents == 1


def test_usage_is_shown_by_node_and_by_stage(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    gateway_home.add_team("Ada")
    store = BoardStore(gateway_home.home.agent(AGENT).run(RUN).journal)
    store.execute(CreateNode("c2", NodeSpec(task="Look at the texts", name="texts")), 4.0)
    nodes = list(store.board.nodes)
    store.close()

    def spent(key: str, calls: int, run: str = RUN) -> UsageRow:
        usage = Usage(input_tokens=10 * calls, cost_usd=0.5 * calls)
        return UsageRow(key=key, run=run, calls=calls, seconds=1.0, usage=usage)

    rows = (spent("", 1), *(spent(node, 2) for node in nodes), spent("abcdef", 4))
    gateway_home.runtime.answers[AskUsage] = lambda body: UsageTable(
        by_entity={}, total=Usage(), rows=rows if body.by == "node" else ()
    )
    by_node = client.usage(agent="survey", by="node").rows
    assert [(row.key, row.name, row.calls) for row in by_node] == [
        ("", "", 1),
        *((node, name, 2) for node, name in zip(nodes, ("tables", "texts"), strict=True)),
        ("abcdef", "", 4),
    ]
    found = client.usage(agent="survey", by="stage")
    [outside, stage] = found.rows
    assert (found.by, outside.key, outside.calls) == ("stage", "", 5)
    stages = client.board(AGENT).stages
    assert (stage.key, stage.name, stage.run) == ("0", stages[0].name, RUN)
    assert (stage.calls, stage.seconds, stage.usage.tokens, stage.usage.cost_usd) == (4, 2, 40, 2)


def test_missing_gateway_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotReachable):
        Client.for_home(tmp_path / "nowhere")
    with running_gateway(tmp_path) as gateway_home:
        client = gateway_home.client()
    with client, pytest.raises(NotReachable):
        client.health()
    with pytest.raises(NotReachable):
        Client.for_home(tmp_path)


def test_activity_is_taken_from_heartbeats(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    address = f"{AGENT}/coordinator"
    beat = {"doing": EntityState(state="busy", step="bash: make test", since=42.0)}
    gateway_home.children[address] = gateway_home.children[address].model_copy(update=beat)
    row = next(row for row in client.entities() if row.address == address)
    assert (row.state, row.doing, row.doing_since) == ("busy", "bash: make test", 42.0)


def test_service_in_backoff_is_shown_by_ps_top_and_doctor(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_child("broker", "broker", "backing_off")
    gateway_home.children["broker"] = gateway_home.children["broker"].model_copy(
        update={"pid": None, "cause": "exit code 1: boom", "next_start": time.time() + 20.4}
    )
    before = gateway_home.runtime.answers[AskUsage]
    gateway_home.runtime.answers[AskUsage] = lambda _body: DeadlineExceeded("no answer")
    late = refused(client.usage)
    gateway_home.runtime.answers[AskUsage] = before
    assert (late.status, str(late)) == (
        504,
        "broker did not answer in time: it is restarted after exit code 1: boom",
    )
    row = next(row for row in client.entities() if row.address == "broker")
    assert (row.state, row.pid) == ("backing_off", None)
    assert re.fullmatch(r"starts again in (20|19) s: exit code 1: boom", row.doing)
    waiting = {"cause": "it waits for north, which cannot be reached", "next_start": None}
    gateway_home.children["clock"] = gateway_home.children["broker"].model_copy(
        update={"address": "clock", "host": "", **waiting}
    )
    row = next(row for row in client.entities() if row.address == "clock")
    assert (row.host, row.doing) == ("", waiting["cause"])
    del gateway_home.children["clock"]
    for command in ("ps", "top"):
        told = CliRunner().invoke(agiraph, [command, "--home", str(gateway_home.home.path)])
        line = next(line for line in told.stdout.splitlines() if line.startswith("broker"))
        assert "backing off" in line, told.output
        assert "boom" in line
    lock = HomeLock(gateway_home.home.path, gateway_home.home.system.lock)
    lock.acquire()
    try:
        check = check_processes(DoctorContext(gateway_home.home, {}))
    finally:
        lock.release()
    assert check.status == "warn"
    assert check.detail == "broker is backing off: exit code 1: boom"


def test_budgets_are_shown_and_set_by_their_names(
    gateway_home: GatewayHome, client: Client
) -> None:
    agent = gateway_home.add_agent()
    made = client.add_trigger(
        "survey",
        CreateTriggerRequest(
            type="heartbeat", config={"interval_seconds": 60}, action="Look", name="minutes"
        ),
    )
    orders: list[MessageBody] = []
    state = BudgetState(
        scope="trigger", key=f"{AGENT}/{made.id}", tokens=9, spent_tokens=10, sets=1
    )

    def table(order: MessageBody) -> BudgetTable:
        orders.append(order)
        return BudgetTable(budgets=(state,))

    for kind in (SetBudgetMessage, ResetBudget, AskBudgets):
        gateway_home.runtime.answers[kind] = table
    [shown] = client.budgets("survey")
    assert (shown.name, shown.agent_name, shown.tokens, shown.left_tokens) == (
        "minutes",
        "survey",
        9,
        0,
    )
    assert client.budgets() == [shown]
    shortage = Shortage(budget=state.model_copy(update={"sets": 0}), unit="tokens", needs=1)
    about = ProposedAction(tool=BUDGET, subject="tokens", shortage=shortage.identity)
    ask(gateway_home, "b-1", about=about)
    of_agent = f"agent:{AGENT}::usd:0"
    ask(gateway_home, "b-2", about=ProposedAction(tool=BUDGET, subject="usd", shortage=of_agent))
    assert client.set_budget("survey", tokens=9, trigger="minutes") == shown
    assert client.set_budget("survey", usd="none", tokens=2, period="day").key == made.id
    client.remove_budget("survey", period="day", trigger=made.id)
    asked, _, order, daily, back = orders
    assert asked == AskBudgets(keys=(("agent", AGENT), ("run", RUN), ("trigger", state.key)))
    models = tuple(dict.fromkeys((agent.model, agent.worker_model)))
    own = Budget(scope="trigger", key=state.key, tokens=9)
    assert order == SetBudgetMessage(budget=own, keep=("usd",), models=models)
    own = Budget(scope="agent", key=AGENT, tokens=2, period="day")
    assert daily == SetBudgetMessage(budget=own, models=models)
    assert back == ResetBudget(scope="trigger", key=state.key, period="day")
    assert [one.id for one in client.questions(status="open")] == ["b-2"]
    told = [event.data for event in gateway_home.runtime.events() if event.type == "human.budget"]
    assert [(one["key"], one["tokens"]) for one in told] == [(state.key, 9)], "told once"


def test_invalid_budget_is_refused_with_the_possible_values(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    path = "/agents/survey/budgets"
    wrong = [
        ({"usd": -5}, "usd: -5 is no limit: US dollars from 0 to 1,000,000,000,000, or 'none'"),
        ({"tokens": 1.5}, "tokens: 1.5 is no limit: whole tokens"),
        ({"usd": "much"}, "usd: 'much' is no limit"),
        ({}, "name a limit: usd, tokens or both"),
    ]
    for body, words in wrong:
        answer = client._http.patch(f"{path}/total", json=body)
        assert (answer.status_code, words in answer.json()["detail"]) == (422, True), answer.text
    assert client._http.patch(f"{path}/week", json={"usd": 5}).status_code == 422
    assert "known: survey" in refused(client.set_budget, "nobody", usd=5).detail
    unknown = refused(client.set_budget, "survey", usd=5, trigger="t-1")
    assert (unknown.status, "unknown trigger 't-1' (known: none)" in unknown.detail) == (404, True)
    gateway_home.runtime.answers[SetBudgetMessage] = lambda _: RefusedReply(
        reason="no price", kind="Refused"
    )
    assert (refused(client.set_budget, "survey", usd=5).status) == 422


def test_edit_of_the_memory_by_a_person_is_reported_to_the_agent(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    home = gateway_home.home.agent(AGENT)
    made = client.edit_memory(AGENT, "knowledge/x.md", "# X\n", etag="")
    assert (made.path, made.content) == ("knowledge/x.md", "# X\n")
    assert refused(client.edit_memory, AGENT, "knowledge/x.md", "Y", etag="").status == 412
    assert client.memory_file(AGENT, "knowledge/x.md").etag == made.etag
    (home.memory / "knowledge/x.md").write_text("# By a command\n")
    lost = refused(client.edit_memory, AGENT, "knowledge/x.md", "Y", etag=made.etag)
    assert (lost.status, "a command or an editor" in lost.detail) == (412, True)
    now = client.memory(AGENT)[0].etag
    client.edit_memory(AGENT, "knowledge/x.md", "Z", etag=now, tell=False)
    versions = client.memory_history(AGENT, "knowledge/x.md")
    assert [(one.number, one.change, one.by, one.via) for one in versions] == [
        (1, "written", "human", "home"),
        (2, "found", "", ""),
        (3, "written", "human", "home"),
    ]
    assert client.memory_version(AGENT, "knowledge/x.md", "2").content == "# By a command\n"
    assert refused(client.memory_version, AGENT, "knowledge/x.md", "9").status == 404
    client.remove_memory(AGENT, "knowledge/x.md")
    assert client.memory(AGENT) == []
    assert refused(client.remove_memory, AGENT, "knowledge/x.md").status == 404
    said = [m.body.content for m in gateway_home.runtime.sent if m.body.TYPE == "text"]
    assert ["knowledge/x.md" in said[0], "removed" in said[1], len(said)] == [True, True, 2]
    events = [
        e for m in gateway_home.runtime.sent if m.body.TYPE == "event.report" for e in m.body.events
    ]
    written = [event for event in events if event.type == "memory.written"]
    assert [(one.entity, one.data["change"]) for one in written] == [
        ("human", "written"),
        ("human", "written"),
        ("human", "removed"),
    ]


def test_a_memory_is_edited_within_its_bounds(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent(status="completed")
    gateway_home.home.agent(AGENT).memory_file.write_text("# Main\n")
    assert refused(client.edit_memory, AGENT, "MEMORY.md", "x" * 50_000).status == 422
    assert refused(client.edit_memory, AGENT, "../GOAL.md", "x").status in (404, 422)
    assert refused(client.remove_memory, AGENT, "MEMORY.md").status == 422
    client.edit_memory(AGENT, "MEMORY.md", "# Mine")
    assert not [m for m in gateway_home.runtime.sent if m.body.TYPE == "text"]

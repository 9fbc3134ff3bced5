"""The HTTP API over a real socket: agents and their runs, from creation to deletion."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from agiraph.agent.hold import store_hold
from agiraph.board.commands import SpawnWorker
from agiraph.board.store import BoardStore
from agiraph.core.models import EntityState
from agiraph.core.specs import WorkerSpec
from agiraph.http.api import CreateAgentRequest, StartRunRequest
from agiraph.http.client import Client
from agiraph.http.errors import AMBIGUOUS
from agiraph.messages.child import ChildHeartbeat, ListChildren, StartChild, StopChild
from agiraph.messages.control import Ok, Pause, RefusedReply, Resume, Step
from agiraph.messages.model import ListModels, ModelCatalog
from agiraph.messages.run import BeginRun
from agiraph.storage.files import replace_file
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, RUN, GatewayHome, ask, refused, running_gateway
from transport.endpoint import Received
from transport.errors import DeadlineExceeded

COORDINATOR = f"{AGENT}/coordinator"


def test_an_agent_is_created_with_the_default_model_and_its_coordinator_is_started(
    gateway_home: GatewayHome, client: Client, tmp_path: Path
) -> None:
    made = client.create_agent(
        CreateAgentRequest(goal="Survey this folder now", input=str(tmp_path))
    )
    assert made.name == "survey-folder-now"
    assert made.id.startswith("survey-folder-now-")
    assert made.model == made.worker_model == "script/fake"
    started = [body for to, body in gateway_home.runtime.asked if isinstance(body, StartChild)]
    assert started[0].spec.address == f"{made.id}/coordinator"
    assert started[0].spec.owner == "human"
    assert started[0].spec.args["agent"]["input"] == str(tmp_path)
    assert [agent.id for agent in client.agents()] == [made.id]
    assert client.agent(made.name).id == made.id


def test_the_default_model_of_the_settings_needs_no_catalog(tmp_path: Path) -> None:
    with (
        running_gateway(tmp_path / "home", "script/mine") as gateway_home,
        gateway_home.client() as client,
    ):
        assert client.create_agent(CreateAgentRequest(goal="Do it")).model == "script/mine"
        assert not [body for _, body in gateway_home.runtime.asked if isinstance(body, ListModels)]


@pytest.mark.parametrize(
    ("request_", "status", "expected"),
    [
        (CreateAgentRequest(goal="x", model="nobody/none"), 422, "unknown provider"),
        (CreateAgentRequest(goal="x", input="relative"), 422, "absolute"),
        (CreateAgentRequest(goal="x", input="/no/such/folder"), 422, "existing folder"),
        (CreateAgentRequest(goal="x", model="script/survey"), 422, "surveys a folder"),
        (CreateAgentRequest(goal="x", model="script"), 422, "surveys a folder"),
        (CreateAgentRequest(goal="x", name="survey"), 409, "taken"),
    ],
)
def test_invalid_agent_is_refused_with_the_reason(
    gateway_home: GatewayHome,
    client: Client,
    request_: CreateAgentRequest,
    status: int,
    expected: str,
) -> None:
    gateway_home.add_agent()
    error = refused(client.create_agent, request_)
    assert error.status == status
    assert expected in error.detail
    assert len(client.agents()) == 1


def test_home_and_its_private_folders_are_refused_as_input(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = gateway_home.runtime.home.path
    for folder in (home, home / "system", home / "human"):
        folder.mkdir(exist_ok=True)
        error = refused(client.create_agent, CreateAgentRequest(goal="x", input=str(folder)))
        assert (error.status, "is the home, with keys" in error.detail) == (422, True)
    assert client.agents() == []


def test_agent_without_a_model_is_refused_with_the_alternatives(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.runtime.answers[ListModels] = lambda body: ModelCatalog(
        providers=(), default=None, why="no provider's key is set"
    )
    error = refused(client.create_agent, CreateAgentRequest(goal="Write a poem"))
    assert (error.status, error.detail) == (422, "no provider's key is set")
    assert client.agents() == []
    assert not [body for _, body in gateway_home.runtime.asked if isinstance(body, StartChild)]
    assert client.models().default is None


def test_a_creation_that_is_asked_again_makes_one_agent(
    gateway_home: GatewayHome, client: Client
) -> None:
    request = CreateAgentRequest(goal="Survey", name="once", run="20260101-120000-abcdef")
    first = client.create_agent(request)
    assert client.create_agent(request) == first
    assert first.run == "20260101-120000-abcdef"
    assert len(client.agents()) == 1


def test_an_empty_goal_and_an_unknown_field_are_refused(
    gateway_home: GatewayHome, client: Client
) -> None:
    for body in (b'{"goal": "  "}', b'{"goal": "x", "colour": "red"}', b"{", b"[]"):
        answer = client._http.post(
            "/agents", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422
        assert isinstance(answer.json()["detail"], str)


def test_unknown_agent_is_refused_with_the_known_ones(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    error = refused(client.agent, "nobody")
    assert error.status == 404
    assert "survey" in error.detail


def test_agents_of_one_name_are_ambiguous_and_found_by_id(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent("a-1", "twin")
    gateway_home.add_agent("a-2", "twin")
    error = refused(client.agent, "twin")
    assert (error.status, error.type) == (409, AMBIGUOUS)
    assert "agent 'twin' could be any of a-1, a-2" in error.detail
    assert client.agent("a-2").id == "a-2"


def test_an_agent_with_a_damaged_record_hides_itself_alone(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    gateway_home.add_agent("broken-1", "broken")
    gateway_home.home.agent("broken-1").record.write_text("{")
    assert [agent.id for agent in client.agents()] == [AGENT]
    assert client.agent("survey").id == AGENT
    error = refused(client.agent, "broken")
    assert (error.status, "damaged" in error.detail) == (500, True)
    assert client.entities()


def test_agent_with_a_stopped_coordinator_is_shown_as_stopped(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    assert client.agent("survey").status == "working"
    client.stop("survey")
    assert client.agent("survey").status == "stopped"
    assert "agent.stopped" in [event.type for event in gateway_home.runtime.events()]


def test_agents_are_listed_without_a_supervisor(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    gateway_home.runtime.answers[ListChildren] = lambda body: DeadlineExceeded("late")
    assert client.agents()[0].status == "working"
    assert refused(client.entities).status == 504


def test_request_to_a_given_up_entity_names_the_reason(
    gateway_home: GatewayHome, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway_home.add_agent()
    gateway_home.add_team("Alice")
    cause = "it cannot start (exit code 64: journal.jsonl: the record at byte 7 is damaged)"
    answer, never = gateway_home.runtime.ask, asyncio.Event()

    async def ask_one_that_fails(to: str, body: BaseModel, **more: Any) -> Received:
        if to != COORDINATOR:
            return await answer(to, body, **more)
        failed = {"state": "failed", "cause": cause}
        gateway_home.children[COORDINATOR] = gateway_home.children[COORDINATOR].model_copy(
            update=failed
        )
        await never.wait()
        raise AssertionError

    monkeypatch.setattr(gateway_home.runtime, "ask", ask_one_that_fails)
    monkeypatch.setattr("actors.gateway.bus.FAILED_AFTER_SECONDS", 0.01)
    error = refused(client.retry_node, "survey", "tables")
    assert (error.status, error.detail) == (409, f"{COORDINATOR} does not run: {cause}")


def test_coordinator_is_stopped_first_and_restarted_to_resume_the_team(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    worker = gateway_home.add_team("Alice")[0]
    client.stop("survey")
    stops = [body for to, body in gateway_home.runtime.asked if isinstance(body, StopChild)]
    assert [stop.address for stop in stops] == [COORDINATOR, f"{AGENT}/{worker}"]
    client.resume("survey")
    stops = [body for to, body in gateway_home.runtime.asked if isinstance(body, StopChild)]
    assert [(stop.address, stop.how) for stop in stops[2:]] == [(COORDINATOR, "restart")]
    assert gateway_home.runtime.sent_to(f"{AGENT}/{worker}") == [Resume()]


def test_a_worker_that_was_stopped_alone_is_started_again_alone(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    worker = f"{AGENT}/{gateway_home.add_team('Alice')[0]}"
    client.act("Alice", "stop")
    assert [row.address for row in client.resume("survey").entities] == [COORDINATOR, worker]
    assert gateway_home.children[worker].state == "ready"


def test_pause_and_resume_reach_coordinator_and_workers(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    worker = gateway_home.add_team("Alice")[0]
    client.pause("survey")
    client.resume("survey")
    for address in (COORDINATOR, f"{AGENT}/{worker}"):
        assert [type(body) for body in gateway_home.runtime.sent_to(address)] == [Pause, Resume]


def test_ended_run_is_paused_only_while_it_is_busy(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent(status="completed")
    gateway_home.add_child(COORDINATOR, "coordinator", "parked")
    error = refused(client.pause, "survey")
    assert error.status == 409
    assert error.detail == f"nothing to pause: the run has ended and {COORDINATOR} does nothing"
    gateway_home.add_child(COORDINATOR, "coordinator")
    gateway_home.arrive(
        arrived(ChildHeartbeat(doing=EntityState(state="idle", step="")), COORDINATOR)
    )
    assert refused(client.act, COORDINATOR, "pause").status == 409
    assert gateway_home.runtime.sent_to(COORDINATOR) == []
    gateway_home.arrive(
        arrived(ChildHeartbeat(doing=EntityState(state="busy", step="bash")), COORDINATOR)
    )
    client.pause("survey")
    assert [type(body) for body in gateway_home.runtime.sent_to(COORDINATOR)] == [Pause]


def test_single_step_requires_a_paused_entity(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    worker = f"{AGENT}/{gateway_home.add_team('Alice')[0]}"
    error = refused(client.act, "survey", "step")
    assert (error.status, "pause first" in error.detail) == (409, True)
    hold = EntityState(state="paused")
    store_hold(gateway_home.home.agent(AGENT).run(RUN).worker(worker.partition("/")[2]).hold, hold)
    stepped = client.act("survey", "step")
    assert [(one.address, one.state) for one in stepped.entities] == [(worker, "stepping")]
    assert [type(body) for body in gateway_home.runtime.sent_to(worker)] == [Step]
    assert gateway_home.runtime.sent_to(COORDINATOR) == []
    assert refused(client.act, "router", "step").status in (404, 409)


def test_an_external_agent_does_no_single_steps(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    gateway_home.add_team("Ada")
    run = gateway_home.home.agent(AGENT).run(RUN)
    with closing(BoardStore(run.journal)) as store:
        spec = WorkerSpec(name="out", type="autonomous", agent_command="codex")
        store.execute(SpawnWorker("w-out", spec), 5.0)
        worker = store.board.worker_by_cause("w-out")
    assert worker is not None
    gateway_home.add_child(f"{AGENT}/{worker.id}", "worker")
    store_hold(run.worker(worker.id).hold, EntityState(state="paused"))
    error = refused(client.act, f"{AGENT}/{worker.id}", "step")
    assert (error.status, "takes its steps by itself" in error.detail) == (409, True)


def test_interruption_is_a_message_to_each_working_entity(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    worker = f"{AGENT}/{gateway_home.add_team('Alice')[0]}"
    for address, state in ((COORDINATOR, "idle"), (worker, "busy")):
        gateway_home.arrive(
            arrived(ChildHeartbeat(doing=EntityState(state=state, step="")), address)
        )
    done = client.act("survey", "interrupt")
    assert [(one.address, one.state) for one in done.entities] == [(worker, "interrupting")]
    [sent] = gateway_home.runtime.sent_to(worker)
    assert (sent.mode, sent.from_name) == ("interrupt", "human")
    assert gateway_home.runtime.sent_to(COORDINATOR) == []
    [message] = client.conversation("survey").messages
    assert (message.to, message.content) == ("Alice", sent.content)
    error = refused(client.act, COORDINATOR, "interrupt")
    assert error.detail == f"nothing to interrupt: {COORDINATOR} is idle"


def test_delete_stops_for_good_archives_the_folder_and_withdraws_questions(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    ask(gateway_home)
    archived = client.archive("survey")
    assert Path(archived.path) == gateway_home.home.agents / ".archive" / AGENT
    assert (Path(archived.path) / "agent.json").exists()
    assert client.agents() == []
    assert client.questions()[0].status == "withdrawn"
    assert refused(client.answer, "q1", "late").status == 409


def test_a_further_goal_reaches_the_coordinator_and_its_record_is_the_answer(
    gateway_home: GatewayHome, client: Client
) -> None:
    agent = gateway_home.add_agent(status="completed")

    def begin(body: BeginRun) -> Ok:
        record = gateway_home.home.agent(agent.id).record
        changed = {"run": body.run, "goal": body.goal, "status": "working"}
        replace_file(record, agent.model_copy(update=changed).model_dump_json())
        return Ok()

    gateway_home.runtime.answers[BeginRun] = begin
    begun = client.begin_run(agent.name, StartRunRequest(goal="And now the other folder"))
    assert (begun.goal, begun.status) == ("And now the other folder", "working")
    ordered = next(body for _, body in gateway_home.runtime.asked if isinstance(body, BeginRun))
    assert not ordered.abandon
    assert ordered.run == begun.run != RUN
    again = client.begin_run(
        agent.name, StartRunRequest(goal="And now the other folder", run=begun.run)
    )
    assert again.run == begun.run


def test_refused_goal_has_the_reason_of_the_coordinator(
    gateway_home: GatewayHome, client: Client
) -> None:
    agent = gateway_home.add_agent()
    gateway_home.runtime.answers[BeginRun] = lambda body: RefusedReply(reason="still at work")
    error = refused(client.begin_run, agent.id, StartRunRequest(goal="Another"))
    assert (error.status, error.detail) == (409, "still at work")
    error = refused(client.begin_run, "nobody", StartRunRequest(goal="Another"))
    assert error.status == 404
    for model in ("nobody/none", "script/survey"):
        error = refused(client.begin_run, agent.id, StartRunRequest(goal="Another", model=model))
        assert error.status == 422


def test_older_runs_are_shown_by_their_id(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    gateway_home.add_team("ada")
    assert [(run.id, run.is_current) for run in client.runs(AGENT)] == [(RUN, True)]
    assert client.board(AGENT, run=RUN) == client.board(AGENT)
    error = refused(client.board, AGENT, run="20200101-000000-aaaaaa")
    assert error.status == 404
    assert RUN in error.detail

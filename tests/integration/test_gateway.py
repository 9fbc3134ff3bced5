"""The HTTP API over a real socket, through the real client: agents, talk, questions, work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.api import CreateAgent, FileContent, Folder, NewRun
from agiraph.client import ApiError, Client, NotReachable
from agiraph.ids import QuestionId
from agiraph.journal import replace_file
from agiraph.messages import (
    AskQuestion,
    BeginRun,
    ChildFailed,
    ListChildren,
    Ok,
    Pause,
    QuestionAnswered,
    RefusedReply,
    Resume,
    StartChild,
    Status,
    StopChild,
    Text,
)
from tests.fakes.gateway import AGENT, RUN, World, gateway_world
from tests.fakes.line import arrived
from transport.errors import DeadlineExceeded, Nacked

COORDINATOR = f"{AGENT}/coordinator"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with gateway_world(tmp_path / "home") as world:
        yield world


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    with world.client() as client:
        yield client


def refused(call: object, *args: object, **named: object) -> ApiError:
    with pytest.raises(ApiError) as caught:
        call(*args, **named)  # type: ignore[operator]
    return caught.value


# --- further runs and memory ---


def test_a_further_goal_reaches_the_coordinator_and_its_record_is_the_answer(
    world: World, client: Client
) -> None:
    agent = world.add_agent(status="completed")

    def begin(body: BeginRun) -> Ok:
        record = world.home.agent(agent.id).record
        changed = {"run": body.run, "goal": body.goal, "status": "working"}
        replace_file(record, agent.model_copy(update=changed).model_dump_json())
        return Ok()

    world.line.answers[BeginRun] = begin
    begun = client.begin_run(agent.name, NewRun(goal="And now the other folder"))
    assert (begun.goal, begun.status) == ("And now the other folder", "working")
    ordered = next(body for _, body in world.line.asked if isinstance(body, BeginRun))
    assert not ordered.abandon
    assert ordered.run == begun.run != RUN
    again = client.begin_run(agent.name, NewRun(goal="And now the other folder", run=begun.run))
    assert again.run == begun.run


def test_a_further_goal_is_refused_with_the_coordinators_words(
    world: World, client: Client
) -> None:
    agent = world.add_agent()
    world.line.answers[BeginRun] = lambda body: RefusedReply(reason="still at work")
    error = refused(client.begin_run, agent.id, NewRun(goal="Another"))
    assert (error.status, error.detail) == (409, "still at work")
    error = refused(client.begin_run, "nobody", NewRun(goal="Another"))
    assert error.status == 404
    error = refused(client.begin_run, agent.id, NewRun(goal="Another", model="nobody/none"))
    assert error.status == 422


def test_older_runs_are_shown_by_their_id(world: World, client: Client) -> None:
    world.add_agent()
    world.add_team("ada")
    assert [(run.id, run.is_current) for run in client.runs(AGENT)] == [(RUN, True)]
    assert client.board(AGENT, run=RUN) == client.board(AGENT)
    error = refused(client.board, AGENT, run="20200101-000000-aaaaaa")
    assert error.status == 404
    assert RUN in error.detail


def test_the_memory_is_listed_read_and_searched(world: World, client: Client) -> None:
    home = world.home.agent(world.add_agent().id)
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


# --- agents ---


def test_an_agent_is_created_with_the_default_model_and_its_coordinator_is_started(
    world: World, client: Client, tmp_path: Path
) -> None:
    made = client.create_agent(CreateAgent(goal="Survey this folder now", input=str(tmp_path)))
    assert made.name == "survey-this-folder-now"
    assert made.id.startswith("survey-this-folder-now-")
    assert made.model == made.worker_model == "script/survey"
    started = [body for to, body in world.line.asked if isinstance(body, StartChild)]
    assert started[0].spec.address == f"{made.id}/coordinator"
    assert started[0].spec.owner == "human"
    assert started[0].spec.args["agent"]["input_dir"] == str(tmp_path)
    assert [agent.id for agent in client.agents()] == [made.id]
    assert client.agent(made.name).id == made.id


@pytest.mark.parametrize(
    ("request_", "status", "said"),
    [
        (CreateAgent(goal="x", model="nobody/none"), 422, "unknown provider"),
        (CreateAgent(goal="x", input="relative"), 422, "absolute"),
        (CreateAgent(goal="x", input="/no/such/folder"), 422, "existing folder"),
        (CreateAgent(goal="x", name="survey"), 409, "taken"),
    ],
)
def test_what_cannot_be_created_is_said(
    world: World, client: Client, request_: CreateAgent, status: int, said: str
) -> None:
    world.add_agent()
    error = refused(client.create_agent, request_)
    assert error.status == status
    assert said in error.detail
    assert len(client.agents()) == 1


def test_a_creation_that_is_asked_again_makes_one_agent(world: World, client: Client) -> None:
    request = CreateAgent(goal="Survey", name="once", run="20260101-120000-abcdef")
    first = client.create_agent(request)
    assert client.create_agent(request) == first
    assert first.run == "20260101-120000-abcdef"
    assert len(client.agents()) == 1


def test_an_empty_goal_and_an_unknown_field_are_refused(world: World, client: Client) -> None:
    for body in (b'{"goal": "  "}', b'{"goal": "x", "colour": "red"}', b"{", b"[]"):
        answer = client._http.post(
            "/agents", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422
        assert isinstance(answer.json()["detail"], str)


def test_an_unknown_agent_is_answered_with_the_known_ones(world: World, client: Client) -> None:
    world.add_agent()
    error = refused(client.agent, "nobody")
    assert error.status == 404
    assert "survey" in error.detail


def test_two_agents_of_one_name_must_be_told_apart_by_id(world: World, client: Client) -> None:
    world.add_agent("a-1", "twin")
    world.add_agent("a-2", "twin")
    assert refused(client.agent, "twin").status == 409
    assert client.agent("a-2").id == "a-2"


def test_an_agent_with_a_damaged_record_hides_itself_alone(world: World, client: Client) -> None:
    world.add_agent()
    world.add_agent("broken-1", "broken")
    world.home.agent("broken-1").record.write_text("{")
    assert [agent.id for agent in client.agents()] == [AGENT]
    assert client.agent("survey").id == AGENT
    error = refused(client.agent, "broken-1")
    assert (error.status, "damaged" in error.detail) == (500, True)


def test_an_agent_whose_coordinator_is_down_is_shown_as_stopped(
    world: World, client: Client
) -> None:
    world.add_agent()
    assert client.agent("survey").status == "working"
    client.stop("survey")
    assert client.agent("survey").status == "stopped"
    assert "agent.stopped" in [event.type for event in world.line.events()]


def test_agents_can_be_listed_while_the_supervisor_is_away(world: World, client: Client) -> None:
    world.add_agent()
    world.line.answers[ListChildren] = lambda body: DeadlineExceeded("late")
    assert client.agents()[0].status == "working"
    assert refused(client.entities).status == 504


def test_stop_begins_with_the_coordinator_and_resume_starts_it_to_start_the_others(
    world: World, client: Client
) -> None:
    world.add_agent()
    worker = world.add_team("Alice")[0]
    client.stop("survey")
    stops = [body for to, body in world.line.asked if isinstance(body, StopChild)]
    assert [stop.address for stop in stops] == [COORDINATOR, f"{AGENT}/{worker}"]
    client.resume("survey")
    stops = [body for to, body in world.line.asked if isinstance(body, StopChild)]
    assert [(stop.address, stop.how) for stop in stops[2:]] == [(COORDINATOR, "restart")]
    assert world.line.sent_to(f"{AGENT}/{worker}") == [Resume()]


def test_a_worker_that_was_stopped_alone_is_started_again_alone(
    world: World, client: Client
) -> None:
    world.add_agent()
    worker = f"{AGENT}/{world.add_team('Alice')[0]}"
    client.act("Alice", "stop")
    assert [row.address for row in client.resume("survey").entities] == [COORDINATOR, worker]
    assert world.children[worker].state == "ready"


def test_pause_and_resume_reach_coordinator_and_workers(world: World, client: Client) -> None:
    world.add_agent()
    worker = world.add_team("Alice")[0]
    client.pause("survey")
    client.resume("survey")
    for address in (COORDINATOR, f"{AGENT}/{worker}"):
        assert [type(body) for body in world.line.sent_to(address)] == [Pause, Resume]


def test_delete_stops_for_good_archives_the_folder_and_withdraws_questions(
    world: World, client: Client
) -> None:
    world.add_agent()
    ask(world)
    archived = client.archive("survey")
    assert Path(archived.path) == world.home.agents / ".archive" / AGENT
    assert (Path(archived.path) / "agent.json").exists()
    assert client.agents() == []
    assert client.questions()[0].status == "withdrawn"
    assert refused(client.answer, "q1", "late").status == 409


# --- talk ---


def test_text_goes_to_the_coordinator_unless_another_is_named(world: World, client: Client) -> None:
    world.add_agent()
    worker = world.add_team("Alice")[0]
    assert client.send("survey", "hello").to == ("coordinator",)
    assert client.send("survey", "to you", to="alice", mode="interrupt").to == ("Alice",)
    sent = world.line.sent_to(COORDINATOR)[0]
    assert (sent.content, sent.from_name, sent.mode) == ("hello", "human", "steer")
    assert world.line.sent_to(f"{AGENT}/{worker}")[0].mode == "interrupt"
    assert [event.type for event in world.line.events()] == ["message.sent", "message.sent"]


def test_a_star_reaches_everyone_and_stands_once_in_the_conversation(
    world: World, client: Client
) -> None:
    world.add_agent()
    world.add_team("Alice", "Bob")
    assert client.send("survey", "wrap up", to="*").to == ("coordinator", "Alice", "Bob")
    messages = client.conversation("survey").messages
    assert [(m.sender, m.to, m.content) for m in messages] == [("human", "*", "wrap up")]


def test_an_unknown_receiver_is_told_with_the_known_ones(world: World, client: Client) -> None:
    world.add_agent()
    world.add_team("Alice")
    error = refused(client.send, "survey", "hello", to="Zoe")
    assert error.status == 404
    assert "Alice" in error.detail
    assert client.conversation("survey").messages == ()


def test_a_send_that_the_bus_refuses_is_no_success(world: World, client: Client) -> None:
    world.add_agent()
    world.line.refusals[COORDINATOR] = Nacked("unknown_recipient")
    assert refused(client.send, "survey", "hello").status == 409
    world.line.refusals[COORDINATOR] = Nacked("mailbox_full")
    assert refused(client.send, "survey", "hello").status == 503
    assert client.conversation("survey").messages == ()


def test_a_nudge_reaches_the_coordinator(world: World, client: Client) -> None:
    world.add_agent()
    client.nudge("survey", "look at the CSV too")
    assert world.line.sent_to(COORDINATOR)[0].content == "look at the CSV too"
    assert world.line.events()[0].type == "human.nudge"


def test_texts_to_the_human_are_journaled_once_and_paged(world: World, client: Client) -> None:
    world.add_agent()
    first = arrived(Text(content="one", from_name="Alice"), f"{AGENT}/alice-1")
    world.arrive(first)
    world.arrive(first)
    world.arrive(arrived(Text(content="two", from_name="x"), COORDINATOR))
    page = client.conversation("survey", limit=1)
    assert [(m.sender, m.content) for m in page.messages] == [("Alice", "one")]
    rest = client.conversation("survey", after=page.next)
    assert [(m.sender, m.content) for m in rest.messages] == [("coordinator", "two")]
    assert [event.type for event in world.line.events()] == ["message.received"] * 2
    assert len(world.line.finished) == 3


def test_nobody_else_is_shown_as_the_human(world: World, client: Client) -> None:
    world.add_agent()
    world.arrive(arrived(Text(content="obey", from_name="Human "), f"{AGENT}/eve-1"))
    assert client.conversation("survey").messages[0].sender == "eve-1"


def test_a_coordinator_that_was_given_up_is_a_notice_and_an_event(
    world: World, client: Client
) -> None:
    world.add_agent()
    failed = ChildFailed(address=COORDINATOR, incarnation=6, cause="exit 1")
    world.arrive(arrived(failed, "supervisor"))
    assert client.conversation("survey").messages[0].kind == "notice"
    event = world.line.events()[0]
    assert (event.type, event.data["reason"]) == ("agent.failed", "exit 1")


# --- questions ---


def ask(world: World, id: str = "q1", sender: str = f"{AGENT}/alice-1") -> None:
    question = AskQuestion(
        question_id=QuestionId(id), agent=AGENT, from_name="Alice", question="Which database?"
    )
    world.arrive(arrived(question, sender))


def test_a_question_is_answered_once_and_the_answer_goes_back_to_who_asked(
    world: World, client: Client
) -> None:
    world.add_agent()
    ask(world, "q1")
    listed = client.questions()[0]
    assert (listed.id, listed.sender, listed.agent_name, listed.status) == (
        "q1",
        "Alice",
        "survey",
        "open",
    )
    answered = client.answer("q1", "PostgreSQL")
    assert (answered.status, answered.answer, answered.answered_by) == (
        "answered",
        "PostgreSQL",
        "human",
    )
    world.wait_until(lambda: bool(world.line.sent_to(f"{AGENT}/alice-1")))
    sent = next(message for message in world.line.sent if message.to == f"{AGENT}/alice-1")
    assert isinstance(sent.body, QuestionAnswered)
    assert sent.body.answer == "PostgreSQL"
    world.wait_until(lambda: len(world.line.events()) == 2)
    assert [event.type for event in world.line.events()] == ["human.question", "human.response"]
    again = refused(client.answer, "q1", "SQLite")
    assert again.status == 409
    assert "answered by human at 20" in again.detail
    kinds = [(m.kind, m.content) for m in client.conversation("survey").messages]
    assert kinds == [("question", "Which database?"), ("answer", "PostgreSQL")]


def test_respond_finds_the_only_open_question_and_asks_which_if_there_are_more(
    world: World, client: Client
) -> None:
    world.add_agent()
    assert refused(client.respond, "survey", "yes").status == 409
    ask(world, "q1")
    assert client.respond("survey", "yes").id == "q1"
    ask(world, "q2")
    ask(world, "q3")
    error = refused(client.respond, "survey", "yes")
    assert error.status == 409
    assert "q2" in error.detail
    assert "q3" in error.detail
    assert client.respond("survey", "no", question_id="q3").status == "answered"
    assert [question.id for question in client.questions(status="open")] == ["q2"]
    assert client.agent("survey").open_questions == 1


def test_an_unknown_question_is_answered_with_the_open_ones(world: World, client: Client) -> None:
    ask(world, "q1")
    error = refused(client.answer, "q9", "x")
    assert error.status == 404
    assert "q1" in error.detail


def test_answers_survive_the_gateway(tmp_path: Path) -> None:
    with gateway_world(tmp_path) as world:
        world.add_agent()
        ask(world, "q1")
        world.line.refusals[f"{AGENT}/alice-1"] = DeadlineExceeded("router away")
        with world.client() as client:
            client.answer("q1", "yes")
    with gateway_world(tmp_path) as world:
        world.wait_until(lambda: bool(world.line.sent_to(f"{AGENT}/alice-1")))
        assert world.line.sent_to(f"{AGENT}/alice-1")[0].answer == "yes"
        with world.client() as client:
            assert client.questions()[0].answer == "yes"
            assert [m.kind for m in client.conversation(AGENT).messages] == ["question", "answer"]


# --- work ---


def test_the_board_and_the_workers_are_read_from_the_journal(world: World, client: Client) -> None:
    world.add_agent()
    assert client.board("survey").nodes == ()
    worker = world.add_team("Alice")[0]
    world.arrive(arrived(Status(state="busy", step="thinking"), f"{AGENT}/{worker}"))
    board = client.board("survey")
    assert [(node.name, node.status) for node in board.nodes] == [("tables", "pending")]
    assert board.current_stage == 0
    assert client.node("survey", "tables").id == board.nodes[0].id
    assert client.node("survey", board.nodes[0].id).path == f"nodes/{board.nodes[0].folder}"
    assert refused(client.node, "survey", "chairs").status == 404
    row = client.workers("survey")[0]
    assert (row.name, row.address, row.step) == ("Alice", f"{AGENT}/{worker}", "thinking")


def test_files_of_the_run_are_listed_and_read(world: World, client: Client) -> None:
    world.add_agent()
    run = world.home.agent(AGENT).run(RUN).path
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
    assert isinstance(client.workspace("survey", "nodes"), Folder)
    assert isinstance(client.workspace("survey", "_plan.md"), FileContent)


@pytest.mark.parametrize(
    "path", ["../../agent.json", "..%2f..%2fagent.json", "%2e%2e/x", "link", "link/agent.json"]
)
def test_there_is_no_way_out_of_the_run(world: World, client: Client, path: str) -> None:
    world.add_agent()
    run = world.home.agent(AGENT).run(RUN).path
    (run / "link").symlink_to(world.home.agent(AGENT).path)
    answer = client._http.get(f"/agents/survey/workspace/{path}")
    assert answer.status_code in (403, 404)
    assert "created_at" not in answer.text


# --- processes, models, money ---


def test_entities_merge_processes_mailboxes_money_and_what_they_do(
    world: World, client: Client
) -> None:
    world.add_agent()
    worker = world.add_team("Alice")[0]
    world.arrive(arrived(Status(state="busy", step="bash"), f"{AGENT}/{worker}"))
    rows = {row.address: row for row in client.entities()}
    coordinator = rows[COORDINATOR]
    assert (coordinator.name, coordinator.mailbox, coordinator.tokens) == ("survey", 3, 15)
    alice = rows[f"{AGENT}/{worker}"]
    assert (alice.name, alice.state, alice.step) == ("Alice", "busy", "bash")
    assert (alice.doing, alice.doing_since is not None) == ("bash", True)
    assert next(iter(rows)) == "supervisor"


@pytest.mark.parametrize("named", ["Alice", "survey/alice", "{id}", "survey-abc123/{id}"])
def test_an_entity_is_found_by_address_name_or_id(world: World, client: Client, named: str) -> None:
    world.add_agent()
    worker = world.add_team("Alice")[0]
    acted = client.act(named.format(id=worker), "kill")
    assert [row.address for row in acted.entities] == [f"{AGENT}/{worker}"]


def test_acting_on_an_agent_acts_on_all_of_it(world: World, client: Client) -> None:
    world.add_agent()
    world.add_team("Alice", "Bob")
    assert len(client.act("survey", "restart").entities) == 3


def test_what_cannot_be_acted_on_is_said(world: World, client: Client) -> None:
    world.add_agent()
    error = refused(client.act, "nobody", "stop")
    assert (error.status, COORDINATOR in error.detail) == (404, True)
    assert refused(client.act, "supervisor", "stop").status == 409
    assert refused(client.act, "supervisor", "pause").status == 409
    assert client._http.post("/entities/survey/explode").status_code == 422


def test_models_usage_consoles_and_health(world: World, client: Client) -> None:
    world.add_agent()
    assert client.models().default == "script/survey"
    assert client.usage().total.tokens == 15
    assert client.usage(agent="survey").total.tokens == 15
    ticket = client.attach_console()
    assert (ticket.address, bytes.fromhex(ticket.ticket)) == ("console/1", b"\x01\x02")
    assert client.health().agents == 1


def test_without_a_gateway_nothing_is_reachable(tmp_path: Path) -> None:
    with pytest.raises(NotReachable):
        Client.for_home(tmp_path / "nowhere")
    with gateway_world(tmp_path) as world:
        client = world.client()
    with client, pytest.raises(NotReachable):
        client.health()
    with pytest.raises(NotReachable):
        Client.for_home(tmp_path)


def test_what_an_entity_does_is_known_from_its_heartbeat_too(world: World, client: Client) -> None:
    world.add_agent()
    address = f"{AGENT}/coordinator"
    beat = {"step": "busy: bash: make test", "step_since": 42.0}
    world.children[address] = world.children[address].model_copy(update=beat)
    row = next(row for row in client.entities() if row.address == address)
    assert (row.state, row.doing, row.doing_since) == ("busy", "bash: make test", 42.0)

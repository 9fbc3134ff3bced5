"""The HTTP API over a real socket: talk with entities, and their questions."""

from pathlib import Path
from typing import Any

from agiraph.core.models import EntityState
from agiraph.http.client import LATEST, Client
from agiraph.messages.child import ChildFailed, ChildHeartbeat
from agiraph.messages.question import QuestionAnswered
from agiraph.messages.text import TextMessage
from agiraph.storage.journal import Journal
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, GatewayHome, ask, refused, running_gateway
from transport.errors import DeadlineExceeded, Nacked

COORDINATOR = f"{AGENT}/coordinator"


def test_text_goes_to_the_coordinator_unless_a_receiver_is_named(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    worker = gateway_home.add_team("Alice")[0]
    assert client.send("survey", "hello").to == ("coordinator",)
    assert client.send("survey", "to you", to="alice", mode="interrupt").to == ("Alice",)
    sent = gateway_home.runtime.sent_to(COORDINATOR)[0]
    assert (sent.content, sent.from_name, sent.mode) == ("hello", "human", "steer")
    assert gateway_home.runtime.sent_to(f"{AGENT}/{worker}")[0].mode == "interrupt"
    assert [event.type for event in gateway_home.runtime.events()] == [
        "message.sent",
        "message.sent",
    ]


def test_broadcast_reaches_everyone_and_is_one_message(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    gateway_home.add_team("Alice", "Bob")
    assert client.send("survey", "wrap up", to="*").to == ("coordinator", "Alice", "Bob")
    messages = client.conversation("survey").messages
    assert [(m.sender, m.to, m.content) for m in messages] == [("human", "*", "wrap up")]


def test_unknown_receiver_is_refused_with_the_known_ones(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    gateway_home.add_team("Alice")
    error = refused(client.send, "survey", "hello", to="Zoe")
    assert error.status == 404
    assert "Alice" in error.detail
    assert client.conversation("survey").messages == ()


def test_message_refused_by_the_bus_is_an_error(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    gateway_home.runtime.refusals[COORDINATOR] = Nacked("unknown_recipient")
    assert refused(client.send, "survey", "hello").status == 409
    gateway_home.runtime.refusals[COORDINATOR] = Nacked("mailbox_full")
    assert refused(client.send, "survey", "hello").status == 503
    assert client.conversation("survey").messages == ()


def test_a_nudge_reaches_the_coordinator(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    client.nudge("survey", "look at the CSV too")
    assert gateway_home.runtime.sent_to(COORDINATOR)[0].content == "look at the CSV too"
    assert gateway_home.runtime.events()[0].type == "human.nudge"


def test_texts_to_the_human_are_journaled_once_and_paged(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    first = arrived(TextMessage(content="one", from_name="Alice"), f"{AGENT}/alice-1")
    gateway_home.arrive(first)
    gateway_home.arrive(first)
    gateway_home.arrive(arrived(TextMessage(content="two", from_name="x"), COORDINATOR))
    page = client.conversation("survey", limit=1)
    assert [(m.sender, m.content) for m in page.messages] == [("Alice", "one")]
    rest = client.conversation("survey", after=page.next)
    assert [(m.sender, m.content) for m in rest.messages] == [("coordinator", "two")]
    assert [event.type for event in gateway_home.runtime.events()] == ["message.received"] * 2
    assert len(gateway_home.runtime.finished) == 3


def test_no_other_sender_is_shown_as_the_human(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.add_agent()
    gateway_home.arrive(arrived(TextMessage(content="obey", from_name="Human "), f"{AGENT}/eve-1"))
    assert client.conversation("survey").messages[0].sender == f"{AGENT}/eve-1"


def test_given_up_coordinator_causes_a_notice_and_an_event(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    failed = ChildFailed(address=COORDINATOR, incarnation=6, cause="exit 1")
    gateway_home.arrive(arrived(failed, "supervisor"))
    assert client.conversation("survey").messages[0].kind == "notice"
    event = gateway_home.runtime.events()[0]
    assert (event.type, event.data["reason"]) == ("agent.failed", "exit 1")


def test_question_is_answered_once_and_the_answer_is_sent_to_its_asker(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    ask(gateway_home, "q1")
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
    gateway_home.wait_until(lambda: bool(gateway_home.runtime.sent_to(f"{AGENT}/alice-1")))
    sent = next(
        message for message in gateway_home.runtime.sent if message.to == f"{AGENT}/alice-1"
    )
    assert isinstance(sent.body, QuestionAnswered)
    assert sent.body.answer == "PostgreSQL"
    gateway_home.wait_until(lambda: len(gateway_home.runtime.events()) == 2)
    assert [event.type for event in gateway_home.runtime.events()] == [
        "human.question",
        "human.response",
    ]
    again = refused(client.answer, "q1", "SQLite")
    assert again.status == 409
    assert "answered by human at 20" in again.detail
    kinds = [(m.kind, m.content) for m in client.conversation("survey").messages]
    assert kinds == [("question", "Which database?"), ("answer", "PostgreSQL")]


def test_respond_finds_the_only_open_question_and_asks_which_if_there_are_more(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    assert refused(client.respond, "survey", "yes").status == 409
    ask(gateway_home, "q1")
    assert client.respond("survey", "yes").id == "q1"
    ask(gateway_home, "q2")
    ask(gateway_home, "q3")
    error = refused(client.respond, "survey", "yes")
    assert error.status == 409
    assert "q2" in error.detail
    assert "q3" in error.detail
    assert client.respond("survey", "no", question_id="q3").status == "answered"
    assert [question.id for question in client.questions(status="open")] == ["q2"]
    assert client.agent("survey").open_questions == 1


def test_unknown_question_is_refused_with_the_open_ones(
    gateway_home: GatewayHome, client: Client
) -> None:
    ask(gateway_home, "q1")
    error = refused(client.answer, "q9", "x")
    assert error.status == 404
    assert "q1" in error.detail


def test_answers_survive_the_gateway(tmp_path: Path) -> None:
    with running_gateway(tmp_path) as gateway_home:
        gateway_home.add_agent()
        ask(gateway_home, "q1")
        gateway_home.runtime.refusals[f"{AGENT}/alice-1"] = DeadlineExceeded("router away")
        with gateway_home.client() as client:
            client.answer("q1", "yes")
    with running_gateway(tmp_path) as gateway_home:
        gateway_home.wait_until(lambda: bool(gateway_home.runtime.sent_to(f"{AGENT}/alice-1")))
        assert gateway_home.runtime.sent_to(f"{AGENT}/alice-1")[0].answer == "yes"
        with gateway_home.client() as client:
            assert client.questions()[0].answer == "yes"
            assert [m.kind for m in client.conversation(AGENT).messages] == ["question", "answer"]


def test_transcript_of_an_entity_is_paged_both_ways(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = gateway_home.home.agent(gateway_home.add_agent().id)
    gateway_home.add_team("Ada")
    with Journal(home.conversation) as journal:
        journal.append({"kind": "heard", "content": "Begin", "from_name": "human", "ts": 1.0})
        call = {"id": "c1", "name": "bash", "arguments": {"command": "ls"}}
        journal.append({"kind": "said", "text": "Looking", "tool_calls": [call], "ts": 2.0})
        journal.append({"kind": "tool.started", "call_id": "c1", "name": "bash", "ts": 3.0})
        journal.append({"kind": "tool.finished", "call_id": "c1", "name": "bash", "content": "a"})
    with open(home.conversation, "ab") as file:
        file.write(b'{"kind":"sa')
    page = client.transcript(AGENT, limit=2)
    assert [(e.seq, e.kind, e.sender, e.content) for e in page.entries] == [
        (1, "heard", "human", "Begin"),
        (2, "said", "", "Looking"),
    ]
    assert page.entries[1].tool_calls[0].name == "bash"
    assert (page.next, page.previous) == (2, None)
    rest = client.transcript(AGENT, after=2)
    assert ([e.seq for e in rest.entries], rest.next, rest.previous) == ([3, 4], 4, 3)
    last = client.transcript(AGENT, before=LATEST, limit=3)
    assert ([e.seq for e in last.entries], last.previous) == ([2, 3, 4], 2)
    assert [e.seq for e in client.transcript(AGENT, before=2).entries] == [1]
    assert client.transcript(AGENT, after=4).next == 4
    assert client.transcript(AGENT, "Ada").entries == ()
    error = refused(client.transcript, AGENT, "Bob")
    assert (error.status, "Ada" in error.detail) == (404, True)


def test_a_call_is_shown_with_its_input_its_time_and_its_outcome(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = gateway_home.home.agent(gateway_home.add_agent().id)
    calls = [{"id": "", "name": name, "arguments": {"command": f"{name} it"}} for name in "ab"]
    ends = ("x\n[exit code 3]", "y\n[killed by signal 9]")
    with Journal(home.conversation) as journal:
        journal.append({"kind": "said", "tool_calls": calls, "asked_at": 1.0, "ts": 2.5})
        for number, content in enumerate(ends):
            about = {"call_id": f"call-{number}", "name": "bash"}
            journal.append({"kind": "tool.started", **about, "ts": 3.0 + number})
            journal.append({"kind": "heard", "content": "meanwhile", "from_name": "x", "ts": 4.0})
            finished = {"kind": "tool.finished", **about, "content": content, "ts": 3.5 + number}
            journal.append(finished)
    entries = client.transcript(AGENT).entries
    assert (entries[0].started_at, entries[0].seconds) == (1.0, 1.5)
    [started, _, first, _, _, second] = entries[1:]
    assert (started.arguments, started.seconds) == ({"command": "a it"}, None)
    assert (first.arguments, first.seconds, first.exit_code) == ({"command": "a it"}, 0.5, 3)
    assert (second.arguments, second.started_at, second.exit_code) == ({"command": "b it"}, 4.0, -9)
    assert client.transcript(AGENT, after=6, limit=1).entries[0] == second


def test_a_transcript_is_searched_in_texts_and_arguments_page_by_page(
    gateway_home: GatewayHome, client: Client
) -> None:
    home = gateway_home.home.agent(gateway_home.add_agent().id)
    with Journal(home.conversation) as journal:
        for number in range(1, 10):
            text = 'Die Straße "A"' if number % 3 == 0 else "nothing"
            call = {"id": "c", "name": "bash", "arguments": {"command": "ls STRASSE"}}
            calls = [call] if number == 7 else []
            journal.append({"kind": "said", "text": text, "tool_calls": calls, "ts": 1.0})

    def seqs(**asked: Any) -> tuple[list[int], int, int | None]:
        page = client.transcript(AGENT, **asked)
        return [entry.seq for entry in page.entries], page.next, page.previous

    assert seqs(search="STRASSE", limit=1) == ([7], 7, None)
    assert seqs(search="die straße") == ([3, 6, 9], 9, None)
    assert seqs(search="straße", after=3, limit=2) == ([6, 7], 7, 6)
    assert seqs(search="straße", before=LATEST, limit=2) == ([7, 9], 9, 7)
    assert seqs(search='e "a"', before=7) == ([3, 6], 6, None)
    assert seqs(search="absent", after=2) == ([], 2, None)


def test_a_text_may_be_called_content_and_has_one_name_at_a_time(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    assert client._http.post("/agents/survey/send", json={"content": "hello"}).status_code == 200
    assert [body.content for body in gateway_home.runtime.sent_to(COORDINATOR)] == ["hello"]
    both = client._http.post("/agents/survey/send", json={"content": "a", "message": "b"})
    assert (both.status_code, client.conversation("survey").next) == (422, 1)


def test_messages_are_unread_until_the_human_marks_them(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    [alice] = gateway_home.add_team("Alice")
    for text in ("one", "two"):
        gateway_home.arrive(
            arrived(TextMessage(content=text, from_name="Alice"), f"{AGENT}/{alice}")
        )
    gateway_home.arrive(arrived(TextMessage(content="hi", from_name="coordinator"), COORDINATOR))
    client.send("survey", "hello")
    [box] = client.inbox()
    assert (box.unread, box.by_entity) == (3, {"Alice": 2, "coordinator": 1})
    assert (client.agent("survey").unread, client.workers("survey")[0].unread) == (3, 2)
    read = client.mark_read("survey", 1)
    assert (read.read_to, read.by_entity) == (1, {"Alice": 1, "coordinator": 1})
    read = client.mark_read("survey", entity=alice)
    assert (read.read_with, read.by_entity) == ({"Alice": 4}, {"coordinator": 1})
    assert "unknown entity 'Bob'" in refused(client.mark_read, "survey", entity="Bob").detail
    assert client.mark_read("survey").unread == 0
    assert client.inbox()[0].read_to == 4


def test_team_that_waits_only_for_the_human_is_marked(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_agent()
    [alice] = gateway_home.add_team("Alice")
    gateway_home.assign(alice)

    def shown() -> tuple[str, str]:
        return client.agent("survey").status, client.workers("survey")[0].status

    def says(address: str, state: str) -> None:
        gateway_home.arrive(arrived(ChildHeartbeat(doing=EntityState(state=state)), address))

    assert shown() == ("working", "busy")
    ask(gateway_home, sender=f"{AGENT}/{alice}")
    assert shown() == ("waiting_for_human", "waiting_for_human"), "a gateway just started"
    says(f"{AGENT}/{alice}", "busy")
    assert shown() == ("working", "busy"), "it did not wait for the answer"
    says(f"{AGENT}/{alice}", "waiting_for_human")
    says(COORDINATOR, "busy")
    assert shown() == ("working", "waiting_for_human")
    says(COORDINATOR, "waiting_for_nodes")
    assert shown() == ("waiting_for_human", "waiting_for_human")
    assert [one.name for one in client.agents(status=["waiting_for_human"])] == ["survey"]
    says(f"{AGENT}/{alice}", "paused")
    assert shown() == ("working", "paused")

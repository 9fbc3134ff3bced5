"""The human in the loop: asked, answered, told; over the API and by command.

Each way also with kill -9 of the gateway while the question is open. Besides: questions that are
not waited for, several at once, and what an asker hears that nobody answered.
"""

import json

import pytest

from agiraph.http.client import Client
from agiraph.http.errors import ApiError, NotReachable
from tests.fakes.model_server import Reply, SeenRequest, call, calls
from tests.integration.house import until
from tests.scenarios.house import JsonObject
from tests.scenarios.place import Place, one_worker
from tests.scenarios.test_approvals import patiently
from tests.scenarios.test_steering import await_end, begin, of

ASK = call(
    "ask_human",
    question="PostgreSQL or SQLite?",
    options=["PostgreSQL", "SQLite"],
    urgent=True,
)
DONE = call("publish", summary="done")


@pytest.fixture
def place(rough_place: Place) -> Place:
    """Return a place that bears being killed."""
    return rough_place


def chosen(seen: SeenRequest) -> Reply:
    """Write the answer down and publish."""
    return calls(call("write_file", path="db.md", content=seen.result("ask_human")), DONE)


def open_question(place: Place, agent: str) -> JsonObject:
    """Wait for the one open question of an agent."""
    [question] = until(lambda: place.json("questions", agent), "a question")
    return dict(question)


def test_a_question_is_answered_over_the_api_though_the_gateway_is_killed(place: Place) -> None:
    place.plays(coordinator=one_worker("ada"), ada=[ASK, chosen])
    agent = begin(place, "api")
    question = open_question(place, "api")
    shown = {key: question[key] for key in ("from", "options", "urgency", "kind", "status")}
    assert shown == {
        "from": "ada",
        "options": ["PostgreSQL", "SQLite"],
        "urgency": "urgent",
        "kind": "question",
        "status": "open",
    }
    place.kill("human")

    def answer() -> bool:
        try:
            with Client.for_home(place.home) as client:
                answered = client.answer(question["id"], "PostgreSQL", by="Eve", via="web")
                assert (answered.answered_by, answered.answered_via) == ("Eve", "web")
        except NotReachable:
            return False
        return True

    until(answer, "the gateway takes the answer")
    with Client.for_home(place.home) as client, pytest.raises(ApiError) as second:
        client.answer(question["id"], "SQLite")
    assert second.value.status == 409
    assert "answered by Eve at " in str(second.value)
    assert "over web: PostgreSQL" in str(second.value)
    await_end(agent)
    assert place.server.wait_for(of("ada", 1)).result("ask_human").startswith("PostgreSQL")
    [note] = agent.glob("runs/*/nodes/*/published/db.md")
    assert "PostgreSQL" in note.read_text()
    place.command("stop", "api")


def test_a_question_is_answered_by_command_though_the_gateway_is_killed(place: Place) -> None:
    name = "cli"
    place.plays(coordinator=one_worker("bob"), bob=[ASK, chosen])
    agent = begin(place, name)
    question = open_question(place, name)
    listed = place.command("questions", name)
    assert "PostgreSQL or SQLite?" in listed.stdout
    place.kill("human")
    patiently(place, "respond", question["id"], "2")
    late = place.command("respond", question["id"], "PostgreSQL")
    assert late.returncode == 1
    assert "was answered by human" in late.stderr
    assert "over cli: SQLite" in late.stderr
    await_end(agent)
    assert place.server.wait_for(of("bob", 1)).result("ask_human") == "SQLite"
    [answered] = place.json("questions", name, "--all")
    assert (answered["answered_via"], answered["status"]) == ("cli", "answered")
    events = [json.loads(line) for line in (agent / "events.jsonl").read_text().splitlines()]
    told = [e["type"] for e in events if e["type"].startswith("human.")]
    assert told == ["human.question", "human.response"]
    place.command("stop", name)


def test_several_questions_are_open_at_once_and_not_waited_for(place: Place) -> None:
    first = call("ask_human", question="Which colour?", wait=False)
    second = call("ask_human", question="Which size?", wait=False)

    def both(seen: SeenRequest) -> Reply:
        is_known = "Which colour?) blue" in seen.said and "Which size?) small" in seen.said
        return DONE if is_known else call("wait")

    place.plays(coordinator=one_worker("cleo"), cleo=[calls(first, second), *[both] * 5])
    agent = begin(place, "several")
    asked = until(
        lambda: found if len(found := place.json("questions", "several")) == 2 else None, "both"
    )
    ids = {question["question"]: question["id"] for question in asked}
    place.json("respond", ids["Which size?"], "small")
    place.kill(f"worker {place.worker(agent, 'cleo').name}")
    place.json("respond", ids["Which colour?"], "blue")
    await_end(agent)
    said = place.server.seen_by("cleo")[-1].said
    assert said.count("Which size?) small") == 1
    place.command("stop", "several")


def test_who_waits_for_an_answer_hears_what_else_the_human_says_and_outlives_a_kill(
    place: Place,
) -> None:
    name = "otherwise"

    def told(seen: SeenRequest) -> Reply:
        assert "has not answered this yet" in seen.result("ask_human")
        assert seen.said.count("[Message from human]: What is it for?") == 1
        return call("send_message", to="human", content="For the shop.")

    def settled(seen: SeenRequest) -> Reply:
        return DONE if "Which database?) SQLite" in seen.said else call("wait")

    ask = call("ask_human", question="Which database?")
    place.plays(coordinator=one_worker("fay"), fay=[ask, told, *[settled] * 4])
    agent = begin(place, name)
    question = open_question(place, name)
    place.command("send", name, "What is it for?", "--to", "fay")
    place.server.wait_for(of("fay", 1))
    place.kill(f"worker {place.worker(agent, 'fay').name}")
    place.json("respond", question["id"], "SQLite")
    await_end(agent)
    assert place.server.seen_by("fay")[-1].said.count("Which database?) SQLite") == 1
    place.command("stop", name)


def test_nobody_having_answered_is_not_a_refusal_and_the_default_holds(place: Place) -> None:
    ask = call("ask_human", question="Which?", deadline="1s", default="SQLite")
    place.plays(coordinator=one_worker("dan"), dan=[ask, chosen])
    agent = begin(place, "unanswered")
    until(lambda: place.json("questions", "unanswered", "--all"), "it was asked")
    place.kill("human")
    seen = place.server.wait_for(of("dan", 1))
    result = seen.result("ask_human")
    assert result.startswith("[unanswered] Nobody answered by ")
    assert result.endswith("that is no refusal. Your default holds: SQLite")
    await_end(agent)
    [expired] = json.loads(patiently(place, "questions", "unanswered", "--all", "--json"))
    assert (expired["status"], expired["answer"]) == ("expired", None)
    late = place.command("respond", expired["id"], "PostgreSQL")
    assert late.returncode == 1
    assert "unanswered: the default holds, SQLite" in late.stderr
    place.command("stop", "unanswered")


def test_a_coordinator_with_an_open_question_may_rest_until_it_is_answered(place: Place) -> None:
    ask = call("ask_human", question="Which year?", wait=False)
    leads = [ask, Reply(text="I wait for your answer."), call("finish", summary="2026 it is")]
    place.plays(coordinator=leads)
    agent = begin(place, "resting")
    question = open_question(place, "resting")
    place.json("respond", question["id"], "2026")
    record = await_end(agent)
    assert record["result"] == "2026 it is"
    assert len(place.server.seen_by("coordinator")) == 3
    place.command("stop", "resting")


def test_a_question_of_a_worker_that_left_the_team_is_withdrawn(place: Place) -> None:
    leads = [
        *one_worker("eve")[:2],
        call("ask_human", question="Enough?"),
        call("finish", summary="x"),
    ]
    place.plays(coordinator=leads, eve=[call("ask_human", question="Which?")])
    agent = begin(place, "orphan")
    asked = until(
        lambda: found if len(found := place.json("questions", "orphan")) == 2 else None, "both"
    )
    ids = {question["question"]: question["id"] for question in asked}
    place.json("respond", ids["Enough?"], "yes")
    await_end(agent)
    until(lambda: place.json("questions", "orphan") == [], "no question is left")
    found = {q["question"]: q["status"] for q in place.json("questions", "orphan", "--all")}
    assert found == {"Which?": "withdrawn", "Enough?": "answered"}
    place.command("stop", "orphan")

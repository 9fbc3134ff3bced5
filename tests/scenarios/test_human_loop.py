"""The human in the loop: questions, answers and messages; over the API and by command.

Each way also with kill -9 of the gateway while the question is open. Besides: questions without a
wait, several at once, and the text for an asker without an answer.
"""

import json
from pathlib import Path

import pytest

from agiraph.http.client import Client
from agiraph.http.errors import ApiError, NotReachable
from tests.fakes.model_server import Reply, SeenRequest, calls
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.steps import DONE, WAIT, ask, finish, one_worker, tell, write

CHOICE = ["PostgreSQL", "SQLite"]
ASK = ask("PostgreSQL or SQLite?", options=CHOICE, urgent=True)


@pytest.fixture
def live_home(killable_home: LiveHome) -> LiveHome:
    """Return a running home whose processes may be killed."""
    return killable_home


def chosen(seen: SeenRequest) -> Reply:
    """Write the answer down and publish."""
    return calls(write("db.md", seen.result("ask_human")), DONE)


def both_questions(live_home: LiveHome, agent: str) -> dict[str, str]:
    """Wait until two questions of an agent are open; return their ids by their texts."""
    until(lambda: len(live_home.json("questions", agent)) == 2, "both")
    return {question["question"]: question["id"] for question in live_home.json("questions", agent)}


def refused(live_home: LiveHome, *args: str) -> str:
    """Return the reason why a command fails."""
    done = live_home.command(*args)
    assert done.returncode == 1
    return done.stderr


def test_question_is_answered_over_the_api_despite_a_gateway_kill(
    live_home: LiveHome,
) -> None:
    live_home.plays(coordinator=one_worker("ada"), ada=[ASK, chosen])
    agent = live_home.begin("api")
    question = live_home.await_question("api")
    facts = {"from": "ada", "options": CHOICE, "urgency": "urgent", "kind": "question"}
    assert question | facts | {"status": "open"} == question
    live_home.kill("human")

    def answer() -> bool:
        try:
            with Client.for_home(live_home.home) as client:
                answered = client.answer(question["id"], "PostgreSQL", by="Eve", via="web")
                assert (answered.answered_by, answered.answered_via) == ("Eve", "web")
        except NotReachable:
            return False
        return True

    until(answer, "the gateway takes the answer")
    with Client.for_home(live_home.home) as client, pytest.raises(ApiError) as second:
        client.answer(question["id"], "SQLite")
    assert second.value.status == 409
    assert "answered by Eve at " in str(second.value)
    assert "over web: PostgreSQL" in str(second.value)
    live_home.await_end(agent)
    assert live_home.await_step("ada", 1).result("ask_human").startswith("PostgreSQL")
    [note] = agent.glob("runs/*/nodes/*/published/db.md")
    assert "PostgreSQL" in note.read_text()
    with Client.for_home(live_home.home) as client:
        waits = [(one.entity, one.wait) for one in client.timeline("api").critical if one.wait]
    assert waits == [("ada", "human")]


def test_question_is_answered_by_command_despite_a_gateway_kill(
    live_home: LiveHome,
) -> None:
    live_home.plays(coordinator=one_worker("bob"), bob=[ASK, chosen])
    agent = live_home.begin("cli")
    question = live_home.await_question("cli")
    assert "PostgreSQL or SQLite?" in live_home.command("questions", "cli").stdout
    live_home.kill("human")
    live_home.retried("respond", question["id"], "2")
    late = refused(live_home, "respond", question["id"], "PostgreSQL")
    assert "was answered by human" in late
    assert "over cli: SQLite" in late
    live_home.await_end(agent)
    assert live_home.await_step("bob", 1).result("ask_human") == "SQLite"
    [answered] = live_home.json("questions", "cli", "--all")
    assert (answered["answered_via"], answered["status"]) == ("cli", "answered")
    types = [event["type"] for event in whole_lines(agent / "events.jsonl")]
    asked = ["human.question", "human.response"]
    assert [kind for kind in types if kind.startswith("human.")] == asked


def test_several_questions_are_open_without_waiting(live_home: LiveHome) -> None:
    def both(seen: SeenRequest) -> Reply:
        is_known = "Which colour?) blue" in seen.said and "Which size?) small" in seen.said
        return DONE if is_known else WAIT

    two = calls(ask("Which colour?", wait=False), ask("Which size?", wait=False))
    live_home.plays(coordinator=one_worker("cleo"), cleo=[two, *[both] * 5])
    agent = live_home.begin("several")
    ids = both_questions(live_home, "several")
    live_home.json("respond", ids["Which size?"], "small")
    live_home.kill(f"worker {live_home.worker(agent, 'cleo').name}")
    live_home.json("respond", ids["Which colour?"], "blue")
    live_home.await_end(agent)
    assert live_home.server.seen_by("cleo")[-1].said.count("Which size?) small") == 1


def test_waiting_asker_receives_other_messages_and_survives_a_kill(
    live_home: LiveHome,
) -> None:
    def told(seen: SeenRequest) -> Reply:
        assert "has not answered this yet" in seen.result("ask_human")
        assert seen.said.count("[Message from human]: What is it for?") == 1
        return tell("human", "For the shop.")

    def settled(seen: SeenRequest) -> Reply:
        return DONE if "Which database?) SQLite" in seen.said else WAIT

    live_home.plays(
        coordinator=one_worker("fay"), fay=[ask("Which database?"), told, *[settled] * 4]
    )
    agent = live_home.begin("otherwise")
    question = live_home.await_question("otherwise")
    live_home.command("send", "otherwise", "What is it for?", "--to", "fay")
    live_home.await_step("fay", 1)
    live_home.kill(f"worker {live_home.worker(agent, 'fay').name}")
    live_home.json("respond", question["id"], "SQLite")
    live_home.await_end(agent)
    assert live_home.server.seen_by("fay")[-1].said.count("Which database?) SQLite") == 1


def test_missing_answer_is_not_a_refusal_and_the_default_counts(live_home: LiveHome) -> None:
    question = ask("Which?", deadline="1s", default="SQLite")
    live_home.plays(coordinator=one_worker("dan"), dan=[question, chosen])
    agent = live_home.begin("unanswered")
    until(lambda: live_home.json("questions", "unanswered", "--all"), "it was asked")
    live_home.kill("human")
    result = live_home.await_step("dan", 1).result("ask_human")
    assert result.startswith("[unanswered] The human has not answered by ")
    assert result.endswith("This is not a refusal. Your default applies: SQLite")
    live_home.await_end(agent)
    [expired] = json.loads(live_home.retried("questions", "unanswered", "--all", "--json"))
    assert (expired["status"], expired["answer"]) == ("expired", None)
    late = refused(live_home, "respond", expired["id"], "PostgreSQL")
    assert "unanswered: the default applies, SQLite" in late


def test_coordinator_with_an_open_question_may_rest_until_the_answer(
    live_home: LiveHome,
) -> None:
    rests = Reply(text="I wait for your answer.")
    live_home.plays(coordinator=[ask("Which year?", wait=False), rests, finish("2026 it is")])
    agent = live_home.begin("resting")
    live_home.json("respond", live_home.await_question("resting")["id"], "2026")
    assert live_home.await_end(agent)["result"] == "2026 it is"
    assert len(live_home.server.seen_by("coordinator")) == 3


def test_messaged_coordinator_keeps_waiting_and_its_question_ends_with_the_run(
    live_home: LiveHome,
) -> None:
    says = Reply(text="It is for the shop.")
    live_home.plays(coordinator=[ask("Which database?"), says, finish("Done without it.")])
    agent = live_home.begin("spoken")
    question = live_home.await_question("spoken")
    live_home.json("send", "spoken", "What is it for?")
    live_home.await_step("coordinator", 1)
    until(
        lambda: live_home.json("show", "spoken")["status"] == "waiting_for_human", "it waits again"
    )
    until(lambda: "waits for you" in _activity(live_home, agent), "ps says so")
    live_home.json("send", "spoken", "Finish without it.")
    live_home.await_end(agent)
    late = refused(live_home, "respond", question["id"], "SQLite")
    assert "was withdrawn: its run has ended" in late
    assert live_home.json("questions", "spoken") == []
    until(lambda: "waits for you" not in _activity(live_home, agent), "it waits for nothing")
    assert len(live_home.server.seen_by("coordinator")) == 3


def _activity(live_home: LiveHome, agent: Path) -> str:
    """Return the activity of an agent's coordinator in `agiraph ps`."""
    rows = {row["address"]: row for row in live_home.json("ps")}
    return str(rows[f"{agent.name}/coordinator"]["doing"])


def test_question_of_a_departed_worker_is_withdrawn(live_home: LiveHome) -> None:
    leads = [*one_worker("eve")[:2], ask("Enough?"), finish("x")]
    live_home.plays(coordinator=leads, eve=[ask("Which?")])
    agent = live_home.begin("orphan")
    live_home.json("respond", both_questions(live_home, "orphan")["Enough?"], "yes")
    live_home.await_end(agent)
    until(lambda: live_home.json("questions", "orphan") == [], "no question is left")
    found = {q["question"]: q["status"] for q in live_home.json("questions", "orphan", "--all")}
    assert found == {"Which?": "withdrawn", "Enough?": "answered"}

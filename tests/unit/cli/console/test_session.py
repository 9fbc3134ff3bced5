"""A plain console session over an API in memory."""

import asyncio
import os
from typing import Any

import pytest

from agiraph.http.api import EventView
from cli.console.client_thread import ClientThread
from cli.console.line_reader import LineReader
from cli.console.session import PlainConsole
from tests.unit.cli.fakes import AGENT, FakeClient, event, question
from tests.unit.cli.test_spending import DOLLARS


def said(seq: int, content: str, **data: Any) -> EventView:
    text = {"from": "ada", "to": "human", "content": content, "id": f"m{seq}"} | data
    return event("message.sent", seq, entity="ada", **text)


def converse(
    typed: str, client: FakeClient | None = None, linger: float = 0.0
) -> tuple[str, FakeClient]:
    """Type lines into a session and return its output."""
    client = client or FakeClient()
    fake: Any = client
    shown: list[str] = []

    async def session() -> None:
        reader, writer = os.pipe()
        os.write(writer, typed.encode())
        os.close(writer)
        thread, keyboard = ClientThread(lambda: fake), LineReader(reader)
        keyboard.start()
        try:
            async with asyncio.timeout(20):
                await PlainConsole(client.record, thread, keyboard, shown.append).run(linger)
        finally:
            keyboard.close()
            thread.close()
            os.close(reader)

    asyncio.run(session())
    return "\n".join(shown), client


def test_line_is_sent_to_the_coordinator_or_to_the_named_receiver() -> None:
    shown, client = converse("How far are you?\n@alice one\n@* two\n/interrupt stop\n/quit\n")
    assert client.did == [
        ("send", "How far are you?", "coordinator", "steer"),
        ("send", "one", "alice", "steer"),
        ("send", "two", "*", "steer"),
        ("send", "stop", "coordinator", "interrupt"),
    ]
    assert "→ coordinator" in shown
    assert "→ alice" in shown


def test_refused_line_is_reported_and_the_session_continues() -> None:
    shown, client = converse("@bob hi\n/dance\nstill here\n/quit\n")
    assert "unknown receiver 'bob'" in shown
    assert "unknown command '/dance'" in shown
    assert [act[1] for act in client.did] == ["still here"]


def test_budget_command_shows_and_sets_limits() -> None:
    client = FakeClient(kept=[DOLLARS])
    shown, _ = converse("/budget\n/budget 2k tokens a day\n/budget 5k\n/quit\n", client)
    assert shown.count("survey: $5.00 in all ($1.25 spent, $3.75 left)") == 2
    assert "write /budget 5" in shown
    terms = {"usd": None, "tokens": 2000, "period": "day"}
    assert client.did == [("budgets", AGENT), ("set_budget", AGENT, terms)]


def test_the_only_open_question_is_answered_by_a_plain_line() -> None:
    shown, client = converse("Use SQLite\n/quit\n", FakeClient(asked=[question()]))
    assert "alice asks: Which database?" in shown
    assert client.did == [("answer", "q-1", "Use SQLite")]


def test_one_of_two_questions_is_answered_by_its_id() -> None:
    asked = [question(), question("q-2", question="Which colour?")]
    shown, client = converse("/answer q-2 blue\n/answer q-9 no\n/quit\n", FakeClient(asked=asked))
    assert client.did == [("answer", "q-2", "blue")]
    assert "unknown question 'q-9'" in shown


def test_the_board_and_the_help_are_shown() -> None:
    shown, _ = converse("/board\n/help\n/questions\n/quit\n")
    assert "tables" in shown
    assert "/answer ID text" in shown
    assert "no open questions" in shown


def test_recent_messages_are_shown_first_and_sanitized() -> None:
    client = FakeClient(said=[said(n, f"word {n}\x1b[2J") for n in range(1, 10)])
    shown, _ = converse("/quit\n", client)
    assert "ada: word 9" in shown
    assert "word 1" not in shown
    assert "\x1b" not in shown


def test_ended_pipe_waits_for_the_next_message_of_the_team() -> None:
    client = FakeClient(on_send=lambda: reply())

    def reply() -> None:
        client.script.append(said(1, "half way"))

    shown, _ = converse("How far?\n", client, linger=15)
    assert shown.endswith("ada: half way")


def test_equal_texts_are_shown_once_each() -> None:
    answer = event("model.answered", 1, entity="ada", text="Go on.", message="m2")
    client = FakeClient(said=[answer, said(2, "Go on."), said(3, "Go on.", to="bob")])

    def reply() -> None:
        received = said(2, "Go on.").model_copy(
            update={"type": "message.received", "entity": "human"}
        )
        client.script += [received, said(4, "Go on.")]

    client.on_send = reply
    shown, _ = converse("How far?\n", client, linger=15)
    assert shown.count("ada: Go on.") == 2
    assert "bob" not in shown


def test_empty_pipe_ends_at_once() -> None:
    shown, client = converse("", linger=15)
    assert client.did == []
    assert "Survey this folder" in shown


@pytest.mark.parametrize("says", [True, False], ids=["said", "unsaid"])
def test_reason_of_a_failed_run_is_shown_once(says: bool) -> None:
    client = FakeClient(on_send=lambda: fail())

    def fail() -> None:
        if says:
            client.script.append(said(1, "no model can be asked"))
        client.end("failed")()
        client.record = client.record.model_copy(update={"reason": "no model can be asked"})
        client.script.append(event("agent.failed"))

    shown, _ = converse("Go\n", client, linger=15)
    assert shown.count("no model can be asked") == 1
    assert "[failed]" in shown or says


def test_end_of_the_agent_is_shown() -> None:
    client = FakeClient(on_send=lambda: finish())

    def finish() -> None:
        client.end("completed", "all is well")()
        client.script.append(event("agent.completed"))

    shown, _ = converse("Finish\n", client, linger=15)
    assert "[completed] all is well" in shown

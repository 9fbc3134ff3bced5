"""A console session over a line and an API that live in memory."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

from agiraph.http.api import ConversationMessageView
from agiraph.messages import TextMessage
from cli.console.client_thread import ClientThread
from cli.console.line_reader import LineReader
from cli.console.session import ConsoleSession
from tests.unit.cli.fakes import AGENT, FakeClient, event, question
from tests.unit.cli.test_budget import DOLLARS
from transport.errors import Nacked


class FakeLine:
    """A bus that keeps what was sent and delivers nothing."""

    def __init__(self, on_send: Callable[[], None] = lambda: None) -> None:
        self.sent: list[tuple[str, TextMessage]] = []
        self.on_send = on_send

    async def send(self, to: str, body: TextMessage) -> bytes:
        if "nack" in body.content:
            raise Nacked("mailbox_full", "coordinator has 10000 messages")
        self.sent.append((to, body))
        self.on_send()
        return b"id"

    async def receive(self) -> Any:
        await asyncio.Event().wait()

    def done(self, received: Any) -> None:
        pass


def said(
    seq: int, content: str, sender: str = "ada", kind: str = "text"
) -> ConversationMessageView:
    return ConversationMessageView(
        seq=seq, id=f"m{seq}", agent=AGENT, sender=sender, to="human", content=content, ts=1.0,
        kind=kind,
    )  # fmt: skip


def converse(
    typed: str, client: FakeClient | None = None, line: FakeLine | None = None, linger: float = 0.0
) -> tuple[str, FakeLine, FakeClient]:
    """Type lines into a session and return what it showed."""
    client, line = client or FakeClient(), line or FakeLine()
    fake: Any = client
    shown: list[str] = []

    async def session() -> None:
        reader, writer = os.pipe()
        os.write(writer, typed.encode())
        os.close(writer)
        desk, keyboard = ClientThread(lambda: fake), LineReader(reader)
        keyboard.start()
        try:
            await asyncio.wait_for(
                ConsoleSession(client.record, desk, line, keyboard, shown.append).run(linger), 20
            )
        finally:
            keyboard.close()
            desk.close()
            os.close(reader)

    asyncio.run(session())
    return "\n".join(shown), line, client


def test_a_line_goes_over_the_bus_to_the_coordinator_as_the_human() -> None:
    shown, line, _ = converse("How far are you?\n/quit\n")
    [(to, body)] = line.sent
    assert to == f"{AGENT}/coordinator"
    assert (body.content, body.from_name) == ("How far are you?", "human")
    assert "→ coordinator" in shown


def test_a_worker_is_named_by_name_or_id_and_a_star_is_everyone() -> None:
    _, line, _ = converse("@alice one\n@alice-aaaaaa two\n@Alice three\n@* four\n/quit\n")
    worker = f"{AGENT}/alice-aaaaaa"
    assert [to for to, _ in line.sent] == [*[worker] * 3, f"{AGENT}/coordinator", worker]


def test_a_wrong_name_is_told_with_the_known_ones_and_the_session_goes_on() -> None:
    shown, line, _ = converse("@bob hi\n/dance\nnack this\nstill here\n/quit\n")
    assert "unknown recipient 'bob' (known: *, alice, coordinator)" in shown
    assert "unknown command '/dance'" in shown
    assert "mailbox_full" in shown
    assert [body.content for _, body in line.sent] == ["still here"]


def test_what_may_be_spent_is_shown_and_set() -> None:
    client = FakeClient(kept=[DOLLARS])
    shown, line, _ = converse("/budget\n/budget 2k tokens a day\n/budget 5\n/quit\n", client)
    assert shown.count("survey: $5.00 in all ($1.25 spent, $3.75 left)") == 2
    assert "write /budget $5" in shown
    terms = {"usd": None, "tokens": 2000, "period": "day"}
    assert client.did == [("budgets", AGENT), ("set_budget", AGENT, terms)]
    assert line.sent == []


def test_the_only_open_question_is_answered_by_a_plain_line() -> None:
    shown, line, client = converse("Use SQLite\n/quit\n", FakeClient(asked=[question()]))
    assert "alice asks: Which database?" in shown
    assert client.did == [("answer", "q-1", "Use SQLite")]
    assert line.sent == []


def test_one_of_two_questions_is_answered_by_its_id() -> None:
    asked = [question(), question("q-2", question="Which colour?")]
    shown, _, client = converse(
        "/answer q-2 blue\n/answer q-9 no\n/quit\n", FakeClient(asked=asked)
    )
    assert client.did == [("answer", "q-2", "blue")]
    assert "unknown question 'q-9'" in shown


def test_the_board_and_the_help_are_shown() -> None:
    shown, _, _ = converse("/board\n/help\n/questions\n/quit\n")
    assert "tables" in shown
    assert "/answer ID text" in shown
    assert "no open question" in shown


def test_what_was_said_lately_is_shown_first_and_safely() -> None:
    client = FakeClient(thread=[said(n, f"word {n}\x1b[2J") for n in range(1, 10)])
    shown, _, _ = converse("/quit\n", client)
    assert "ada: word 9" in shown
    assert "word 1" not in shown
    assert "\x1b" not in shown


def test_a_pipe_that_ends_waits_for_the_teams_next_word() -> None:
    client = FakeClient()

    def reply() -> None:
        client.thread.append(said(1, "half way"))
        client.script.append(event("message.sent"))

    shown, _, _ = converse("How far?\n", client, FakeLine(on_send=reply), linger=15)
    assert shown.endswith("ada: half way")


def test_a_pipe_that_says_nothing_is_over_at_once() -> None:
    shown, line, _ = converse("", linger=15)
    assert line.sent == []
    assert "Survey this folder" in shown


def test_the_end_of_the_agent_is_told() -> None:
    client = FakeClient()

    def finish() -> None:
        client.end("completed", "all is well")()
        client.script.append(event("agent.completed"))

    shown, _, _ = converse("Finish\n", client, FakeLine(on_send=finish), linger=15)
    assert "[completed] all is well" in shown

"""The gateway's stores behave like lists in memory, also when closed and opened at any time."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.ids import AgentId, QuestionId
from agiraph.core.models import ProposedAction, Question
from agiraph.http.api import ApiError, ConversationMessageView
from agiraph.inbox.database import GatewayDatabase
from agiraph.inbox.dead_letters import DeadLetterStore, letter_id
from agiraph.inbox.message_history import MessageHistory
from agiraph.inbox.question_records import QuestionRecord, first_record, record_after
from agiraph.inbox.questions import QuestionStore, asks_the_same
from agiraph.messages.control import DeadLetter
from agiraph.messages.question import AskQuestion

NAMES = ("Ada", "bob", "*")
AGENTS = ("shop-1", "mill-2")
ACTION = ProposedAction(tool="bash", subject="ls", rule="r", remember="ls")
small = st.integers(0, 5)
spoken = st.tuples(small, st.sampled_from(AGENTS), st.booleans(), st.sampled_from(NAMES))
said = st.lists(st.one_of(spoken, st.none()), max_size=30)


def conversation(id: int, agent: str, is_mine: bool, name: str, seq: int) -> dict[str, Any]:
    """Return a message; every third id is a notice, and only the person writes to all."""
    sender, to = ("human", name) if is_mine else (name.replace("*", "Zoe"), "human")
    kind = "text" if id % 3 else "notice"
    told = {"id": f"{id}{agent[0]}", "agent": agent, "sender": sender, "to": to, "kind": kind}
    return told | {"content": f"{seq}", "ts": float(seq)}


def is_with(message: ConversationMessageView, entity: str | None) -> bool:
    both = (message.sender.casefold(), message.to.casefold())
    return entity is None or entity.casefold() in both or message.to == "*"


def unanswered(mine: list[ConversationMessageView], name: str) -> ConversationMessageView | None:
    for message in reversed([one for one in mine if one.kind == "text"]):
        if (message.sender, message.to.casefold()) == ("human", name.casefold()):
            return None
        if message.sender.casefold() == name.casefold():
            return message
    return None


@given(said=said, agent=st.sampled_from(AGENTS), after=small, before=small, limit=st.integers(1, 4))
def test_message_history_equals_a_list(
    said: list[tuple[int, str, bool, str] | None],
    agent: str,
    after: int,
    before: int,
    limit: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("book") / "book.db"
    thread, model = MessageHistory(GatewayDatabase(path)), list[ConversationMessageView]()
    for one in said:
        if one is None:
            thread.database.close()
            thread = MessageHistory(GatewayDatabase(path))
            continue
        told = conversation(*one, len(model) + 1)
        is_new = told["id"] not in [message.id for message in model]
        assert thread.add(**told) == is_new
        if is_new:
            model.append(ConversationMessageView.model_validate(told | {"seq": len(model) + 1}))
    assert (thread.count, list(thread.since(after))) == (len(model), model[after:])
    mine = [message for message in model if message.agent == agent]
    for entity in (None, "ada", "BOB", "zoe", "*", "human"):
        known = [message for message in mine if is_with(message, entity)]
        behind = [message for message in known if message.seq > after]
        first = thread.page(agent, after, limit, entity=entity)
        assert list(first.messages) == behind[:limit]
        back = thread.page(agent, after, limit, before=before, entity=entity)
        assert list(back.messages) == [one for one in behind if one.seq < before][-limit:]
        for page in (first, back):
            begin = page.messages[0].seq if page.messages else 0
            has_more = any(one.seq < begin for one in known)
            assert page.previous == (begin if has_more else None)
            assert page.next == (page.messages[-1].seq if page.messages else after)
    for name in ("Ada", "@Bob"):
        assert thread.unanswered(agent, name) == unanswered(mine, name.lstrip("@"))
    for message in mine:
        assert thread.find(agent, message.id) == message
    thread.database.close()


@dataclass
class Model:
    """All questions in memory, each the fold of its records."""

    cases: dict[str, QuestionRecord] = field(default_factory=dict)

    def ask(self, body: AskQuestion, asker: str, ask: str, ts: float) -> None:
        if any(ask in case.asks for case in self.cases.values()):
            return
        for case in self.cases.values():
            shares = case.is_shared and body.shared and case.question.agent == body.agent
            is_its = case.asked_as == body.question_id and (case.asker == asker or shares)
            if is_its and asks_the_same(case.question, body):
                other = {"asker": asker} if asker != case.asker else {}
                self.put({"type": "asked_again", "id": case.question.id, "ask": ask} | other)
                return
        id, number = body.question_id, 2
        while id in self.cases:
            id, number = QuestionId(f"{body.question_id}-{number}"), number + 1
        question = Question(
            id=id,
            agent=body.agent,
            from_id=body.from_name,
            question=body.question,
            asked_at=ts,
            channel=body.channel,
            deadline_at=None if body.deadline_seconds is None else ts + body.deadline_seconds,
            kind=body.kind,
            about=body.about,
        )
        asked = {"type": "asked", "question": question.model_dump(mode="json"), "asker": asker}
        self.put(asked | {"asked_as": body.question_id, "ask": ask, "shared": body.shared})

    def put(self, record: dict[str, Any]) -> None:
        id = record["question"]["id"] if record["type"] == "asked" else record["id"]
        known = self.cases.get(id)
        self.cases[id] = first_record(record) if known is None else record_after(known, record)

    def answer(self, id: str, text: str, at: float, cause: str) -> None:
        case = self.cases.get(id)
        if case is None or case.answered_as == cause:
            return
        self.expire(at)
        if self.cases[id].question.status == "open":
            told = {"type": "answered", "id": id, "answer": text, "by": "Eve", "at": at}
            self.put(told | {"via": "", "cause": cause})

    def expire(self, now: float) -> None:
        for q in [case.question for case in self.cases.values()]:
            if q.status == "open" and q.deadline_at is not None and q.deadline_at <= now:
                self.put({"type": "expired", "id": q.id, "at": now})


def asked(which: int) -> AskQuestion:
    """Return one of six questions: of two ids, with and without a deadline, one an approval."""
    return AskQuestion(
        question_id=QuestionId(f"q{which % 3}"),
        agent=AgentId("shop-1"),
        from_name="Ada",
        question=f"Which of {which // 3}?",
        deadline_seconds=5.0 if which % 2 else None,
        shared=which == 2,
        kind="approval" if which == 4 else "question",
        about=ACTION if which == 4 else None,
    )


WHAT = ("ask", "answer", "expire", "withdraw", "deliver", "revoke", "open again")
steps = st.lists(st.tuples(st.sampled_from(WHAT), small, small, small), max_size=40)


@given(steps=steps)
def test_questions_equal_the_fold_of_their_records(
    steps: list[tuple[str, int, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("book") / "book.db"
    book, model, now = QuestionStore(GatewayDatabase(path)), Model(), 0.0
    for what, which, other, wait in steps:
        now += wait
        body, asker, cause = asked(which), f"shop-1/{other % 2}", f"c{other}"
        id = list(model.cases)[which % len(model.cases)] if model.cases else "none"
        if what == "ask":
            ask = f"{which}.{other}.{wait}"
            book.ask(body, asker, ask, now)
            model.ask(body, asker, ask, now)
        elif what == "answer":
            text = "allow always" if which % 2 else "no"
            with suppress(ApiError):
                book.answer(id, text, "Eve", now, cause=cause)
            model.answer(id, text, now, cause)
        elif what == "expire":
            book.expire(now)
            model.expire(now)
        elif what == "withdraw":
            gone = book.withdraw_own(asker, body.question_id, "gone", now)
            if gone is not None:
                record = {"type": "withdrawn", "id": gone.id, "silent": False, "reason": "gone"}
                model.put(record | {"at": now})
        elif what == "deliver":
            for case in book.undelivered()[:1]:
                book.delivered(case.question.id, case.undelivered[0])
                told = {"type": "delivered", "id": case.question.id}
                model.put(told | {"ask": case.undelivered[0]})
        elif what == "revoke" and id in model.cases and model.cases[id].was_given:
            book.revoke(id, now)
            model.put({"type": "revoked", "id": id, "at": now})
        elif what == "open again":
            book.database.close()
            book = QuestionStore(GatewayDatabase(path))
        compare(book, model)
    book.database.close()
    book = QuestionStore(GatewayDatabase(path))
    compare(book, model)
    book.database.close()


def compare(book: QuestionStore, model: Model) -> None:
    """Check that the store and the model return the same for every question."""
    known = list(model.cases.values())
    assert book.listed(99) == [case.question for case in known]
    assert book.open() == [case.question for case in known if case.question.status == "open"]
    held = {case.question.id: case for case in book.live()}
    assert held == {case.question.id: case for case in known if case.is_live}
    given = {case.question.id for case in known if case.was_given}
    assert {case.question.id for case in book.given("q")} == given
    for case in known:
        assert book.get(case.question.id) == case.question
        for ask in case.asks:
            assert book.asked_by(ask) == case.question
    for number in range(6):
        by_cause = {case.question.id for case in known if case.answered_as == f"c{number}"}
        found = book.answered_as(f"c{number}")
        assert found in by_cause if by_cause else found is None


def letter(number: int) -> DeadLetter:
    return DeadLetter(
        letter=bytes([number] * 16),
        to="shop/ada",
        sender="shop/bob",
        type="text",
        incarnation=1,
        reply_to=None,
        sent_at=1.0,
        flags=0,
        cause="it died",
        content=b"x",
    )


deeds = st.sampled_from(["keep", "send back", "open again"])


@given(steps=st.lists(st.tuples(deeds, small), max_size=25))
def test_dead_letters_exclude_returned_letters(
    steps: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("book") / "book.db"
    book, model, sent = DeadLetterStore(GatewayDatabase(path)), dict[str, float](), dict[str, str]()
    for at, (what, number) in enumerate(steps):
        id = letter_id(letter(number))
        if what == "keep":
            assert book.add(letter(number), float(at)) == (id not in model)
            model.setdefault(id, float(at))
        elif what == "send back" and id in model:
            assert book.sent_back(id, f"c{at}").at == model.pop(id)
            sent[f"c{at}"] = id
        elif what == "open again":
            book.database.close()
            book = DeadLetterStore(GatewayDatabase(path))
        assert {view.id: view.at for view in book.views()} == model
        assert [view.id for view in book.views()] == list(model)
        for cause, known in sent.items():
            view = book.sent_by(cause)
            assert view is not None
            assert view.id == known
    book.database.close()

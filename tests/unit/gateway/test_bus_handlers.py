"""The bus loop of the human: effects once, in any crash between journal and done."""

import asyncio
from pathlib import Path
from typing import cast

import pytest
from pydantic import ValidationError

from actors.gateway.bus import GatewayBus
from actors.gateway.bus_handlers import attend, handle
from actors.gateway.knowledge_requests import KnowledgeRequestHandler
from actors.runtime.runtime import Runtime
from agiraph.api.gateway import Gateway
from agiraph.api.routes.questions import answer
from agiraph.board.commands import SpawnWorker
from agiraph.core.ids import AgentId, QuestionId
from agiraph.core.models import BUDGET, ProposedAction
from agiraph.core.specs import WorkerSpec
from agiraph.http.errors import ApiError
from agiraph.inbox.approval_grants import standing
from agiraph.knowledge.database import KnowledgeDatabase
from agiraph.messages.child import ChildFailed
from agiraph.messages.control import Ok
from agiraph.messages.model import RaiseBudget
from agiraph.messages.question import AskQuestion
from agiraph.messages.text import TextMessage
from tests.fakes.accounts import begin_run
from tests.fakes.fake_runtime import FakeRuntime, arrived
from tests.unit.files.files_home import FilesHome
from transport.endpoint import Received
from transport.errors import LinkDown

ASK = AskQuestion(
    question_id=QuestionId("q1"), agent=AgentId("a-1"), from_name="Ada", question="Which?"
)
MESSAGES = [
    arrived(TextMessage(content="hello", from_name="Ada"), "a-1/ada-1"),
    arrived(ASK, "a-1/ada-1"),
    arrived(ChildFailed(address="a-1/coordinator", incarnation=1, cause="x"), "supervisor"),
]


class SimulatedKill(BaseException):
    """Raised in place of a kill -9."""


def opened(fake: FakeRuntime) -> Gateway:
    runtime = cast(Runtime, fake)
    return Gateway(GatewayBus(runtime), KnowledgeDatabase(runtime.home.knowledge))


@pytest.fixture
def fake(tmp_path: Path) -> FakeRuntime:
    return FakeRuntime(tmp_path)


def kinds(gateway: Gateway) -> list[tuple[str, str]]:
    return [(m.kind, m.content) for m in gateway.messages.page("a-1", 0, 99).messages]


@pytest.mark.parametrize("received", MESSAGES, ids=lambda received: received.header.type)
@pytest.mark.parametrize("crash_at", ["messages", "reporter", "done"])
async def test_message_with_interrupted_handling_has_its_effect_once(
    fake: FakeRuntime, received: Received, crash_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*args: object, **named: object) -> None:
        raise SimulatedKill

    gateway = opened(fake)
    if crash_at == "messages":
        monkeypatch.setattr(gateway.messages, "add", crash)
    elif crash_at == "reporter":
        monkeypatch.setattr(gateway.reporter, "report", crash)
    else:
        monkeypatch.setattr(fake, "done", crash)
    fake.put(received)
    runtime = cast(Runtime, fake)
    with pytest.raises(SimulatedKill):
        await attend(gateway, runtime, KnowledgeRequestHandler(gateway, runtime))
    assert fake.finished == []
    gateway.close()
    monkeypatch.undo()

    again = opened(fake)
    await handle(again, received)
    await handle(again, received)
    assert len(kinds(again)) == 1
    assert len(fake.events()) == 1
    assert len(again.questions.listed(99)) == (1 if received.body == ASK else 0)
    again.close()


async def test_an_event_that_the_router_cannot_take_now_follows_in_the_background(
    fake: FakeRuntime,
) -> None:
    fake.refusals["recorder"] = LinkDown("away")
    gateway = opened(fake)
    await handle(gateway, MESSAGES[0])
    assert [event.type for event in fake.reported] == ["message.received"]
    gateway.close()


async def test_a_message_without_a_handler_is_logged_and_done(fake: FakeRuntime) -> None:
    gateway = opened(fake)
    await handle(gateway, arrived(Ok(), "a-1/ada-1"))
    assert "control.ok" in fake.log.lines[0]
    gateway.close()


RULES = """rules:
  - {name: commands, tool: bash, action: ask, pattern: "git*", remember: "git push*"}
  - {name: files, tool: write_file, action: ask, reason: they are mine}
  - {name: all, tool: bash, action: ask, pattern: "*"}
  - {name: leads, tool: bash, action: ask, pattern: "git*", remember: "git push*", worker: lead}
  - {name: limit, tool: spend, over_usd: 5, action: ask}
"""
COMMAND = {"tool": "bash", "subject": "git push x", "rule": "commands", "remember": "git push*"}
FILE = {"tool": "write_file", "subject": "a.md", "rule": "files", "remember": "a.md"}
SPENT = {"tool": "spend", "subject": "limit", "rule": "limit", "remember": "limit", "shortage": "2"}


def wants(about: dict[str, str] | None) -> Received:
    more: dict[str, object] = {
        "kind": "approval",
        "about": about,
        "options": ("allow always", "deny"),
    }
    more |= {"question": "May I read README.md?", "default": "allow always", "shared": True}
    return arrived(AskQuestion.model_validate(ASK.model_dump() | more), "a-1/ada-1")


@pytest.mark.parametrize(
    ("about", "read"),
    [
        (COMMAND, "May I run this command? git push x ['allow always': every bash of git push*]"),
        (FILE, "May I call write_file? a.md (they are mine)"
               " ['allow always': every write_file of this]"),
        (SPENT, "May I continue spending? More than 10 US dollars are spent, the limit is 5"
                " ['allow always': more than the limit 'limit']"),
    ],
)  # fmt: skip
async def test_question_describes_the_approved_action_and_not_the_text_of_the_sender(
    fake: FakeRuntime, about: dict[str, str], read: str
) -> None:
    (fake.home.path / "approvals.yaml").write_text(RULES)
    gateway = opened(fake)
    await handle(gateway, wants(about))
    [question] = gateway.questions.open()
    assert question.question == read
    assert question.options == ("allow once", "allow always", "deny")
    assert question.default is None
    assert gateway.questions.live()[0].is_shared == (about is SPENT)
    gateway.close()


@pytest.mark.parametrize(
    "about",
    [
        None,
        COMMAND | {"tool": "*", "rule": "", "remember": "*"},
        COMMAND | {"remember": "*"},
        COMMAND | {"rule": "files"},
        COMMAND | {"rule": "none"},
        COMMAND | {"subject": "rm -r x"},
        COMMAND | {"subject": " ", "rule": "all", "remember": " "},
        COMMAND | {"subject": "", "rule": "all", "remember": ""},
        COMMAND | {"rule": "leads"},
        FILE | {"tool": "*"},
        FILE | {"remember": "*"},
        SPENT | {"subject": "other"},
        SPENT | {"rule": "files", "subject": "files", "remember": "files"},
    ],
)
async def test_an_approval_that_no_rule_asks_for_is_withdrawn_and_allows_nothing(
    fake: FakeRuntime, about: dict[str, str] | None
) -> None:
    (fake.home.path / "approvals.yaml").write_text(RULES)
    gateway = opened(fake)
    await handle(gateway, wants(about))
    [question] = gateway.questions.listed(9)
    assert (question.status, question.about) == ("withdrawn", None)
    with pytest.raises(ApiError, match="was withdrawn"):
        answer(gateway, question.id, "allow always")
    assert standing(gateway.questions) == []
    delivering = asyncio.create_task(gateway.answer_delivery.run())
    await fake.until(lambda: bool(fake.sent_to("a-1/ada-1")))
    delivering.cancel()
    gateway.close()


async def test_plain_question_has_no_proposed_action(fake: FakeRuntime) -> None:
    gateway = opened(fake)
    about = ProposedAction(tool="bash", subject="ls")
    await handle(gateway, arrived(ASK.model_copy(update={"about": about}), "a-1/ada-1"))
    assert gateway.questions.open()[0].about is None
    gateway.close()


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        ("Out of budget: $4.00 of the $5.00 of the node x are spent. How", "$4.00 of the $5.00"),
        ("May I read README.md?", "all usd"),
    ],
)
async def test_question_names_the_budget_that_an_answer_raises(
    fake: FakeRuntime, asked: str, read: str
) -> None:
    begin_run(fake.home.path, "run-1", "a-1")
    gateway = opened(fake)
    about = ProposedAction(tool=BUDGET, subject="tokens", shortage="agent:a-1::usd:0")
    options = ("raise by $5.00", "yes, read it", "raise by 9 tokens", "raise by $6.00")
    more = {"kind": BUDGET, "about": about, "question": asked, "options": options}
    await handle(gateway, arrived(ASK.model_copy(update=more), "a-1/ada-1"))
    [question] = gateway.questions.open()
    whole = f"Out of budget: {read} of the agent a-1 are spent. How much more may be spent?"
    assert question.question == whole
    assert question.options == ("raise by $5.00", "raise by $6.00", "stop here")
    assert question.about is not None
    assert question.about.subject == "usd"
    gateway.close()


@pytest.mark.parametrize("id", ["<script>", "", "q 1", "../q", "Q-1", "q-" + "1" * 64, "q-1\n"])
def test_the_id_of_a_question_has_the_form_of_an_id(id: str) -> None:
    with pytest.raises(ValidationError, match="question_id"):
        AskQuestion.model_validate(ASK.model_dump() | {"question_id": id})


async def test_only_the_gateway_raises_a_budget_and_only_for_the_asking_agent(
    fake: FakeRuntime,
) -> None:
    begin_run(fake.home.path, "run-1", "a-1")
    begin_run(fake.home.path, "run-2", "b-2")
    fake.answers[RaiseBudget] = lambda body: Ok()

    def wanted(id: str, run: str) -> AskQuestion:
        about = ProposedAction(tool=BUDGET, subject="usd", shortage=f"run:{run}::usd:0")
        return ASK.model_copy(update={"question_id": id, "kind": BUDGET, "about": about})

    async def scene(gateway: Gateway) -> None:
        for id, run in (("q-own", "run-1"), ("q-others", "run-2"), ("q-none", "../run-1")):
            await handle(gateway, arrived(wanted(id, run), "a-1/ada-1"))
        assert [question.id for question in gateway.questions.listed(99)] == ["q-own"]
        gateway.questions.answer("q-own", "raise by $5.00", "human", 2000.0)
        delivering = asyncio.create_task(gateway.answer_delivery.run())
        gateway.answer_delivery.notify()
        await fake.until(lambda: bool(fake.sent_to("a-1/ada-1")))
        delivering.cancel()

    await scene(opened(fake))
    [(to, order)] = [(to, body) for to, body in fake.asked if isinstance(body, RaiseBudget)]
    assert (to, order.usd, order.cause) == ("broker", 5.0, "q-own")
    assert (order.budget.scope, order.budget.key) == ("run", "run-1")


@pytest.mark.parametrize(
    ("worker", "sender", "status"),
    [
        ("lead", "ada", "withdrawn"),
        ("Ada", "ada", "open"),
        ("r*", "ada", "open"),
        ("readers", "bob", "withdrawn"),
        ("coordinator", "coordinator", "open"),
        ("ada", "coordinator", "withdrawn"),
        ("ada", "made-up-1", "withdrawn"),
        ("*", "made-up-1", "open"),
    ],
)
async def test_a_rule_about_a_worker_asks_for_approvals_of_this_worker_alone(
    tmp_path: Path, worker: str, sender: str, status: str
) -> None:
    files_home = FilesHome(tmp_path)
    files_home.board.execute(SpawnWorker("w-zoe", WorkerSpec(name="zoe", role="readers")), 2.0)
    files_home.ids = {one.name: one.id for one in files_home.board.board.workers.values()}
    fake = FakeRuntime(files_home.home.path)
    rule = f"{{name: git, tool: bash, action: ask, pattern: 'git*', worker: '{worker}'}}"
    (fake.home.path / "approvals.yaml").write_text(f"rules: [{rule}]")
    gateway = opened(fake)
    name = "zoe" if worker == "r*" else sender
    address = (
        files_home.address(name) if name in files_home.ids else f"{files_home.record.id}/{sender}"
    )
    about = {"tool": "bash", "subject": "git push", "rule": "git", "remember": "git push"}
    asked = cast(AskQuestion, wants(about).body).model_copy(update={"agent": files_home.record.id})
    await handle(gateway, arrived(asked, address))
    [question] = gateway.questions.listed(9)
    assert question.status == status
    gateway.close()

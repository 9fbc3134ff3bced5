"""A source that plays news to a console and records its requests, and example data."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from agiraph.core.ids import WorkerId
from agiraph.core.models import DeliveryMode, Event
from agiraph.core.turns import Usage
from agiraph.http.api import (
    ApiError,
    EntityAct,
    EntityView,
    EventView,
    FileContentView,
    FileEntryView,
    FolderView,
    QuestionView,
    SteeredEntityView,
    SteeredView,
    ThreadPageView,
    UsageView,
    WorkerView,
)
from agiraph.readmodel.thread import Thread
from cli.console.commands import BudgetCommand
from cli.console.ui.app import ConsoleApp
from cli.console.ui.source import ConsoleSource
from cli.console.ui.state import Channel, ConsoleState
from tests.unit.cli.fakes import AGENT, summary
from tests.unit.cli.fakes import question as a_question

NOW = 1_700_000_000.0


News = Callable[[ConsoleState], None]


class FakeSource(ConsoleSource):
    """Applies the contents of `news`; records requests in `did`."""

    def __init__(self, *news: News) -> None:
        self.state = ConsoleState(summary())
        self.news: list[News] = list(news)
        self.did: list[tuple[Any, ...]] = []
        self.files: dict[str, FolderView | FileContentView] = {"": folder("nodes/", "_plan.md")}
        self.answer_with: ApiError | None = None
        self.past: list[News] = []
        self.is_closed = False

    def start(self) -> None:
        pass

    async def close(self) -> None:
        self.is_closed = True

    def apply_entries(self) -> None:
        news, self.news = self.news, []
        for one in news:
            one(self.state)

    async def say(self, to: str, text: str, mode: DeliveryMode) -> None:
        self.did.append(("say", to, text, mode))

    async def answer(self, question: str, text: str) -> QuestionView:
        if self.answer_with is not None:
            raise self.answer_with
        self.did.append(("answer", question, text))
        return a_question(question, status="answered", answer=text)

    async def steer(self, entity: str, act: EntityAct) -> SteeredView:
        self.did.append((act, entity))
        return SteeredView(act=act, entities=(SteeredEntityView(address=entity, state="done"),))

    async def handle_budget(self, command: BudgetCommand) -> list[str]:
        self.did.append(("budget", command))
        return ["survey: $5.00 in all", "survey, run r: $1.00 in all"]

    async def read_older(self) -> None:
        past, self.past = self.past, []
        for one in past:
            one(self.state)

    async def open_file(self, path: str) -> FolderView | FileContentView:
        if path not in self.files:
            raise ApiError(404, f"no file '{path}'")
        return self.files[path]


def folder(*names: str) -> FolderView:
    """Return a folder with these entries; a name that ends with a slash is a folder's."""
    entries = [
        FileEntryView(
            path=name.rstrip("/"),
            name=name.rstrip("/"),
            kind="folder" if name.endswith("/") else "file",
            size=1234,
        )
        for name in names
    ]
    return FolderView(path="", entries=tuple(entries))


def happened(type: str, seq: int, entity: str = "ada", key: str = "", **data: Any) -> EventView:
    return EventView.of(
        Event(
            type=type,
            agent_id=AGENT,
            ts=NOW + seq,
            seq=seq,
            entity=entity,
            data=data,
            key=key and f"a:{type}:{key}",
        )
    )


def tool(seq: int, command: str, entity: str = "ada") -> tuple[EventView, EventView]:
    """Return a call of bash and its end."""
    key = f"call-{seq}"
    return (
        happened("tool.called", seq, entity, key, tool="bash", arguments={"command": command}),
        happened("tool.result", seq + 1, entity, key, tool="bash", preview=f"did {command}"),
    )


def message(seq: int, content: str, sender: str = "ada", to: str = "coordinator") -> EventView:
    text = {"from": sender, "to": to, "content": content, "id": f"m{seq}"}
    return happened("message.sent", seq, sender, **text)


def row(name: str, state: str = "busy", **facts: Any) -> EntityView:
    is_lead = name == "coordinator"
    inner = name if is_lead else f"{name}-aaaaaa"
    kind = "coordinator" if is_lead else "worker"
    shown = "survey" if is_lead else name
    return EntityView(address=f"{AGENT}/{inner}", kind=kind, name=shown, state=state, **facts)


def team(*names: str) -> News:
    """Say how a coordinator and these workers are."""
    rows = (row("coordinator", "idle"), *(row(name) for name in names))
    return lambda state: state.set_status(summary(), rows)


def members(*busy: str, **others: str) -> News:
    """Set the workers of the run, and the status of others."""
    found = [
        WorkerView(id=WorkerId(f"{name}-aaaaaa"), name=name, type="autonomous", role="",
                   status=status, address=f"{AGENT}/{name}-aaaaaa")
        for name, status in (dict.fromkeys(busy, "busy") | others).items()
    ]  # fmt: skip
    return lambda state: state.set_workers(found)


def spent(tokens: int, cost: float) -> News:
    """Set the spending of the run."""
    total = Usage(input_tokens=tokens, cost_usd=cost)
    return lambda state: state.set_usage(UsageView(by_entity={}, total=total))


def events(*happened: EventView, is_older: bool = False) -> News:
    entries = tuple(Thread().add_all(happened))
    if is_older:
        page = ThreadPageView(entries=entries, next=0)
        return lambda state: state.add_page(page)
    return lambda state: state.add_entries(entries)


def asked(*questions: QuestionView) -> News:
    return lambda state: state.set_questions(questions)


def streamed(text: str) -> News:
    return lambda state: state.stream("coordinator", "c", text)


def away(channel: Channel, is_away: bool) -> News:
    return lambda state: state.set_away(channel, is_away=is_away)


@asynccontextmanager
async def console(
    source: FakeSource, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ConsoleApp, "Pilot[Any]", FakeSource]]:
    """Show a console of this size for as long as the block runs."""
    app = ConsoleApp(source, source.state)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, source)
        yield app, pilot, source
    assert source.is_closed


async def settle(pilot: "Pilot[Any]", source: FakeSource) -> None:
    """Wait until all news has been taken and drawn."""
    while source.news:
        await pilot.pause(0.02)
    await pilot.pause()
    await pilot.pause()


def screen_of(app: ConsoleApp) -> str:
    """Return the text on the screen."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()
    return "\n".join(strip.text[:width] for strip in lines[:height])

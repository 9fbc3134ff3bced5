"""The screen of `top`, driven by keys."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from agiraph.core.turns import Usage
from agiraph.http.api import (
    ApiError,
    EntityAct,
    EntityView,
    NotReachable,
    SteeredEntityView,
    SteeredView,
)
from cli.console.ui.source import TopSource
from cli.console.ui.top_app import TopApp
from tests.unit.cli.console.ui.fakes import row
from tests.unit.cli.fakes import AGENT

ADA = f"{AGENT}/ada-aaaaaa"
BROKER = EntityView(address="broker", kind="broker", name="broker", state="ready", cpu=50.0)


class FakeTopSource(TopSource):
    def __init__(self) -> None:
        self.listed = [BROKER, row("coordinator", "idle"), row("ada", cpu=7.0, tokens=1234)]
        self.did: list[tuple[Any, ...]] = []
        self.is_away = self.is_broker_away = False
        self.looks: asyncio.Queue[None] = asyncio.Queue()
        self.is_closed = False

    async def rows(self) -> list[EntityView]:
        self.looks.put_nowait(None)
        if self.is_away:
            raise NotReachable("gone")
        return self.listed

    async def spent(self, agent: str | None) -> Usage:
        if self.is_broker_away:
            raise ApiError(503, "the broker is away")
        return Usage(input_tokens=124_000 if agent else 466_000, cost_usd=0.35)

    async def steer(self, address: str, act: EntityAct) -> SteeredView:
        self.did.append((act, address))
        return SteeredView(act=act, entities=(SteeredEntityView(address=address, state="pausing"),))

    async def interrupt(self, address: str, text: str) -> None:
        self.did.append(("interrupt", address, text))

    def close(self) -> None:
        self.is_closed = True


@asynccontextmanager
async def top(
    size: tuple[int, int] = (80, 24), every_seconds: float = 60
) -> AsyncIterator[tuple[TopApp, "Pilot[Any]", FakeTopSource]]:
    """Show `top` for as long as the block runs.

    After each key the pilot waits until the process is idle: who looks all the time never is.
    """
    feed = FakeTopSource()
    app = TopApp(feed, every_seconds=every_seconds, sort="cpu")
    async with app.run_test(size=size) as pilot:
        await looked(pilot, app)
        yield app, pilot, feed
    assert feed.is_closed


async def looked(pilot: "Pilot[Any]", app: TopApp) -> None:
    """Refresh and draw."""
    await app._refresh()
    await pilot.pause()


def screen_of(app: TopApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def test_every_entity_is_listed_with_the_busiest_first() -> None:
    async with top() as (app, pilot, _feed):
        shown = screen_of(app)
        assert "3 entities" in shown
        assert shown.index("broker") < shown.index("survey/ada")
        assert all(word in shown for word in ("CPU▼", "MEM", "MAIL", "AGE", "TOKENS", "COST"))
        await pilot.press("right", "right", "right", "right")
        assert "TOKENS▼" in screen_of(app)
        assert screen_of(app).index("survey/ada") < screen_of(app).index("broker")
        await pilot.press("1", "v")
        assert "ENTITY▼" in screen_of(app)


async def test_view_is_refreshed_repeatedly() -> None:
    async with top(every_seconds=0.01) as (_app, _pilot, feed):
        async with asyncio.timeout(20):
            for _ in range(5):
                await feed.looks.get()


async def test_marked_entity_is_steered_and_a_stop_is_confirmed() -> None:
    async with top() as (app, pilot, feed):
        await pilot.press("down")
        assert app.marked == ADA
        await pilot.press("p")
        await looked(pilot, app)
        assert "survey/ada: pausing" in screen_of(app)
        await pilot.press("k")
        await pilot.pause()
        assert "Kill the process of survey/ada" in screen_of(app)
        await pilot.press("n", "s", "y")
        await looked(pilot, app)
        await pilot.press("i")
        await pilot.pause()
        await pilot.press(*"stop it", "enter")
        await looked(pilot, app)
        assert feed.did == [("pause", ADA), ("stop", ADA), ("interrupt", ADA, "stop it")]


async def test_an_entity_of_an_agent_is_opened_and_a_service_is_not() -> None:
    async with top() as (app, pilot, _feed):
        await pilot.press("enter")
        await pilot.pause()
        assert "has no conversation" in screen_of(app)
        await pilot.press("i")
        assert "only coordinators and workers" in screen_of(app)
        await pilot.press("down", "enter")
    assert app.return_value == ADA


async def test_mark_follows_its_entity_and_a_lost_gateway_is_shown() -> None:
    async with top(size=(120, 30)) as (app, pilot, feed):
        await pilot.press("down")
        feed.listed = [BROKER, row("ada", cpu=99.0), row("coordinator", "idle")]
        await looked(pilot, app)
        assert app.marked == ADA
        feed.is_away = True
        await looked(pilot, app)
        assert "reconnecting" in screen_of(app)
        assert "survey/ada" in screen_of(app)
        feed.is_away = False
        await looked(pilot, app)
        assert "reconnecting" not in screen_of(app)


async def test_totals_include_entities_without_a_process() -> None:
    async with top() as (app, pilot, feed):
        assert "466k tokens $0.35" in screen_of(app)
        feed.listed, feed.is_broker_away = [BROKER], True
        await looked(pilot, app)
        assert "466k tokens $0.35" in screen_of(app)
        assert "reconnecting" not in screen_of(app)


def test_rows_keep_their_order_until_another_sort_is_requested() -> None:
    assert TopApp(FakeTopSource()).sort_by == "entity"

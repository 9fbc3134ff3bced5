"""The web's actor on a bus in this process: calls, cancellations, askers that go, and its rest."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from actors.router.topology import TOPOLOGY
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Parking, Runtime
from actors.tools.web.web import WebActor
from agiraph.core.config import Config, load_config
from agiraph.core.errors import Refused
from agiraph.core.ids import SUPERVISOR, WEB
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.child import ChildReady
from agiraph.messages.control import Ok
from agiraph.messages.tool import CallTool, CancelTool, ToolResult
from agiraph.tools.web.pages import PageText
from agiraph.tools.web.services import SearchHit
from transport.codec import Codec
from transport.endpoint import Endpoint
from transport.testing.loopback import LoopbackRouter

CODEC = Codec(MESSAGES)
ADA = "shop-1/ada-1"
PAGE = PageText("https://x.example/", "T", "0123456789" * 100)


class StubPages:
    """Pages that answer at once, or wait to be let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.asked: list[str] = []
        self.dropped = asyncio.Event()
        self.fault: Exception | None = None

    async def page(self, url: str) -> PageText:
        self.asked.append(url)
        self.begun.set()
        if self.fault is not None:
            raise self.fault
        if "slow" in url:
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.dropped.set()
                raise
        return PAGE


class StubSearch:
    """A search that finds one thing."""

    name = "brave"

    async def hits(self, query: str) -> list[SearchHit]:
        return [SearchHit(query, "https://x.example/", "s")]


@dataclass
class Office:
    """A web actor at work, and what it works with."""

    router: LoopbackRouter
    pages: StubPages
    serving: "asyncio.Task[None]"

    async def join(self, address: str = ADA, incarnation: int = 1) -> Endpoint:
        endpoint = self.router.endpoint(address, incarnation, codec=CODEC)
        await endpoint.start()
        return endpoint


@asynccontextmanager
async def board_service(folder: Path, config: Config) -> AsyncIterator[Office]:
    router, pages = LoopbackRouter(topology=TOPOLOGY), StubPages()
    endpoint = router.endpoint(WEB, codec=CODEC)
    await endpoint.start()
    launch = ActorLaunch(
        WEB, "web", 1, b"", "loopback://", folder, {}, config.model_dump(mode="json")
    )
    runtime = Runtime(launch, config, endpoint)
    runtime.start_background()
    actor = WebActor(runtime, pages, StubSearch())  # type: ignore[arg-type]
    serving = asyncio.create_task(actor.serve())
    try:
        yield Office(router, pages, serving)
    finally:
        serving.cancel()
        await asyncio.wait([serving])
        runtime.cancel_background()
        endpoint.abort()


def play(
    folder: Path, scene: Callable[[Office], Awaitable[None]], **sections: dict[str, Any]
) -> None:
    async def main() -> None:
        config = load_config()
        for name, values in sections.items():
            section = getattr(config, name).model_copy(update=values)
            config = config.model_copy(update={name: section})
        async with board_service(folder, config) as place, asyncio.timeout(20):
            await scene(place)

    asyncio.run(main())


async def ask(asker: Endpoint, tool: str, id: bytes | None = None, **arguments: Any) -> ToolResult:
    got = await asker.ask(WEB, CallTool(tool=tool, arguments=arguments), id=id)
    assert isinstance(got.body, ToolResult)
    return got.body


def test_both_tools_answer_and_mark_what_they_bring(tmp_path: Path) -> None:
    async def scene(place: Office) -> None:
        ada = await place.join()
        page = await ask(ada, "web_fetch", url="https://x.example/", offset=600)
        assert "Characters 600 to 1000 of 1000" in page.content
        first = await ask(ada, "web_fetch", url="https://x.example/")
        assert first.content.endswith("[to read on: web_fetch with offset 500]")
        found = await ask(ada, "web_search", query="chips")
        assert "**chips**\nhttps://x.example/\ns" in found.content
        assert (page.is_error, found.is_error) == (False, False)

    play(tmp_path, scene, web={"page_limit": 500})


def test_what_cannot_be_done_is_told_as_an_error(tmp_path: Path) -> None:
    async def scene(place: Office) -> None:
        ada = await place.join()
        got = await ask(ada, "web_crawl", url="x")
        assert got == ToolResult(
            content="unknown tool 'web_crawl' (known: web_fetch, web_search)", is_error=True
        )
        assert "url" in (await ask(ada, "web_fetch")).content
        place.pages.fault = Refused("no such page")
        assert (await ask(ada, "web_fetch", url="x")).content == "no such page"
        place.pages.fault = ZeroDivisionError("oops")
        broken = await ask(ada, "web_fetch", url="x")
        assert broken.content == "web_fetch broke (ZeroDivisionError: oops)"
        place.pages.fault = None
        assert not (await ask(ada, "web_fetch", url="x")).is_error

    play(tmp_path, scene)


def test_what_takes_too_long_is_given_up(tmp_path: Path) -> None:
    async def scene(place: Office) -> None:
        got = await ask(await place.join(), "web_fetch", url="slow")
        assert (got.content, got.is_error) == ("web_fetch was not done within 0.05 s", True)
        assert place.pages.dropped.is_set()

    play(tmp_path, scene, web={"timeout_seconds": 0.05})


def test_a_call_that_nobody_wants_any_more_is_dropped(tmp_path: Path) -> None:
    async def scene(place: Office) -> None:
        ada = await place.join()
        id = b"c" * 16
        asking = asyncio.ensure_future(ask(ada, "web_fetch", id, url="slow"))
        await place.pages.begun.wait()
        ada.post(WEB, CancelTool(call=id))
        await place.pages.dropped.wait()
        asking.cancel()

    play(tmp_path, scene)


def test_nobody_cancels_the_call_of_another(tmp_path: Path) -> None:
    async def scene(place: Office) -> None:
        ada, eve = await place.join(), await place.join("shop-1/eve-1")
        id = b"c" * 16
        asking = asyncio.ensure_future(ask(ada, "web_fetch", id, url="slow"))
        await place.pages.begun.wait()
        eve.post(WEB, CancelTool(call=id))
        assert not (await ask(eve, "web_search", query="x")).is_error
        place.pages.go.set()
        assert not (await asking).is_error

    play(tmp_path, scene)


def test_an_asker_that_goes_takes_its_call_along(tmp_path: Path) -> None:
    async def scene(place: Office) -> None:
        ada = await place.join()
        asking = asyncio.ensure_future(ask(ada, "web_fetch", b"c" * 16, url="slow"))
        await place.pages.begun.wait()
        asking.cancel()
        await ada.close()
        await place.pages.dropped.wait()
        again = await place.join(ADA, 2)
        place.pages.go.set()
        assert not (await ask(again, "web_fetch", b"c" * 16, url="slow")).is_error
        assert place.pages.asked == ["slow", "slow"]

    play(tmp_path, scene)


def test_it_rests_when_nobody_asks_and_never_in_the_middle_of_a_call(tmp_path: Path) -> None:
    async def scene(place: Office) -> None:
        supervisor, ada = await place.join(SUPERVISOR), await place.join()
        ready = await supervisor.receive()
        while not isinstance(ready.body, ChildReady):
            ready = await supervisor.receive()
        asking = asyncio.ensure_future(ask(ada, "web_fetch", url="slow"))
        await place.pages.begun.wait()
        await supervisor.reply(ready, Ok())
        done, _ = await asyncio.wait({place.serving}, timeout=0.2)
        assert not done, "it is at work"
        place.pages.go.set()
        assert not (await asking).is_error
        with pytest.raises(Parking):
            await place.serving

    play(tmp_path, scene, run={"park_after_seconds": 0.02})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("web_fetch", {"url": "https://x.example/"}), ("web_search", {"query": "tea"})],
)
def test_nothing_is_asked_of_the_web_while_models_are_offline(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    async def scene(place: Office) -> None:
        ada = await place.join()
        result = await ask(ada, tool, **arguments)
        assert result.is_error
        assert result.content == "models.offline is set: nothing is asked of the web"
        assert place.pages.asked == []
        await ada.close()

    play(tmp_path, scene, models={"offline": True})

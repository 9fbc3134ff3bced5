"""The web's actor on a bus in this process: calls, cancellations, askers that go, and its rest."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from actors.router.main import TOPOLOGY
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Parking, Runtime
from actors.tools.web.web import WebActor
from agiraph.board.commands import AssignNode, CreateNode, SpawnWorker
from agiraph.core.errors import Refused
from agiraph.core.ids import SUPERVISOR, WEB
from agiraph.core.specs import NodeSpec, WorkerSpec
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.child import ChildReady
from agiraph.messages.control import Ok
from agiraph.messages.tool import CallTool, CancelTool, ToolResult
from agiraph.settings.config import load_config
from agiraph.storage.home import Home
from agiraph.tools.web.fetching import Permit
from agiraph.tools.web.pages import PageText
from agiraph.tools.web.services import SearchHit
from tests.unit.files.files_home import FilesHome
from transport.codec import Codec
from transport.endpoint import Endpoint
from transport.testing.loopback import LoopbackRouter

CODEC = Codec(MESSAGES)
ADA, EVE = "shop-1/coordinator", "shop-2/coordinator"
PAGE = PageText("https://x.example/", "T", "0123456789" * 100)


class StubPages:
    """Pages that answer at once, or wait until they are released."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.asked: list[str] = []
        self.dropped = asyncio.Event()
        self.fault: Exception | None = None

    async def page(self, url: str, *, since: float, fresh: bool, permit: Permit) -> PageText:
        self.asked.append(url)
        if "redirect" in url:
            await permit(httpx.URL("https://evil.example/priv"))
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
class RunningWebActor:
    """A web actor at work, with its router and its pages."""

    home: Home
    router: LoopbackRouter
    pages: StubPages
    serving: "asyncio.Task[None]"

    async def join(self, address: str = ADA, incarnation: int = 1) -> Endpoint:
        endpoint = self.router.endpoint(address, incarnation, codec=CODEC)
        await endpoint.start()
        return endpoint


@pytest.fixture
async def web_actor(
    tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[RunningWebActor]:
    """A web actor at work; a parameter holds values over sections of the settings."""
    config = load_config()
    for name, values in getattr(request, "param", {}).items():
        section = getattr(config, name).model_copy(update=values)
        config = config.model_copy(update={name: section})
    router, pages = LoopbackRouter(topology=TOPOLOGY), StubPages()
    endpoint = router.endpoint(WEB, codec=CODEC)
    await endpoint.start()
    settings = config.model_dump(mode="json")
    launch = ActorLaunch(WEB, "web", 1, b"", "loopback://", tmp_path, {}, settings)
    runtime = Runtime(launch, config, endpoint)
    runtime.start_background()
    actor = WebActor(runtime, pages, StubSearch())  # type: ignore[arg-type]
    serving = asyncio.create_task(actor.serve())
    yield RunningWebActor(runtime.home, router, pages, serving)
    serving.cancel()
    await asyncio.wait([serving])
    runtime.cancel_background()
    endpoint.abort()


@pytest.fixture
async def ada(web_actor: RunningWebActor) -> Endpoint:
    return await web_actor.join()


async def soon(event: asyncio.Event) -> None:
    async with asyncio.timeout(20):
        await event.wait()


async def ask(asker: Endpoint, tool: str, id: bytes | None = None, **arguments: Any) -> ToolResult:
    async with asyncio.timeout(20):
        got = await asker.ask(WEB, CallTool(tool=tool, arguments=arguments), id=id)
    assert isinstance(got.body, ToolResult)
    return got.body


@pytest.mark.parametrize("web_actor", [{"web": {"page_limit": 500}}], indirect=True)
async def test_both_web_tools_answer_with_marked_content(
    web_actor: RunningWebActor, ada: Endpoint
) -> None:
    page = await ask(ada, "web_fetch", url="https://x.example/", offset=600)
    assert "Characters 600 to 1000 of 1000" in page.content
    first = await ask(ada, "web_fetch", url="https://x.example/")
    assert first.content.endswith("[to read on: web_fetch with offset 500]")
    found = await ask(ada, "web_search", query="chips")
    assert "**chips**\nhttps://x.example/\ns" in found.content
    assert (page.is_error, found.is_error) == (False, False)


async def test_failed_call_is_returned_as_an_error(
    web_actor: RunningWebActor, ada: Endpoint
) -> None:
    got = await ask(ada, "web_crawl", url="x")
    assert got == ToolResult(
        content="unknown tool 'web_crawl' (known: web_fetch, web_search)", is_error=True
    )
    assert "url" in (await ask(ada, "web_fetch")).content
    web_actor.pages.fault = Refused("no such page")
    assert (await ask(ada, "web_fetch", url="x")).content == "no such page"
    web_actor.pages.fault = ZeroDivisionError("oops")
    broken = await ask(ada, "web_fetch", url="x")
    assert broken.content == "web_fetch broke (ZeroDivisionError)"
    web_actor.pages.fault = None
    assert not (await ask(ada, "web_fetch", url="x")).is_error


@pytest.mark.parametrize("web_actor", [{"web": {"timeout_seconds": 0.05}}], indirect=True)
async def test_slow_call_is_cancelled_at_its_deadline(web_actor: RunningWebActor) -> None:
    got = await ask(await web_actor.join(), "web_fetch", url="slow")
    assert (got.content, got.is_error) == ("web_fetch was not done within 0.05 s", True)
    assert web_actor.pages.dropped.is_set()


async def test_cancelled_web_call_is_dropped(web_actor: RunningWebActor, ada: Endpoint) -> None:
    id = b"c" * 16
    asking = asyncio.ensure_future(ask(ada, "web_fetch", id, url="slow"))
    await soon(web_actor.pages.begun)
    ada.post(WEB, CancelTool(call=id))
    await soon(web_actor.pages.dropped)
    asking.cancel()


async def test_peer_cannot_cancel_the_call_of_another(
    web_actor: RunningWebActor, ada: Endpoint
) -> None:
    eve = await web_actor.join(EVE)
    id = b"c" * 16
    asking = asyncio.ensure_future(ask(ada, "web_fetch", id, url="slow"))
    await soon(web_actor.pages.begun)
    eve.post(WEB, CancelTool(call=id))
    assert not (await ask(eve, "web_search", query="x")).is_error
    web_actor.pages.go.set()
    assert not (await asking).is_error


async def test_call_of_a_departed_caller_is_cancelled(
    web_actor: RunningWebActor, ada: Endpoint
) -> None:
    asking = asyncio.ensure_future(ask(ada, "web_fetch", b"c" * 16, url="slow"))
    await soon(web_actor.pages.begun)
    asking.cancel()
    await ada.close()
    await soon(web_actor.pages.dropped)
    again = await web_actor.join(ADA, 2)
    web_actor.pages.go.set()
    assert not (await ask(again, "web_fetch", b"c" * 16, url="slow")).is_error
    assert web_actor.pages.asked == ["slow", "slow"]


@pytest.mark.parametrize("web_actor", [{"run": {"park_after_seconds": 0.02}}], indirect=True)
async def test_web_actor_parks_without_requests_and_never_during_a_call(
    web_actor: RunningWebActor, ada: Endpoint
) -> None:
    supervisor = await web_actor.join(SUPERVISOR)
    ready = await supervisor.receive()
    while not isinstance(ready.body, ChildReady):
        ready = await supervisor.receive()
    asking = asyncio.ensure_future(ask(ada, "web_fetch", url="slow"))
    await soon(web_actor.pages.begun)
    await supervisor.reply(ready, Ok())
    done, _ = await asyncio.wait({web_actor.serving}, timeout=0.2)
    assert not done, "it is at work"
    web_actor.pages.go.set()
    assert not (await asking).is_error
    with pytest.raises(Parking):
        await web_actor.serving


@pytest.mark.parametrize("web_actor", [{"models": {"offline": True}}], indirect=True)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("web_fetch", {"url": "https://x.example/"}), ("web_search", {"query": "tea"})],
)
async def test_offline_home_sends_no_web_requests(
    web_actor: RunningWebActor, ada: Endpoint, tool: str, arguments: dict[str, Any]
) -> None:
    result = await ask(ada, tool, **arguments)
    assert result.is_error
    assert result.content == "models.offline is set: nothing is asked of the web"
    assert web_actor.pages.asked == []
    await ada.close()


BOTH, NONE = {"web_fetch", "web_search"}, set[str]()


@pytest.mark.parametrize(
    ("worker", "node", "allowed"),
    [
        ({}, {}, BOTH),
        ({"tools": ("web_search", "bash")}, {}, {"web_search"}),
        ({"tools": ("read_file",)}, {}, NONE),
        ({"tools": ()}, {}, NONE),
        ({"tools": ("web_fetch", "web_search")}, {"tools": ("web_search",)}, {"web_search"}),
        ({"tools": ("priv__ask",)}, {}, BOTH),
        ({"mode": "single_inference"}, {"mode": "single_inference"}, NONE),
        (
            {"type": "autonomous", "agent_command": "x"},
            {"type": "autonomous", "agent_command": "x"},
            NONE,
        ),
    ],
)
async def test_worker_may_use_only_its_granted_web_tools(
    web_actor: RunningWebActor, worker: dict[str, Any], node: dict[str, Any], allowed: set[str]
) -> None:
    files_home = FilesHome(web_actor.home.path.parent, home=web_actor.home)
    files_home.board.execute(SpawnWorker("w-zoe", WorkerSpec(name="zoe", **worker)), 2.0)
    files_home.board.execute(CreateNode("c-z", NodeSpec(task="t", name="z", **node)), 2.0)
    files_home.board.execute(AssignNode("z", "zoe"), 3.0)
    [zoe] = [one for one in files_home.board.board.workers.values() if one.name == "zoe"]
    endpoint = await web_actor.join(f"{files_home.record.id}/{zoe.id}")
    arguments: dict[str, dict[str, Any]] = {
        "web_fetch": {"url": "https://x.example/"},
        "web_search": {"query": "tea"},
    }
    for tool, given in arguments.items():
        result = await ask(endpoint, tool, **given)
        assert result.is_error is (tool not in allowed), result
        if tool not in allowed:
            assert result.content == f"the tool '{tool}' is not granted to zoe"
    assert bool(web_actor.pages.asked) is ("web_fetch" in allowed)


async def test_a_worker_that_no_record_names_does_not_use_the_web(
    web_actor: RunningWebActor,
) -> None:
    files_home = FilesHome(web_actor.home.path.parent, home=web_actor.home)
    for address in ("shop-1/ada-1", f"{files_home.record.id}/eve-1", f"{files_home.record.id}/.."):
        assert (await ask(await web_actor.join(address), "web_fetch", url="x")).is_error
    assert web_actor.pages.asked == []


async def test_a_rule_that_denies_a_web_tool_counts_at_the_web_too(
    web_actor: RunningWebActor,
) -> None:
    files_home = FilesHome(web_actor.home.path.parent, home=web_actor.home)
    rule = "{name: house, action: deny, tool: web_fetch, pattern: '*.example*', worker: ada}"
    (web_actor.home.path / "approvals.yaml").write_text(f"rules: [{rule}]")
    ada, bob = [await web_actor.join(files_home.address(name)) for name in ("ada", "bob")]
    denied = await ask(ada, "web_fetch", url="https://x.example/")
    assert denied.is_error
    assert "A rule of this house 'house'" in denied.content
    assert not (await ask(ada, "web_fetch", url="https://x.net/")).is_error
    assert not (await ask(bob, "web_fetch", url="https://x.example/")).is_error


@pytest.mark.parametrize("action", ["deny", "ask"])
async def test_a_page_redirects_to_no_address_about_which_a_rule_decides(
    web_actor: RunningWebActor, ada: Endpoint, action: str
) -> None:
    files_home = FilesHome(web_actor.home.path.parent, home=web_actor.home)
    worker = await web_actor.join(files_home.address("ada"))
    url = "https://x.example/redirect"
    for pattern, is_refused in (("*evil.example*", True), ("https://evil.example:443/%70riv", True),
                                ("*other*", False)):  # fmt: skip
        rule = f"{{name: house, action: {action}, tool: web_fetch, pattern: '{pattern}'}}"
        (web_actor.home.path / "approvals.yaml").write_text(f"rules: [{rule}]")
        for sender in (ada, worker):
            result = await ask(sender, "web_fetch", url=url)
            assert result.is_error is is_refused, (pattern, result)
            assert ("redirects to https://evil.example/priv" in result.content) is is_refused
    rule = f"{{name: house, action: {action}, tool: web_fetch, worker: bob}}"
    (web_actor.home.path / "approvals.yaml").write_text(f"rules: [{rule}]")
    assert not (await ask(worker, "web_fetch", url=url)).is_error

"""Services other than models that redirect, send too much or too slowly: readers have limits."""

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from actors.scaler import kubernetes
from actors.scaler.ends import LauncherFailed
from actors.tools.mcp import transports
from actors.tools.mcp.mcp_calls import list_all
from actors.tools.mcp.session import McpSession, ServerFailed
from agiraph.core.errors import Refused
from agiraph.foreign.http import MOST_LINES
from agiraph.inbox.channels import webhook
from agiraph.inbox.channels.channel import DeliveryFailed, Notification
from agiraph.settings.channels import ChannelConfig
from agiraph.settings.config import load_config
from agiraph.storage.home import Home
from agiraph.tools.web import searching
from agiraph.tools.web.fetching import PageFetcher
from agiraph.tools.web.searching import WebSearch
from tests.fakes.raw_service import RawAnswer, RawService
from tests.unit.notifications.notices import notice
from tests.unit.tools.web.inline import InlineReader

KEY = "k-very-secret-0123456789"
JSON = {"content-type": "application/json"}
MEBIBYTE = 1 << 20
PATIENCE = ContextVar("PATIENCE", default=30.0)
"""The time limit of each reader, in seconds."""


async def search(url: str, folder: Path) -> object:
    values = {"search": "brave", "search_url": f"{url}/search"}
    config = load_config().web.model_copy(update=values)
    asking = WebSearch(config, {"BRAVE_API_KEY": KEY}, InlineReader(), pause_seconds=0)
    try:
        async with asyncio.timeout(
            PATIENCE.get()
        ):  # the web process limits a search by web.timeout_seconds
            return await asking.hits("chips")
    finally:
        await asking.close()


async def deliver(url: str, folder: Path) -> object:
    settings = ChannelConfig(kind="webhook", url=f"{url}/{KEY}", secret=KEY)
    await webhook.deliver(settings, Notification("d1", notice(), None, ""), PATIENCE.get())
    return None


async def list_pods(url: str, folder: Path) -> object:
    home = Home(folder)
    home.system.path.mkdir(parents=True, exist_ok=True)
    home.system.uplink_key.write_text('{"public": "p"}')
    cluster = kubernetes.Cluster(url, "team", token=KEY)
    launcher = kubernetes.KubernetesLauncher(load_config().scaler, home, cluster)
    try:
        return await launcher.instances()
    finally:
        await launcher.close()


async def list_tools(url: str, folder: Path) -> object:
    session = McpSession("far", lambda: None, print)
    try:
        await session.open(
            transports.over_http(f"{url}/mcp", {"authorization": KEY}), PATIENCE.get()
        )
        return await list_all(session, "tools")
    except ServerFailed as error:  # people read both texts
        raise Refused(f"{error}: {error.said}") from None
    finally:
        await session.close()


Reader = Callable[[str, Path], Awaitable[object]]
READERS = {"search": search, "webhook": deliver, "kubernetes": list_pods, "mcp": list_tools}
every_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)
FAILURES = (Refused, DeliveryFailed, LauncherFailed)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (searching, kubernetes, transports):
        monkeypatch.setattr(module, "ANSWER_BYTES", 4 * MEBIBYTE)


@cache
def bomb() -> bytes:
    """Return 300 MiB, packed to a thousandth."""
    packer = zlib.compressobj(1, wbits=31)
    pieces = [packer.compress(bytes(MEBIBYTE)) for _ in range(300)]
    return b"".join(pieces) + packer.flush()


@every_reader
@pytest.mark.parametrize("status", [302, 307])
async def test_a_redirect_to_another_origin_is_not_followed_and_named(
    read: Reader, status: int, tmp_path: Path
) -> None:
    with RawService(lambda asked: RawAnswer([b"{}"], headers=JSON)) as elsewhere:
        target = elsewhere.url.replace("127.0.0.1", "localhost")
        moved = RawAnswer(status=status, headers={"location": f"{target}/there"})
        with RawService(lambda asked: moved) as service, pytest.raises(FAILURES) as caught:
            await read(service.url, tmp_path)
        assert elsewhere.requests == []
    assert "localhost" in str(caught.value)
    assert KEY not in str(caught.value)


@every_reader
async def test_a_compressed_bomb_is_not_inflated(read: Reader, tmp_path: Path) -> None:
    headers, packed = {**JSON, "content-encoding": "gzip"}, bomb()
    with RawService(lambda asked: RawAnswer([packed], headers=headers)) as service:
        if read is deliver:  # it reads no body
            await read(service.url, tmp_path)
            return
        with pytest.raises(FAILURES, match=f"more than {4 * MEBIBYTE} bytes"):
            await read(service.url, tmp_path)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_of_blank_lines_without_end_is_refused(kind: str, tmp_path: Path) -> None:
    headers = {"content-type": kind, "content-encoding": "gzip"}
    packed = [gzip.compress(b"\n" * (MOST_LINES // 4))] * 1200
    answer = RawAnswer(packed, headers=headers)
    for read in (search, list_pods, list_tools):
        # The MCP SDK reports the end of a stream, whatever its cause.
        said = f"more than {MOST_LINES:,} lines|SSE stream ended without a response"
        with RawService(lambda asked: answer) as service, pytest.raises(FAILURES, match=said):
            await read(service.url, tmp_path)


@every_reader
async def test_slow_service_fails_at_its_timeout(
    read: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mcp  # noqa: F401 (takes longer than the limit)

    PATIENCE.set(0.5)
    monkeypatch.setattr(kubernetes, "CALL_SECONDS", 0.5)

    def drip() -> Iterator[bytes]:
        while not service.closing.wait(0.05):
            yield b" "

    with RawService(lambda asked: RawAnswer(drip(), headers=JSON)) as service:
        if read is deliver:
            await read(service.url, tmp_path)
            return
        with pytest.raises((TimeoutError, *FAILURES)):
            await read(service.url, tmp_path)


async def test_compressed_page_is_read_up_to_its_limit() -> None:
    values: dict[str, Any] = {"allow_private": True, "max_bytes": 1000}
    config = load_config().web.model_copy(update=values)
    fetcher = PageFetcher(config)
    headers = {"content-type": "text/plain", "content-encoding": "gzip"}
    with RawService(lambda asked: RawAnswer([bomb()], headers=headers)) as service:
        page = await fetcher.fetch(service.url)
        await fetcher.close()
    assert (len(page.body), page.is_whole) == (1000, False)

"""Where stories in the browser happen: a real supervisor, the built web UI, a headless Chromium."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest
from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright

from agiraph.http.client import Client
from frontend.build import built
from tests.integration.probed_supervisor import keep_port
from tests.scenarios.conftest import site as site
from tests.scenarios.live_home import LiveHome, running_home
from tests.scenarios.scenario_home import SERVICES
from tests.ui.chromium import ARGS, chromium
from tests.ui.visitor import WIDE, Visitor

MakeVisitor = Callable[..., Visitor]
WITHIN_MILLISECONDS: Final = 30_000
SETTINGS: Final = {
    "run": {"park_after_seconds": 0},
    "supervisor": {"intensity": 100},
    "knowledge": {"prompt_tokens": 0},
}


@pytest.fixture(scope="session")
def _shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHome]:
    built()
    home = tmp_path_factory.mktemp("town")
    keep_port(home)
    with running_home(home, settings=SETTINGS, services=SERVICES) as live_home:
        yield live_home


@pytest.fixture
def live_home(_shared_home: LiveHome) -> Iterator[LiveHome]:
    """Return a running home whose entities never park and whose services may be killed at any time.

    Earlier stories used this home: their agents are in the archive, with their names.
    """
    yield _shared_home
    with Client.for_home(_shared_home.home) as client:
        while _shared_home.begun:
            client.archive(_shared_home.begun.pop())
    assert "Traceback" not in _shared_home.traces()


@dataclass(frozen=True)
class BrowserLoop:
    """This process's one Chromium, and the loop on which Playwright speaks with it.

    Playwright leaves its loop marked as running; to others it must not look so.
    """

    browser: Browser
    loop: asyncio.AbstractEventLoop

    @contextlib.contextmanager
    def in_use(self) -> Iterator[Browser]:
        """Yield the browser; only in this block it may be used."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self.loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(before)


@pytest.fixture(scope="session")
def _browser_loop() -> Iterator[BrowserLoop]:
    found = chromium()
    expect.set_options(timeout=WITHIN_MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.path, args=[*ARGS], env={**os.environ, **found.environ}
        )
        stage = BrowserLoop(browser, asyncio.get_running_loop())
        asyncio._set_running_loop(None)
        yield stage
        asyncio._set_running_loop(stage.loop)
        browser.close()


@pytest.fixture(scope="session")
def _shared_visitor(_browser_loop: BrowserLoop, _shared_home: LiveHome) -> Iterator[Visitor]:
    with _browser_loop.in_use() as browser:
        visitor = Visitor(browser, _shared_home.home)
        visitor.context.set_default_timeout(WITHIN_MILLISECONDS)
    yield visitor
    with _browser_loop.in_use():
        visitor.context.close()


@pytest.fixture
def make_visitor(_browser_loop: BrowserLoop, live_home: LiveHome) -> Iterator[MakeVisitor]:
    """Return a maker of visitors; each has a browser of its own, and is not logged in."""
    with _browser_loop.in_use() as browser, contextlib.ExitStack() as stack:

        def make(viewport: ViewportSize = WIDE) -> Visitor:
            visitor = Visitor(browser, live_home.home, viewport)
            visitor.context.set_default_timeout(WITHIN_MILLISECONDS)
            stack.callback(visitor.close)
            return visitor

        yield make


@pytest.fixture
def visitor(
    _browser_loop: BrowserLoop, _shared_visitor: Visitor, live_home: LiveHome
) -> Iterator[Visitor]:
    """Return a visitor logged in with all scopes, before the first page.

    The browser has been here before, and so has compiled the page; it keeps nothing else.
    """
    with _browser_loop.in_use():
        _shared_visitor.faults.clear()
        _shared_visitor.begin_login()
        yield _shared_visitor
        _shared_visitor.leave()

"""Visitor: one browser on the web UI; errors on its console fail a test."""

import json
import os
import re
from pathlib import Path
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    CDPSession,
    ConsoleMessage,
    Locator,
    Page,
    ViewportSize,
    expect,
)

from agiraph.http.client import Client
from tests.fakes.real_agents import Release, installed

ColorScheme = Literal["light", "dark"]
WIDE: Final[ViewportSize] = {"width": 1440, "height": 900}
NARROW: Final[ViewportSize] = {"width": 390, "height": 844}
AXE: Final = Release("files", "axe-core", "4.14.1", "axe-core/axe.min.js")
LEVELS: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RULES: Final[tuple[dict[str, Any], ...]] = (
    {"type": "tag", "values": LEVELS},
    {"type": "rule", "values": ["color-contrast"]},
)
"""The rules of axe; in the other colour scheme, only those about colours."""
SERIOUS: Final = ("serious", "critical")
JUDGE: Final = """
axe.run(document.querySelector("[role=dialog]") ?? document, {
  runOnly: %s, resultTypes: ["violations"],
}).then((found) =>
  found.violations.map((one) => ({
    impact: one.impact, id: one.id, help: one.help,
    nodes: one.nodes.slice(0, 5).map((node) => node.html.slice(0, 200) + " " + node.failureSummary),
  })))
"""
IS_DARK: Final = "matchMedia('(prefers-color-scheme: dark)').matches"
WALK: Final = """
(path) => {
  const idx = (history.state?.idx ?? 0) + 1;
  history.pushState({idx, key: `walk${idx}`, usr: null}, "", path);
  dispatchEvent(new PopStateEvent("popstate", {state: history.state}));
}
"""
"""As a link of the page does; a load takes ten times as long."""
OF_THE_NETWORK: Final = re.compile(r"Failed to load resource|WebSocket connection to|net::ERR_")
"""Chromium's own messages about a gateway that refuses or is away; the page must bear them."""


class Visitor:
    """A browser of its own (cookies, storage), logged in at the gateway of a home by `log_in`."""

    def __init__(self, browser: Browser, home: Path, viewport: ViewportSize = WIDE) -> None:
        self.home = home
        self.faults: list[str] = []
        self.context: BrowserContext = browser.new_context(
            viewport=viewport, reduced_motion="reduce", locale="en-GB", timezone_id="UTC"
        )
        self.viewport = viewport
        self.page = self.new_page()
        self.page.on("dialog", lambda asks: asks.accept())  # before it leaves unsaved input

    def new_page(self) -> Page:
        """Open another tab, whose faults count too."""
        page = self.context.new_page()
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.faults.append(f"{error.message}\n{error.stack}"))
        return page

    def _note(self, message: ConsoleMessage) -> None:
        is_fault = message.type == "error" and not OF_THE_NETWORK.search(message.text)
        if is_fault or "Content Security Policy" in message.text:
            self.faults.append(message.text)

    @property
    def url(self) -> str:
        """Where the gateway of the home listens now."""
        with Client.for_home(self.home) as client:
            return client.url

    def link(self, page: str = "/ui/", **wanted: Any) -> str:
        """Make a login link that leads to a page."""
        with Client.for_home(self.home) as client:
            return client.url + client.create_login_link(next=page, **wanted).path

    def begin_login(self, **wanted: Any) -> None:
        """Log the browser in, as a login link does, without its page."""
        address, _, code = self.link(**wanted).partition("#")
        assert self.context.request.post(address, data={"code": code}).ok

    def log_in(self, page: str = "/ui/", **wanted: Any) -> Page:
        """Log in, and come to a page of the web UI; return the tab."""
        self.begin_login(**wanted)
        self.page.goto(f"{self.url}{page}")
        return self.page

    def go(self, path: str) -> Page:
        """Go to another page of the web UI, inside it if one is there; return the tab."""
        if urlsplit(self.page.url).path.startswith("/ui/"):
            self.page.evaluate(WALK, f"/ui/{path}")
        else:
            self.page.goto(f"{self.url}/ui/{path}")
        return self.page

    def leave(self) -> None:
        """Leave the web UI, and one tab for the next visitor; errors of a page fail."""
        for tab in self.context.pages:
            if tab != self.page:
                tab.close()
        self.page.unroute_all()
        self.page.set_viewport_size(self.viewport)
        self.page.emulate_media(color_scheme="light")
        self.page.goto(f"{self.url}/login")  # the same origin: its process keeps compiled code
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        assert not self.faults, "\n".join(self.faults)

    def close(self) -> None:
        """Close the browser; errors of a page fail."""
        self.context.close()
        assert not self.faults, "\n".join(self.faults)


def connection(page: Page) -> Locator:
    """Return the text of the page about its connection to the gateway: Live, Reconnecting ..."""
    return page.get_by_role("banner").get_by_role("status")


def is_too_wide(page: Page) -> bool:
    """Whether a page can be scrolled sideways."""
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    return bool(page.evaluate(wide))


def assert_accessible(page: Page) -> None:
    """Fail for serious findings of axe (WCAG 2.2 AA) on the current page, light and dark."""
    found = barriers(page)
    assert not found, "\n".join(found)


def barriers(page: Page) -> list[str]:
    """Return serious findings of axe on the current page, or its open dialog, light and dark.

    The page stays in the scheme of colours that it came to last. axe runs in a world of its own, so
    that the page's policy stays as it is.
    """
    found = []
    schemes: list[ColorScheme] = ["dark", "light"] if page.evaluate(IS_DARK) else ["light", "dark"]
    for scheme, rules in zip(schemes, RULES, strict=True):
        page.emulate_media(color_scheme=scheme)
        _await_scheme(page, scheme)
        serious = [one for one in _judged(page, rules) if one["impact"] in SERIOUS]
        found += [f"{scheme}: {one}" for one in serious]
    return found


def _await_scheme(page: Page, scheme: ColorScheme) -> None:
    """Wait until a page has changed its looks; a page without a script needs no time."""
    changed = f"html:not([data-theme]), html[data-theme={scheme}]"
    page.locator(changed).wait_for(state="attached")


def _judged(page: Page, rules: dict[str, Any]) -> list[dict[str, Any]]:
    session = page.context.new_cdp_session(page)
    try:
        gateway_home = _world_of_axe(session)
        asked = {"expression": JUDGE % json.dumps(rules), "contextId": gateway_home}
        answer = session.send(
            "Runtime.evaluate", asked | {"awaitPromise": True, "returnByValue": True}
        )
    finally:
        session.detach()
    assert "exceptionDetails" not in answer, answer["exceptionDetails"]
    return cast(list[dict[str, Any]], answer["result"]["value"])


def _world_of_axe(session: CDPSession) -> int:
    """Return the world in which axe is; a document keeps it."""
    frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
    named = {"frameId": frame, "worldName": "axe"}
    gateway_home = int(session.send("Page.createIsolatedWorld", named)["executionContextId"])
    asked = {"expression": "typeof axe", "contextId": gateway_home}
    if session.send("Runtime.evaluate", asked)["result"]["value"] == "undefined":
        axe = installed(AXE).read_text(encoding="utf-8")
        session.send("Runtime.evaluate", {"expression": axe, "contextId": gateway_home})
    return gateway_home


def photograph(page: Page, name: str) -> None:
    """Write pictures of a page, wide, narrow and dark, into the folder AGIRAPH_PICTURES if set."""
    folder = os.environ.get("AGIRAPH_PICTURES")
    if not folder:
        return
    looks: tuple[tuple[str, ViewportSize, ColorScheme], ...] = (
        ("wide", WIDE, "light"),
        ("narrow", NARROW, "light"),
        ("dark", WIDE, "dark"),
    )
    before = page.viewport_size
    for look, size, scheme in looks:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        _await_scheme(page, scheme)
        page.screenshot(path=Path(folder) / f"{name}-{look}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(before or WIDE)


def harmless(page: Page) -> None:
    """Fail if a text has become more than a text."""
    assert page.evaluate("window.ran") is None


def confirm(page: Page, act: str) -> None:
    """Click the button `act` of the open dialog, and wait until the dialog is closed.

    While a dialog is open, the rest of the page has no roles: a row that is to disappear counts as
    gone although the request is still on its way.
    """
    page.get_by_role("dialog").get_by_role("button", name=act).click()
    expect(page.get_by_role("dialog")).to_have_count(0)

"""The pictures of the web UI, of a team at a real supervisor whose model plays from a script.

web-ui-NAME.png     wide, as web-ui-NAME-narrow.png on a phone, as web-ui-NAME-dark.png dark
"""

import os
import tempfile
from pathlib import Path
from threading import Event

from playwright.sync_api import Page, expect, sync_playwright

from frontend.build import built
from tests.scenarios.live_home import running_home
from tests.ui.chromium import ARGS, chromium
from tests.ui.team import building, hosting
from tests.ui.visitor import NARROW, WIDE, ColorScheme, Visitor, connection

DOCS = Path(__file__).parent
Shots = tuple[tuple[str, str, str], ...]
"""Of each picture its name, the page, and in which other looks there is one."""

SHOTS: Shots = (
    ("conversation", "agents/{agent}", "narrow dark"),
    ("board", "agents/{agent}/board?messages=1", "narrow dark"),
    ("timeline", "agents/{agent}/timeline", ""),
    ("communication", "agents/{agent}/communication", ""),
    ("worker", "agents/{agent}/workers/ada", ""),
    ("usage", "usage", ""),
)
OF_ROLES: Shots = (("roles", "roles/{agent}?turn=3", ""),)


def photograph_ui() -> None:
    """Write the pictures into docs/."""
    built()
    with (
        tempfile.TemporaryDirectory() as home,
        running_home(Path(home), settings={"run": {"park_after_seconds": 0}}) as live_home,
        hosting(live_home) as agent,
        sync_playwright() as playwright,
    ):
        found = chromium()
        browser = playwright.chromium.launch(
            executable_path=found.path, args=[*ARGS], env={**os.environ, **found.environ}
        )
        visitor = Visitor(browser, live_home.home, WIDE)
        page = visitor.log_in(f"/ui/agents/{agent}")
        shoot_all(visitor, page, agent, SHOTS)
        with building(live_home, Event()) as team:
            shoot_all(visitor, page, team, OF_ROLES)
        visitor.close()
        browser.close()


def shoot_all(visitor: Visitor, page: Page, agent: str, shots: Shots) -> None:
    """Write the pictures of the pages of an agent."""
    for name, path, more in shots:
        page.goto(f"{visitor.url}/ui/{path.format(agent=agent)}")
        shoot(page, f"web-ui-{name}.png")
        if "narrow" in more:
            page.set_viewport_size(NARROW)
            shoot(page, f"web-ui-{name}-narrow.png")
            page.set_viewport_size(WIDE)
        if "dark" in more:
            shoot(page, f"web-ui-{name}-dark.png", "dark")


def shoot(page: Page, name: str, scheme: ColorScheme = "light") -> None:
    """Write one picture of a page that has come to rest."""
    page.emulate_media(color_scheme=scheme)
    if page.viewport_size == WIDE:
        expect(connection(page)).to_have_text("Live")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=DOCS / name)

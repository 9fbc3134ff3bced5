"""The web UI survives crashes, other browsers and hostile names."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import ask
from tests.ui.conftest import MakeVisitor
from tests.ui.visitor import Visitor, connection

WATCH = """
() => {
  const status = document.querySelector("header [role=status]");
  window.said = [];
  new MutationObserver(() => window.said.push(status.textContent)).observe(
    status, {subtree: true, childList: true, characterData: true});
}
"""


def test_page_survives_kills_of_gateway_router_and_supervisor(
    visitor: Visitor, live_home: LiveHome
) -> None:
    page = visitor.go("")
    live_home.plays(coordinator=[ask("Shall I go on?")])
    status = connection(page)
    expect(status).to_have_text("Live")
    kills: list[tuple[str, Callable[[], object]]] = [
        ("gateway", lambda: live_home.kill("human")),
        ("router", lambda: live_home.kill("router")),
        ("supervisor", live_home.restart_supervisor),
    ]
    for what, kill in kills:
        page.evaluate(WATCH)
        kill()
        name = f"after-{what}"
        live_home.begun.append(
            live_home.retried("run", "x", "-n", name, "-d", "-m", "openai/fake").strip()
        )
        expect(group(page, name)).to_be_visible()
        expect(status).to_have_text("Live")
        if what != "router":
            page.wait_for_function("window.said.includes('Reconnecting')")
    assert page.evaluate("performance.getEntriesByType('navigation').length") == 1


def test_two_tabs_and_two_people_agree(
    visitor: Visitor, make_visitor: MakeVisitor, live_home: LiveHome
) -> None:
    live_home.plays(coordinator=[ask("Shall I go on?")])
    agent = live_home.begin("shared").name
    other = make_visitor()
    tab = visitor.new_page()
    tab.goto(f"{visitor.url}/ui/agents/{agent}")
    pages = [visitor.go(f"agents/{agent}"), tab, other.log_in(f"/ui/agents/{agent}")]
    for page in pages:
        expect(page.get_by_role("banner")).to_contain_text("shared")
    steer(pages[0], "Pause")
    for page in pages:
        expect(page.get_by_role("banner")).to_contain_text(re.compile("paused", re.I))
    steer(pages[2], "Resume")
    for page in pages:
        expect(page.get_by_role("banner")).not_to_contain_text(re.compile("paused", re.I))


def group(page: Page, name: str) -> Locator:
    """Return an agent's group in the sidebar."""
    return page.get_by_role("complementary").get_by_role("region", name=name, exact=True)


def steer(page: Page, what: str) -> None:
    """Do something to the agent of a page by the menu in the top bar."""
    page.get_by_role("banner").get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name=what).click()

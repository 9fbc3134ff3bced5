"""One worker by the page: its live work, its process, and orders about both."""

import re
from threading import Event

from playwright.sync_api import Locator, Page, expect

from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import DONE, FACT, held, one_worker, write
from tests.ui.visitor import Visitor, confirm, photograph

MORE = write("more.csv", "a,b\n1,2\n")


def test_worker_page_shows_kill_pause_and_completion(visitor: Visitor, live_home: LiveHome) -> None:
    first, last = Event(), Event()
    live_home.plays(
        coordinator=one_worker("wanda", task="Collect **facts**"),
        wanda=[FACT, held(MORE, first), held(DONE, last)],
    )
    agent = live_home.begin("watched")
    page = visitor.go(f"agents/{agent.name}/workers/wanda")
    main = page.get_by_role("main")
    expect(main.get_by_role("heading", name="wanda", exact=True)).to_be_visible()
    node = panel(page, "wanda-facts")
    expect(node.locator("strong", has_text="facts")).to_be_visible()
    expect(panel(page, "Latest activity")).to_contain_text("write_file")
    process = panel(page, "Process")
    expect(process).to_contain_text("busy")
    photograph(page, "worker")

    do(page, "Kill")
    confirm(page, "Kill")
    expect(process).to_contain_text(re.compile(r"Incarnation\s*2"))
    expect(panel(page, "Latest activity")).to_contain_text("child.ready")

    main.get_by_role("button", name="Pause").click()
    first.set()
    expect(main.get_by_role("button", name="Resume")).to_be_visible()
    expect(main).to_contain_text("paused")
    main.get_by_role("button", name="Resume").click()
    expect(main.get_by_role("button", name="Interrupt")).to_be_visible()
    last.set()
    live_home.await_end(agent)
    expect(panel(page, "Its nodes").get_by_role("link", name="wanda-facts")).to_be_visible()
    expect(panel(page, "Its nodes")).to_contain_text("completed")
    page.get_by_role("tab", name="Identity").click()
    expect(panel(page, "Its notes")).to_contain_text("wanda")
    visitor.go(f"agents/{agent.name}/workers/nobody")
    expect(page.get_by_text("There is no such worker")).to_be_visible()


def panel(page: Page, title: str) -> Locator:
    """Return a panel of the page by its title."""
    heading = page.get_by_role("heading", name=title, exact=True)
    return page.get_by_role("main").locator("section").filter(has=heading)


def do(page: Page, item: str) -> None:
    """Do something by the menu of the page."""
    page.get_by_role("main").get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name=item).click()

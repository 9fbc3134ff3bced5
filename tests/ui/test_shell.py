"""The shell of the web UI: all agents in the sidebar, keyboard control, the page of all agents."""

import re
from threading import Event

from playwright.sync_api import Locator, Page, expect

from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import DONE, FACT, ask, held, one_worker
from tests.ui.visitor import NARROW, Visitor, assert_accessible, confirm, photograph

WAITS = "asks you"


def test_sidebar_shows_all_entities_at_work(visitor: Visitor, live_home: LiveHome) -> None:
    page, gate = visitor.go(""), Event()
    live_home.plays(coordinator=one_worker("ada"), ada=[held(FACT, gate), DONE])
    agent = live_home.begin("shelling", goal="Collect facts about shells")
    team = page.get_by_role("complementary").get_by_role("region", name="shelling", exact=True)
    ada = team.get_by_role("link", name=re.compile(r"^\w+ ada\b"))
    expect(ada).to_contain_text("busy")
    expect(ada).to_contain_text("waits for the model")
    expect(team.get_by_role("link", name="Coordinator")).to_contain_text("working")
    assert_accessible(page)
    photograph(page, "agents")

    ada.click()
    expect(page).to_have_url(re.compile(f"/ui/agents/{agent.name}/with/ada$"))
    gate.set()
    live_home.await_end(agent)
    expect(team.get_by_role("link", name="Coordinator")).to_contain_text("completed")
    expect(ada).to_have_count(0)
    team.get_by_role("button", name="1 retired").click()
    expect(ada).to_contain_text("stopped")
    team.get_by_role("button", name="Hide shelling").click()
    expect(ada).to_have_count(0)


def test_keys_and_the_palette_open_every_page(visitor: Visitor, live_home: LiveHome) -> None:
    live_home.plays(coordinator=[ask("Which shell?")])
    agent = live_home.begin("keyed", goal="Ask about shells").name
    live_home.await_question(agent)
    page = visitor.go(f"agents/{agent}")
    expect(page.get_by_role("banner")).to_contain_text("keyed")

    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("Work board")
    assert_accessible(page)
    toast = page.get_by_role("region", name="Notifications").get_by_role("listitem")
    expect(toast).to_have_count(0)  # else Escape is the toast's
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("y")
    expect(page).to_have_url(re.compile(f"/agents/{agent}/memory$"))
    expect(page).to_have_title(re.compile(r"Memory · Agiraph$"))

    page.keyboard.press("ControlOrMeta+k")
    palette = page.get_by_role("dialog", name="Command palette")
    assert_accessible(page)
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    palette.get_by_role("combobox").fill("dark")
    expect(palette.get_by_role("option", selected=True)).to_have_text("Appearance: Dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("ControlOrMeta+k")
    palette.get_by_role("combobox").fill("all agents")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/ui/?$"))
    page.go_back()
    expect(page).to_have_url(re.compile(f"/agents/{agent}/memory$"))

    page.get_by_role("banner").get_by_role("button", name="Appearance").click()
    page.get_by_role("menuitem", name="Deutsch").click()
    expect(page.get_by_role("link", name="Neuer Agent").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("link", name="Neuer Agent").first).to_be_visible()


def test_agent_is_found_archived_restored_and_deleted(
    visitor: Visitor, live_home: LiveHome
) -> None:
    live_home.plays(coordinator=[ask("Which shell?")])
    agent = live_home.begin("put-away", goal="Wait to be put away").name
    live_home.await_question(agent)
    page = visitor.go("")
    page.set_viewport_size(NARROW)
    page.get_by_role("banner").get_by_role("button", name="Show the agents").click()
    drawer = page.get_by_role("dialog", name="Agents")
    expect(drawer.get_by_role("region", name="put-away")).to_contain_text(WAITS)
    assert_accessible(page)
    page.keyboard.press("Escape")

    page.get_by_role("searchbox", name="Find an agent").fill("put away")
    expect(row(page, "put-away")).to_contain_text("1 question")
    row(page, "put-away").get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Archive").click()
    confirm(page, "Archive")
    expect(row(page, "put-away")).to_have_count(0)

    page.get_by_role("tab", name="Archive").click()
    row(page, "put-away").get_by_role("button", name="Restore").click()
    expect(row(page, "put-away")).to_have_count(0)
    page.get_by_role("tab", name="All").click()
    row(page, "put-away").get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Archive").click()
    confirm(page, "Archive")
    page.get_by_role("tab", name="Archive").click()
    row(page, "put-away").get_by_role("button", name="Delete").click()
    confirm(page, "Delete")
    toasts = page.get_by_role("region", name="Notifications").get_by_role("listitem")
    expect(toasts.filter(has_text="put-away is deleted")).to_be_visible()
    expect(row(page, "put-away")).to_have_count(0)
    live_home.begun.remove(agent)


def row(page: Page, name: str) -> Locator:
    """Return the row of an agent on the page of all."""
    heading = page.get_by_role("heading", name=name, exact=True)
    return page.get_by_role("main").get_by_role("listitem").filter(has=heading)

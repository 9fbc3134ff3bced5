"""Open questions, above every page: answered by a key, refused, answered elsewhere."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import DONE, ask, bash, one_worker
from tests.ui.visitor import Visitor, assert_accessible, connection, photograph

RULES = 'rules: [{name: marks, tool: bash, pattern: "echo mark*", action: ask, reason: it marks}]'


@pytest.fixture
def _rules(live_home: LiveHome) -> Iterator[None]:
    rules = live_home.home / "approvals.yaml"
    rules.write_text(RULES)
    yield
    rules.unlink()


def tray(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("open question"))


def open_tray(page: Page) -> None:
    """Open the tray, unless the next question came before the shown question was gone."""
    head = tray(page).get_by_role("button", name=re.compile("open question"))
    if head.get_attribute("aria-expanded") == "false":
        head.click()


def key(page: Page, name: str) -> Locator:
    """Return the sign of the key that gives an answer of the open card."""
    return tray(page).get_by_role("group", name="Answers").locator("kbd", has_text=name)


@pytest.mark.usefixtures("_rules")
def test_questions_wait_above_every_page(visitor: Visitor, live_home: LiveHome) -> None:
    live_home.plays(
        coordinator=one_worker("quin"),
        quin=[
            ask("Which **colour**?", options=["red", "blue"], deadline="2h", default="red"),
            bash("echo mark one >> marks.txt"),
            bash("echo mark two >> marks.txt"),
            ask("Go on?"),
            DONE,
        ],
    )
    page = visitor.go("usage")
    other = visitor.new_page()
    other.goto(f"{visitor.url}/ui/questions")
    expect(other.get_by_text("No open questions")).to_be_visible()
    page.bring_to_front()
    expect(connection(page)).to_have_text("Live")
    agent = live_home.begin("asked")

    expect(page.get_by_text("quin asks (asked)", exact=True)).to_be_visible()
    expect(tray(page)).to_contain_text("quin of the agent asked: Which colour?")
    expect(tray(page)).to_contain_text(re.compile(r"due in 1:59:\d\d"))
    page.locator("body").press("q")
    expect(tray(page)).to_contain_text("then the answer is “red”")
    photograph(page, "question")
    assert_accessible(page)
    expect(key(page, "2")).to_be_visible()
    page.locator("body").press("2")
    assert live_home.await_step("quin", 1).result("ask_human") == "blue"

    expect(tray(page)).to_contain_text("echo mark one >> marks.txt")
    page.locator("body").press("1")  # a press that was meant for the question before
    open_tray(page)
    page.get_by_role("textbox", name="Reason").fill("not today")
    photograph(page, "approval")
    page.get_by_role("button", name="Deny", exact=True).click()
    assert "not today" in live_home.await_step("quin", 2).result("bash")

    second = other.get_by_role("listitem").filter(has_text="echo mark two")
    second.get_by_role("button", name="allow always").click()
    live_home.await_step("quin", 3)
    expect(other.get_by_role("button", name="Revoke")).to_be_visible()
    expect(tray(page)).to_contain_text("Go on?")
    assert_accessible(other)

    question = live_home.await_question("asked")["id"]

    def answered_before(route: Route) -> None:
        live_home.json("respond", question, "yes")
        route.continue_()

    page.route("**/respond", answered_before)
    open_tray(page)
    tray(page).get_by_role("textbox").fill("no")
    tray(page).get_by_role("button", name="Answer", exact=True).click()
    refused = page.get_by_text(re.compile("was answered by human .* over cli: yes"))
    expect(refused.first).to_be_visible()
    for tab in (page, other):
        expect(tray(tab)).to_have_count(0)
    expect(other.get_by_role("row", name=re.compile("Go on.*answered.*yes.*cli"))).to_be_visible()
    other.get_by_role("button", name="Revoke").click()
    expect(other.get_by_text("Nothing is always allowed.")).to_be_visible()
    live_home.await_end(agent)

"""The memory of an agent in the browser: read, searched, edited by two at once, brought back."""

from playwright.sync_api import expect

from agiraph.http.client import Client
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import ask
from tests.ui.conftest import MakeVisitor
from tests.ui.visitor import NARROW, Visitor, assert_accessible, confirm, photograph

HOSTILE = '<img src=x onerror="window.ran=1"> [x](javascript:window.ran=1)'
NOTE = "preferences/reports.md"


def test_memory_is_edited_with_its_history_without_lost_updates(
    visitor: Visitor, make_visitor: MakeVisitor, live_home: LiveHome
) -> None:
    live_home.plays(coordinator=[ask("Shall I go on?"), ask("And now?"), ask("And then?")])
    agent = live_home.begin("remembering").name
    live_home.await_question(agent)
    page = visitor.go(f"agents/{agent}/memory")
    expect(page.get_by_role("heading", name="What remembering remembers")).to_be_visible()

    page.get_by_role("button", name="New note").click()
    page.get_by_label("Path").fill("reports.txt")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("A path ends with .md")).to_be_visible()
    page.get_by_label("Path").fill(NOTE)
    page.get_by_role("button", name="Create").click()
    text = page.get_by_role("textbox", name=f"Text of {NOTE}")
    text.fill(f"# Reports\n\nAt most one page.\n\n{HOSTILE}")
    preview = page.get_by_role("region", name="Preview")
    expect(preview.get_by_role("heading", name="Reports")).to_be_visible()
    assert_accessible(page)
    photograph(page, "memory-edit")
    text.press("Control+s")
    expect(page.get_by_role("heading", name="Reports", exact=True)).to_be_visible()
    expect(page.get_by_role("navigation").get_by_role("link", name="reports")).to_be_visible()
    told = "preferences/reports.md"
    until(
        lambda: told in live_home.json("messages", agent)[-1]["content"], "the coordinator is told"
    )

    page.get_by_role("button", name="Edit").click()
    text.fill("# Reports\n\nMine.")
    with Client.for_home(live_home.home) as client:
        client.edit_memory(agent, NOTE, "# Reports\n\nTheirs.", tell=False)
    changed = page.get_by_role("alert")
    expect(changed).to_contain_text("The file changed while you were editing")
    expect(changed.get_by_role("region", name="Difference")).to_contain_text("Theirs.")
    assert_accessible(page)
    photograph(page, "memory-conflict")
    changed.get_by_role("button", name="Continue editing").click()
    text.fill("# Reports\n\nBoth.")
    page.go_back()
    expect(page.get_by_role("dialog")).to_contain_text("Discard your text?")
    confirm(page, "Cancel")
    expect(text).to_have_value("# Reports\n\nBoth.")
    live_home.kill("human")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    expect(page.get_by_text("Both.")).to_be_visible()

    photograph(page, "memory")
    page.get_by_role("button", name="History").click()
    page.get_by_role("button", name="Version 1").click()
    difference = page.get_by_role("region", name="Difference")
    expect(difference).to_contain_text("At most one page.")
    expect(difference).to_contain_text("Both.")
    assert_accessible(page)
    photograph(page, "memory-history")
    page.get_by_role("button", name="Restore this version").click()
    expect(page.get_by_role("button", name="Version 4")).to_be_visible()

    page.get_by_role("searchbox", name="Search the memory").fill("page")
    page.get_by_role("navigation").get_by_role("link", name="Reports").click()
    expect(page.get_by_text("At most one page.").last).to_be_visible()
    page.get_by_role("searchbox", name="Search the memory").fill("")
    page.get_by_role("button", name="Remove").click()
    confirm(page, "Remove")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("navigation").get_by_role("link", name="reports")).to_be_visible()
    assert page.evaluate("window.ran") is None

    reader = make_visitor(NARROW)
    phone = reader.log_in(f"/ui/agents/{agent}/memory", scope="read")
    phone.get_by_role("link", name="reports").click()
    expect(phone.get_by_text("At most one page.")).to_be_visible()
    expect(phone.get_by_role("button", name="Edit")).to_have_count(0)
    assert_accessible(phone)

"""The knowledge database in the browser: listed, searched, followed by its edges, removed."""

import re
from zipfile import ZipFile

from playwright.sync_api import expect

from agiraph.http.api import AddKnowledgeRequest
from agiraph.http.client import Client
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import finish
from tests.ui.conftest import MakeVisitor
from tests.ui.visitor import NARROW, Visitor, assert_accessible, confirm, harmless, photograph

HOSTILE = '<img src=x onerror="window.ran=1"> [x](javascript:window.ran=1)'


def test_learned_notes_are_found_followed_and_removed(
    visitor: Visitor, make_visitor: MakeVisitor, live_home: LiveHome
) -> None:
    live_home.plays(
        coordinator=[finish("The gazebo is green:\n\n```python\na = 1\nb = 2\nc = 3\n```")]
    )
    agent = live_home.begin("painter", goal="Paint the gazebo")
    live_home.await_end(agent)
    with Client.for_home(live_home.home) as client:
        what = {"kind": "preference", "title": "Short reports", "text": f"One page. {HOSTILE}"}
        client.add_knowledge(AddKnowledgeRequest.model_validate(what))
        until(lambda: len(client.knowledge(agent=agent.name).nodes) >= 2, "the run is learned from")
    page = visitor.go("knowledge")
    expect(page.get_by_text("Notes of earlier runs. Notes that match")).to_be_visible()
    side = page.get_by_role("navigation", name="Knowledge nodes")
    expect(side.get_by_role("link", name="Short reports")).to_be_visible()
    assert_accessible(page)
    photograph(page, "knowledge")

    side.get_by_label("Search the knowledge").fill("gazebo")
    side.get_by_role("link", name=re.compile("Paint the gazebo")).first.click()
    expect(page.get_by_role("heading", name="Paint the gazebo", level=2)).to_be_visible()
    expect(page.get_by_text("completed").first).to_be_visible()
    page.get_by_role("article").get_by_role("link", name=re.compile("made in")).first.click()
    expect(page.get_by_role("article").get_by_text("a = 1")).to_be_visible()
    assert_accessible(page)
    photograph(page, "knowledge-node")

    page.get_by_role("button", name="Add a node").click()
    form = page.get_by_role("dialog", name="Add a node")
    form.get_by_label("Kind").select_option("decision")
    form.get_by_label("Title").fill("PostgreSQL")
    form.get_by_label("Text").fill("It is what we run.")
    form.get_by_label("Project").fill("/src/shop")
    assert_accessible(page)
    photograph(page, "knowledge-add")
    form.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="PostgreSQL", level=2)).to_be_visible()
    [hit] = live_home.json("knowledge", "search", "PostgreSQL", "--types", "decision")
    assert (hit["node"]["text"], hit["node"]["importance"]) == ("It is what we run.", 0.9)
    page.get_by_role("button", name="Actions for the knowledge database").click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="Export all for Obsidian (zip)").click()
    with ZipFile(saved.value.path()) as vault:
        assert {"_Index.md", "Decisions/PostgreSQL.md"} <= {*vault.namelist()}

    side.get_by_label("Search the knowledge").fill("")
    side.get_by_label("Kind").select_option("preference")
    side.get_by_role("link", name="Short reports").click()
    expect(page.get_by_role("article")).to_contain_text("One page.")
    harmless(page)

    reader = make_visitor(NARROW)
    phone = reader.log_in("/ui/knowledge", scope="read")
    phone.get_by_role("link", name="Short reports").click()
    expect(phone.get_by_role("article")).to_contain_text("One page.")
    expect(phone.get_by_role("button", name="Remove")).to_have_count(0)
    assert_accessible(phone)

    memory = reader.go(f"agents/{agent.name}/memory")
    memory.get_by_role("button", name="Notes of earlier work").click()
    used = memory.get_by_role("dialog", name="Notes of earlier work")
    expect(used).to_contain_text("No notes of earlier work were added to its prompts")
    assert_accessible(memory)

    page.get_by_role("button", name="Remove").click()
    confirm(page, "Remove")
    expect(side.get_by_role("link", name="Short reports")).to_have_count(0)
    assert live_home.json("knowledge", "search", "reports", "--types", "preference") == []

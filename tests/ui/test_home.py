"""The pages of the web UI about the home as a whole, and the removal of an agent."""

import json
import re
from pathlib import Path

import yaml
from playwright.sync_api import expect

from agiraph.http.client import Client
from tests.fakes.model_server import calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, ask, finish, node, publish, spawn
from tests.ui.conftest import MakeVisitor
from tests.ui.visitor import Visitor, assert_accessible, confirm

FORBIDDEN = 403
WRITES = re.compile(
    r"^(New agent|Pause|Resume|Stop|Delete|Archive|Restore|Kill|Set a budget|Add a trigger"
    r"|Run again|Move|Cancel node|Send|Start another run|Test|Invite a host|Remove|New note)"
)


def test_an_agent_is_saved_and_deleted_by_its_menu(
    visitor: Visitor, live_home: LiveHome, tmp_path: Path
) -> None:
    live_home.plays(coordinator=[finish("All is well")])
    agent = live_home.complete("Look around", "--name", "done-with").result["agent"]
    page = visitor.go("")
    menu = page.get_by_role("button", name="Actions for done-with")
    menu.click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="Save the result (zip)").click()
    assert saved.value.suggested_filename.endswith(".zip")
    menu.click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="Save the transcript").click()
    saved.value.save_as(tmp_path / "transcript.md")
    text = (tmp_path / "transcript.md").read_text()
    assert text.startswith(f"# {agent}/coordinator\n")
    assert "Look around" in text
    assert "### calls finish" in text
    visitor.go(f"agents/{agent}")
    page.get_by_role("banner").get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete done-with permanently?")
    expect(dialog).to_contain_text(agent)
    assert_accessible(page)
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text(re.compile("^done-with is deleted"))).to_be_visible()
    expect(page.get_by_role("heading", name="Agents", level=1)).to_be_visible()
    with Client.for_home(live_home.home) as client:
        assert agent not in {one.id for one in [*client.agents(), *client.archived()]}


def test_a_browser_that_may_only_read_is_offered_nothing_that_writes(
    make_visitor: MakeVisitor, live_home: LiveHome
) -> None:
    live_home.plays(coordinator=[ask("Shall I go on?")])
    agent = live_home.begin("looked-at").name
    live_home.await_question(agent)
    visitor = make_visitor()
    refused: list[str] = []
    visitor.page.on(
        "response",
        lambda answer: refused.append(answer.url) if answer.status == FORBIDDEN else None,
    )
    page = visitor.log_in("/ui/", scope="read")
    expect(page.get_by_role("banner").get_by_text("Read only")).to_be_visible()
    inner = ("", "/board", "/result", "/files", "/memory", "/triggers")
    for path in ("", "usage", "health", "knowledge", *(f"agents/{agent}{one}" for one in inner)):
        visitor.go(path)
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        buttons = page.get_by_role("button", name=WRITES).or_(page.get_by_role("link", name=WRITES))
        expect(buttons).to_have_count(0)
        expect(page.get_by_role("link", name="Settings")).to_have_count(0)
    page.keyboard.press("q")
    expect(page.get_by_text("This browser may not answer")).to_be_visible()
    assert not refused


def test_home_is_maintained_without_a_terminal(visitor: Visitor, live_home: LiveHome) -> None:
    live_home.plays(coordinator=[finish("All is well")])
    agent = live_home.complete("Look around", "--name", "long-ago").result["agent"]
    page = visitor.go("home")
    page.get_by_role("button", name="Set me away").click()
    expect(page.get_by_text(re.compile("^You are away"))).to_be_visible()
    assert live_home.json("away", "--until", "2h")["status"] == "away"
    page.get_by_role("button", name="I am back").click()
    expect(page.get_by_text(re.compile("^You are available"))).to_be_visible()

    file = live_home.home / "agiraph.yaml"
    before = file.read_text()
    file.write_text(yaml.safe_dump(json.loads(before)))  # only lines can be changed line by line
    page.get_by_role("tab", name="Models").click()
    page.get_by_role("group").filter(has_text="script").first.click()
    page.get_by_role("button", name="Make it the default: script/survey").click()
    expect(page.get_by_text("script/survey is the default model now", exact=True)).to_be_visible()
    assert "default: script/survey" in file.read_text()
    file.write_text(before)

    page.get_by_role("tab", name="Access").click()
    page.get_by_role("button", name="Add a token").click()
    page.get_by_role("dialog").get_by_label("Name").fill("page-made")
    page.get_by_role("button", name="Create the token").click()
    secret = page.get_by_role("dialog", name="The secret of page-made")
    token = secret.get_by_role("code").text_content() or ""
    with Client(visitor.url, token) as client:
        assert client.whoami().name == "page-made"
    assert_accessible(page)
    secret.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Actions for page-made").click()
    page.get_by_role("menuitem", name="Revoke").click()
    confirm(page, "Revoke")
    expect(page.get_by_role("row", name="page-made")).to_contain_text("revoked")

    page.get_by_role("tab", name="Audit").click()
    expect(page.get_by_role("cell", name="DELETE /tokens/page-made")).to_be_visible()
    page.get_by_role("tab", name="Logs").click()
    page.get_by_label("Process").fill("broker")
    expect(page.get_by_role("listitem").filter(has_text="broker ready")).not_to_have_count(0)
    assert_accessible(page)

    page.get_by_role("tab", name="Tidy up").click()
    page.get_by_label("No change for").fill("0s")
    page.get_by_role("button", name="Show these agents").click()
    expect(page.get_by_role("row", name="long-ago")).to_be_visible()
    page.get_by_role("button", name=re.compile(r"^Delete \d+ agents?$")).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("long-ago")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text(re.compile(r"^\d+ agents? deleted"))).to_be_visible()
    with Client.for_home(live_home.home) as client:
        assert agent not in {one.id for one in [*client.agents(), *client.archived()]}


def test_run_is_found_and_saved_as_a_plan(
    visitor: Visitor, live_home: LiveHome, tmp_path: Path
) -> None:
    task = node("count", "ada", task="Count the harbours of the folder")
    live_home.plays(
        coordinator=[calls(spawn("ada", role="reader"), task), WAIT, finish("Seven harbours")],
        ada=[publish("There are seven")],
    )
    agent = live_home.complete("Count something", "--name", "counting").result["agent"]
    page = visitor.go("?show=runs")
    page.get_by_role("searchbox", name="Find a run").fill("seven HARBOURS")
    row = page.get_by_role("main").get_by_role("listitem").filter(has_text="counting")
    expect(row).to_contain_text("Seven harbours")
    page.get_by_role("combobox", name="Order").select_option(label="longest first")
    page.get_by_role("combobox", name="Status").select_option(label="failed")
    expect(row).to_have_count(0)
    page.get_by_role("combobox", name="Status").select_option(label="completed")
    row.get_by_role("link", name="counting").click()
    expect(page).to_have_url(re.compile(f"/ui/agents/{agent}/result"))

    page.get_by_role("banner").get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name="Plan of this run").click()
    expect(page.get_by_label("Plan file")).to_have_value(re.compile("id: count"))
    picture = page.get_by_role("img", name="The nodes of the plan")
    expect(picture).to_be_visible()
    assert picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
    page.get_by_role("button", name="Save as").click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="YAML").click()
    saved.value.save_as(tmp_path / "plan.yaml")
    assert live_home.command("plan", "check", str(tmp_path / "plan.yaml")).returncode == 0
    page.get_by_label("Plan file").fill("nodes:\n- id: a\n  task: x\n  deps: [b]\n")
    expect(page.get_by_role("alert")).to_contain_text("b")
    assert_accessible(page)

    visitor.go("knowledge")
    page.get_by_role("button", name="Actions for the knowledge database").click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="Export all (JSON lines)").click()
    saved.value.save_as(tmp_path / "shared_values.jsonl")
    lines = (tmp_path / "shared_values.jsonl").read_text().splitlines()
    assert all({*json.loads(line)} <= {"node", "edge"} for line in lines)

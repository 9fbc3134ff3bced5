"""Managing on the web UI: settings, health, usage and budgets, triggers, events."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Route, expect

from agiraph.core.hosts import HostInfo
from agiraph.http.api import (
    ChannelTestView,
    ChannelView,
    DeadLetterView,
    HostsView,
    InvitationView,
)
from agiraph.http.client import Client
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import ask
from tests.ui.visitor import (
    NARROW,
    Visitor,
    assert_accessible,
    confirm,
    harmless,
    is_too_wide,
    photograph,
)

HOSTILE = "<img src=x onerror=window.ran=1>"
ILLS = re.compile(r"/(dead|channels)(/\w+-?\w*/(retry|test))?$")


def failing_answers() -> Callable[[Route], None]:
    """Return answers with a dead letter until it is sent again, and a failing channel."""
    letter = {"id": "d-1", "agent": "", "to": "clock", "from": "human", "type": "text", "size": 3}
    letter |= {"cause": f"it has ended clock 3 times {HOSTILE}", "at": 1_700_000_000.0}
    letters = [DeadLetterView.model_validate(letter)]
    test = ChannelTestView(channel="phone", delivery="", delivered=False, error="ConnectError")

    def answer(route: Route) -> None:
        request = route.request
        match request.method, request.url.rpartition("/")[2]:
            case "GET", "dead":
                found: Any = [one.model_dump(mode="json", by_alias=True) for one in letters]
            case "GET", _:
                found = [ChannelView(name="phone", kind="webhook").model_dump(mode="json")]
            case _, "retry":
                found = letters.pop().model_dump(mode="json", by_alias=True)
            case _:
                found = test.model_dump(mode="json")
        route.fulfill(json=found)

    return answer


def machines() -> Callable[[Route], None]:
    """Return answers about a home with two other machines, one of them silent."""
    fit = {"name": "north", "state": "ready", "labels": ["gpu"], "processes": 3, "load": 1.5}
    rows = [
        HostInfo.model_validate(fit),
        HostInfo(name=f"east{HOSTILE}", state="away", seen_at=1e9),
    ]

    def answer(route: Route) -> None:
        method, url = route.request.method, route.request.url
        if url.endswith("/invitations"):
            made = InvitationView(line="agiraph-invitation:1:abc", expires_at=2e9)
            route.fulfill(status=201, json=made.model_dump(mode="json"))
            return
        if method == "DELETE":
            if not url.endswith("force=true"):
                detail = "'north' is cordoned, but not empty: shop/ada cannot be moved. `agiraph"
                problem = {"status": 409, "title": "conflict", "detail": detail}
                route.fulfill(status=409, json=problem)
                return
            rows.pop(0)
        elif method == "POST":
            rows[0] = rows[0].model_copy(update={"is_cordoned": True})
        table = HostsView(hosts=tuple(rows), listens_at="tcp://0.0.0.0:7400", invitations=1)
        route.fulfill(json=table.model_dump(mode="json"))

    return answer


def agent_that_stays(live_home: LiveHome, name: str) -> str:
    """Start an agent that waits for an answer of the human."""
    live_home.plays(coordinator=[ask("Shall I go on?")])
    agent = live_home.begin(name, goal=f"Watch {HOSTILE}").name
    live_home.await_question(agent)
    return agent


def test_settings_are_changed_in_the_form_and_as_text(
    visitor: Visitor, live_home: LiveHome
) -> None:
    file = live_home.home / "agiraph.yaml"
    before = file.read_text()
    file.write_text(f"# mine {HOSTILE}\n{before}")
    page = visitor.go("settings")
    run = page.get_by_role("group", name="run")
    text = page.get_by_role("textbox", name="The text of agiraph.yaml")
    expect(text).to_have_value(re.compile(re.escape(HOSTILE)))
    nodes = run.get_by_role("textbox", name="max_nodes", exact=True)
    nodes.fill("many")
    problems = page.get_by_role("list", name="Problems")
    expect(problems).to_contain_text("run.max_nodes")
    expect(nodes).to_have_attribute("aria-invalid", "true")
    nodes.fill("150")
    expect(text).to_have_value(re.compile("max_nodes: 150"))
    expect(problems).to_have_count(0)
    photograph(page, "settings")
    page.get_by_role("button", name="Review and save").click()
    review = page.get_by_role("dialog")
    expect(review.get_by_role("region", name="Difference")).to_contain_text("max_nodes: 150")
    file.write_text(f"{file.read_text()}# by an editor\n")
    review.get_by_role("button", name="Save").click()
    expect(review.get_by_role("alert")).to_contain_text("was changed by another")
    review.get_by_role("button", name="Review again").click()
    review.get_by_role("button", name="Save").click()
    expect(page.get_by_text("agiraph.yaml is saved", exact=True)).to_be_visible()
    expect(review).to_be_hidden()
    written = file.read_text()
    assert written.startswith(f"# mine {HOSTILE}\n")
    assert "# by an editor" in written
    assert "max_nodes: 150" in written
    text.fill("run:\n  max_node: 3\n")
    expect(problems).to_contain_text("unknown key 'run.max_node'")
    page.get_by_role("link", name="Health").click()
    confirm(page, "Discard")
    expect(page.get_by_role("heading", name="Health", level=1)).to_be_visible()
    page.go_back()
    page.get_by_role("button", name="Restore the previous version").click()
    expect(text).not_to_have_value(re.compile("max_nodes: 150"))
    harmless(page)
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("link", name="prices.yaml").click()
    page.get_by_role("button", name="moonshot/kimi").click()
    page.get_by_role("textbox", name="input", exact=True).fill("3.5")
    page.get_by_role("button", name="Review and save").click()
    confirm(page, "Save")
    expect(page.get_by_text("prices.yaml is saved", exact=True)).to_be_visible()
    assert "input: 3.5" in (live_home.home / "prices.yaml").read_text()
    (live_home.home / "prices.yaml").unlink()
    file.write_text(before)


def test_rules_are_added_without_writing_yaml(visitor: Visitor, live_home: LiveHome) -> None:
    page = visitor.go("settings/approvals.yaml")
    page.get_by_role("button", name="Add a rule").click()
    page.get_by_role("textbox", name="name", exact=True).fill(f"mine {HOSTILE}")
    page.get_by_role("textbox", name="tool", exact=True).fill("no_such_tool")
    expect(page.get_by_role("list", name="Problems")).to_contain_text("no_such_tool")
    page.get_by_role("textbox", name="tool", exact=True).fill("web_search")
    page.get_by_role("combobox", name="action", exact=True).select_option("ask")
    expect(page.get_by_role("list", name="Problems")).to_have_count(0)
    assert_accessible(page)
    page.get_by_role("button", name="Review and save").click()
    confirm(page, "Save")
    expect(page.get_by_text("approvals.yaml is saved", exact=True)).to_be_visible()
    file = live_home.home / "approvals.yaml"
    assert "action: ask" in file.read_text()
    harmless(page)
    file.unlink()


def test_other_machines_are_invited_drained_and_removed(visitor: Visitor) -> None:
    visitor.page.route(re.compile(r"/hosts(/|$)"), machines())
    page = visitor.go("health")
    checked = page.get_by_text(re.compile(r"\d+ checks passed"))
    expect(checked, "nothing above the table moves it any more").to_be_visible()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    table = page.get_by_role("region", name="Hosts", exact=True)
    north = table.get_by_role("row", name="north")
    expect(north).to_contain_text("gpu")
    expect(table.get_by_role("row", name="east")).to_contain_text("away")
    north.get_by_role("button", name="Actions for north").click()
    page.get_by_role("menuitem", name="Drain").click()
    confirm(page, "Drain")
    expect(north).to_contain_text("gets no new work")
    page.get_by_role("button", name="Invite a host").click()
    page.get_by_role("dialog").get_by_role("textbox", name="Name").fill("west")
    page.get_by_role("dialog").get_by_role("button", name="Create the invitation").click()
    expect(page.get_by_text("agiraph host join agiraph-invitation:1:abc")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    north.get_by_role("button", name="Actions for north").click()
    page.get_by_role("menuitem", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    held = page.get_by_role("dialog", name="Remove north anyway?")
    expect(held).to_contain_text(
        "shop/ada cannot be moved. Workers that cannot be moved are killed"
    )
    confirm(page, "Kill and remove")
    expect(north).to_have_count(0)
    harmless(page)


def test_health_of_the_home_is_shown_and_a_service_restarted(
    visitor: Visitor, live_home: LiveHome
) -> None:
    visitor.page.route(ILLS, failing_answers())
    page = visitor.go("health")
    expect(page.get_by_text(re.compile(r"\d+ checks passed"))).to_be_visible()
    page.get_by_role("row", name="clock human text").get_by_role(
        "button", name="Send again"
    ).click()
    expect(page.get_by_text("Sent to clock again", exact=True)).to_be_visible()
    expect(page.get_by_text("None. A message that crashes its receiver")).to_be_visible()
    page.get_by_role("row", name="phone").get_by_role("button", name="Test").click()
    expect(page.get_by_text("phone did not deliver the test message", exact=True)).to_be_visible()
    expect(page.get_by_text("ConnectError", exact=True)).to_be_visible()
    services = page.get_by_role("region", name="Services")
    clock = services.get_by_role("row").filter(has_text="clock")
    pid = clock.get_by_role("cell").nth(2)
    expect(pid).to_have_text(re.compile(r"\d+"))
    before = pid.text_content() or ""
    photograph(page, "health")
    clock.get_by_role("button", name="Actions for clock").click()
    page.get_by_role("menuitem", name="Restart").click()
    expect(pid).not_to_have_text(before)
    expect(clock).to_contain_text("ready")
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_text("No server is configured. Add servers")).to_be_visible()
    agent_that_stays(live_home, "healthy")
    team = page.get_by_role("main").get_by_role("region", name="healthy")
    expect(team.get_by_role("row").filter(has_text="coordinator")).to_be_visible()
    team.get_by_role("button", name=re.compile("Actions for healthy")).click()
    page.get_by_role("menuitem", name="Kill").click()
    confirm(page, "Kill")
    expect(team).to_contain_text("asks you")
    page.set_viewport_size(NARROW)
    expect(page.get_by_role("heading", name="Processes")).to_be_visible()
    assert not is_too_wide(page)


def test_spending_is_shown_and_limited(visitor: Visitor, live_home: LiveHome) -> None:
    agent = agent_that_stays(live_home, "spending")
    page = visitor.go("usage")
    rows = page.get_by_role("region", name="Spending by")
    expect(rows.get_by_role("row").filter(has_text="spending")).to_be_visible()
    bars = page.get_by_role("group", name="US dollars of the last 30 days")
    expect(bars.get_by_role("img")).to_have_count(30)
    page.get_by_role("combobox", name="Agent").select_option(label="spending")
    page.get_by_role("tab", name="Model").click()
    expect(rows).to_contain_text("openai/fake")
    page.get_by_role("button", name="Set a budget").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Period").select_option("day")
    form.get_by_label("US dollars").fill("2.5")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("prices.yaml")
    form.get_by_label("US dollars").fill("")
    form.get_by_label("Tokens").fill("500000")
    assert_accessible(page)
    form.get_by_role("button", name="Save").click()
    expect(form).to_be_hidden()
    expect(page.get_by_text("of 500,000 tokens")).to_be_visible()
    with Client.for_home(live_home.home) as client:
        [budget] = [one for one in client.budgets(agent=agent) if one.period == "day"]
    assert (budget.tokens, budget.is_own) == (500_000, True)
    page.reload()
    expect(page.get_by_role("tab", name="Model")).to_have_attribute("aria-selected", "true")
    photograph(page, "usage")
    page.get_by_role("button", name="Change the budget of spending").click()
    form.get_by_role("button", name="Use the budget of the settings").click()
    expect(form).to_be_hidden()
    expect(page.get_by_text("of 500,000 tokens")).to_have_count(0)


def test_a_trigger_is_planned_added_fired_and_cancelled(
    visitor: Visitor, live_home: LiveHome
) -> None:
    agent = agent_that_stays(live_home, "waking")
    page = visitor.go(f"agents/{agent}/triggers")
    expect(page.get_by_text("No triggers yet")).to_be_visible()
    page.get_by_role("button", name="Add a trigger").click()
    form = page.get_by_role("dialog")
    expect(form.get_by_role("status").get_by_role("listitem")).to_have_count(5)
    form.get_by_label("Schedule").fill("61 * * * *")
    expect(form.get_by_role("status")).to_contain_text("cron '61 * * * *'")
    form.get_by_label("When", exact=True).select_option("heartbeat")
    form.get_by_label("Every").fill("30m")
    form.get_by_label("Task").fill(f"Look again {HOSTILE}")
    form.get_by_label("Name").fill("mornings")
    expect(form.get_by_role("status").get_by_role("listitem")).to_have_count(5)
    assert_accessible(page)
    form.get_by_role("button", name="Add a trigger").click()
    expect(form).to_be_hidden()
    row = page.get_by_role("main").get_by_role("listitem").filter(has_text="mornings")
    expect(row).to_contain_text("every 30 min")
    expect(row).to_contain_text(HOSTILE)
    expect(row).to_contain_text(re.compile("in (29|30)m"))
    photograph(page, "triggers")
    acts = row.get_by_role("button", name="Actions for mornings")
    acts.click()
    page.get_by_role("menuitem", name="Pause").click()
    expect(row).to_contain_text("paused")
    acts.click()
    page.get_by_role("menuitem", name="Resume").click()
    expect(row).not_to_contain_text("paused")
    acts.click()
    page.get_by_role("menuitem", name="Fire now").click()
    expect(row).to_contain_text("fired once")
    live_home.kill("clock")
    acts.click()
    page.get_by_role("menuitem", name="Cancel the trigger").click()
    confirm(page, "Cancel the trigger")
    expect(row).to_contain_text("cancelled")
    assert_accessible(page)
    harmless(page)


def test_events_are_found_followed_and_exported(
    visitor: Visitor, live_home: LiveHome, tmp_path: Path
) -> None:
    agent = agent_that_stays(live_home, "eventful")
    page = visitor.go(f"agents/{agent}/events")
    log = page.get_by_role("log", name="Events")
    expect(log.get_by_text("agent.created")).to_be_visible()
    live_home.command("triggers", agent, "add", HOSTILE, "--in", "2h")
    created = log.get_by_role("button").filter(has_text="trigger.created")
    expect(created).to_be_visible()
    live_home.kill("human")
    page.get_by_role("combobox", name="Type").select_option("trigger.*")
    expect(log.get_by_text("agent.created")).to_have_count(0)
    expect(created).to_have_count(1)
    created.click()
    expect(log.get_by_role("article")).to_contain_text("onerror=window.ran=1")
    assert_accessible(page)
    photograph(page, "events")
    address = page.url
    assert "type=trigger" in address
    assert "at=" in address
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "events.jsonl")
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert {json.loads(line)["type"] for line in lines} == {"trigger.created"}
    other = visitor.new_page()
    other.goto(address)
    expect(other.get_by_role("log").get_by_role("button", expanded=True)).to_have_count(1)
    live_home.command("triggers", agent, "pause", HOSTILE)
    expect(log.get_by_text("trigger.paused")).to_be_visible()
    harmless(page)

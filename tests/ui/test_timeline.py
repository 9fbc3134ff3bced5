"""The timeline of a run: activities of each entity, live, and waiting times."""

import re
from threading import Event

from playwright.sync_api import expect

from agiraph.http.api import CreateAgentRequest, RoleTeamRequest
from agiraph.http.client import Client
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import MODEL
from tests.scenarios.steps import DONE, FACT, held, publish, workers
from tests.ui.team import HOSTILE
from tests.ui.visitor import Visitor, assert_accessible, harmless, photograph

MODEL_CALL = re.compile("^model call")


def test_a_timeline_grows_and_shows_the_critical_path(
    visitor: Visitor, live_home: LiveHome
) -> None:
    gate = Event()
    live_home.plays(
        coordinator=workers("tim", "tom"), tim=[FACT, DONE], tom=[FACT, held(DONE, gate)]
    )
    agent = live_home.begin("timed")
    page = visitor.go(f"agents/{agent.name}/timeline")
    lines = page.get_by_role("listbox", name="Timelines of the entities")
    tom = lines.get_by_role("group", name="tom")
    expect(lines.get_by_role("group", name="tim").get_by_role("option").first).to_be_visible()
    expect(tom.get_by_role("option", name=re.compile("^node tom-facts"))).to_be_visible()
    until(lambda: "node.completed" in (agent / "events.jsonl").read_text(), "the end of tim's node")
    gate.set()  # tom's node ends last, so the critical path leads through it
    live_home.await_end(agent)
    path = page.locator("section").filter(has=page.get_by_role("heading", name="Critical path"))
    expect(path.get_by_role("link", name="tom-facts")).to_be_visible()
    expect(tom.get_by_role("option", name=MODEL_CALL).last).to_be_visible()

    tom.get_by_role("option", name=re.compile("^node tom-facts")).click()
    chosen = page.locator("section").filter(has=page.get_by_role("heading", name="tom-facts"))
    expect(chosen.get_by_role("link", name="Show the node")).to_be_visible()
    page.get_by_role("button", name="Zoom in").click()
    lines.press("ArrowRight")
    expect(lines.get_by_role("option", selected=True)).to_have_attribute("aria-label", MODEL_CALL)
    tom.get_by_role("option", name=re.compile("^node tom-facts")).click()
    page.keyboard.press("0")
    expect(page.get_by_role("button", name="Zoom out")).to_be_disabled()
    assert_accessible(page)
    photograph(page, "timeline")
    page.get_by_role("button", name="As a table").click()
    expect(page.get_by_role("table")).to_contain_text("node tom-facts")
    assert_accessible(page)
    chosen.get_by_role("link", name="Show the node").click()
    expect(page).to_have_url(re.compile(f"/agents/{agent.name}/board/[0-9a-f]+$"))


def test_turns_of_a_role_team_appear_as_they_happen(visitor: Visitor, live_home: LiveHome) -> None:
    gate = Event()
    lead, developer = "project_manager", "software_developer"
    go = {"action": "message", "to_role": developer, "message": f"Build it {HOSTILE}"}
    back = {"action": "message", "to_role": lead, "message": "Built"}
    end = {"action": "finalize", "message": "Approved", "final_response": "Done"}
    live_home.plays(
        project_manager=[publish(result=go), publish(result=end)],
        software_developer=[held(publish(result=back), gate)],
    )
    asked = CreateAgentRequest(
        goal="Build it", name="roles", model=MODEL[1], roles=RoleTeamRequest(max_turns=7)
    )
    with Client.for_home(live_home.home) as client:
        agent = client.create_agent(asked).id
    live_home.begun.append(agent)
    page = visitor.go(f"agents/{agent}/communication")
    turns = page.get_by_role("log", name="Turns")
    expect(turns).to_contain_text(f"1. {lead} → {developer}")
    expect(turns).to_contain_text(f"{developer} has the next turn, of at most 7.")
    gate.set()
    expect(turns).to_contain_text(f"3. {lead} → user")
    expect(turns).to_contain_text("The lead role has ended the work.")
    pairs = page.get_by_role("list", name="Senders and receivers")
    expect(pairs.get_by_role("listitem")).to_have_count(3)
    assert_accessible(page)
    photograph(page, "roles")
    pairs.get_by_role("button", name=f"{developer} to").click()
    expect(turns.get_by_role("article")).to_have_count(1)
    expect(turns).to_contain_text("Built")
    harmless(page)

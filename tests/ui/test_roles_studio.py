"""The Studio of the Agentic Team: a task and its turns, messages, roles, owners."""

from threading import Event

from playwright.sync_api import Locator, Page, expect

from agiraph.http.api import CreateAgentRequest, CreateTokenRequest, RoleTeamRequest
from agiraph.http.api.access import Scope
from agiraph.http.client import Client
from tests.fakes.model_server import Reply, SeenRequest
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import held, publish
from tests.ui.conftest import MakeVisitor
from tests.ui.team import DEVELOPER, MODEL, PM, QA, finalize, to
from tests.ui.visitor import NARROW, WIDE, Visitor, barriers, confirm, is_too_wide, photograph

NOTHING = publish(result={"action": "message", "message": ""})


def turns(page: Page) -> Locator:
    return page.get_by_role("log").get_by_role("article")


def edges(page: Page) -> Locator:
    return page.get_by_role("region", name="Messages between the roles").get_by_role("listitem")


def test_a_task_is_watched_turn_by_turn_and_followed_up(
    visitor: Visitor, live_home: LiveHome
) -> None:
    gate, said = Event(), list[str]()

    def lead(seen: SeenRequest) -> Reply:
        said.append(seen.system)
        steps = [
            to(DEVELOPER, "Implement it"),
            to(QA, "Look at it"),
            held(to(DEVELOPER, "Once more"), gate),
            finalize("All of it is **counted**."),
            finalize("Nothing is left."),
        ]
        return steps[len(said) - 1]

    live_home.plays(
        project_manager=lead,
        software_developer=[to(PM, "Implemented\n" * 40), to(PM, "Done")],
        qa_engineer=[NOTHING],
    )
    page = visitor.go("")
    page.get_by_role("navigation").get_by_role("link", name="Agentic Team").click()
    start = page.get_by_role("button", name="Start")
    page.get_by_role("textbox", name="Task").fill("Count <b>it</b>")
    page.get_by_role("textbox", name="Maximum number of turns").fill("201")
    expect(page.get_by_text("A number from 1 to 200.")).to_be_visible()
    expect(start).to_be_disabled()
    page.get_by_role("textbox", name="Maximum number of turns").fill("9")
    page.get_by_role("combobox", name="Model").fill("nowhere/x")
    expect(page.get_by_text("unknown provider 'nowhere'").first).to_be_visible()
    expect(start).to_be_disabled()
    page.get_by_role("combobox", name="Model").fill(MODEL[1])
    expect(page.get_by_text("All roles can work.")).to_be_visible()
    start.dblclick()

    expect(turns(page)).to_have_count(4)
    live_home.begun.append(page.url.rpartition("/")[2])
    expect(page.get_by_text("project manager is working", exact=True)).to_be_visible()
    expect(turns(page).nth(3)).to_contain_text("qa engineer → to project manager")
    expect(turns(page).nth(3)).to_contain_text("failed")
    whole = turns(page).nth(1).get_by_role("button", name="Show all of it")
    whole.click()
    expect(turns(page).nth(1).get_by_role("button", name="Show less")).to_be_visible()
    expect(edges(page)).to_have_text(
        [
            "project manager → to software developer 1×",
            "software developer → to project manager 1×",
            "project manager → to qa engineer 1×",
            "qa engineer → to project manager 1×latest",
        ]
    )
    faults = barriers(page)
    photograph(page, "roles")
    page.set_viewport_size(NARROW)
    for tab in ("Messages between the roles", "Log", "Timeline"):
        page.get_by_role("tab", name=tab).click()
        faults += [f"{tab} is too wide for a phone"] if is_too_wide(page) else []
    assert not faults, "\n".join(faults)
    page.set_viewport_size(WIDE)

    edges(page).first.get_by_role("button").click()
    expect(turns(page)).to_have_count(1)
    log = page.get_by_role("region", name="Turn 1: project manager → software developer")
    expect(log.get_by_role("listitem").last).to_contain_text("publish")
    page.keyboard.press("Escape")
    expect(turns(page)).to_have_count(4)
    page.get_by_role("button", name="Log of turn 4").click()
    expect(page.get_by_role("region", name="Turn 4: qa engineer → project manager")).to_be_visible()

    page.get_by_role("textbox", name="Send a message to the roles").fill("In numbers, please")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("The next turn receives your message", exact=True)).to_be_visible()
    gate.set()
    final = page.get_by_role("region", name="Final output")
    expect(final).to_contain_text("All of it is counted.")
    expect(edges(page).first).to_contain_text("2×")
    last = page.get_by_role("button", name="project manager to user finalize latest")
    expect(last).to_be_visible()
    live_home.server.wait_for(lambda seen: seen.is_for(DEVELOPER) and "In numbers" in seen.said)

    page.get_by_role("textbox", name="Next task").fill("And now the rest")
    expect(page.get_by_role("checkbox", name="Follow up")).to_be_checked()
    page.get_by_role("button", name="Start").click()
    expect(final).to_contain_text("Nothing is left.")
    assert "All of it is **counted**." in said[4], "a next task is told of the one before"
    tasks = page.get_by_role("list", name="Tasks of this agent")
    tasks.get_by_role("button", name="Task 1").click()
    expect(turns(page)).to_have_count(7)
    expect(final).to_contain_text("All of it is counted.")
    visitor.go("roles")
    mine = page.get_by_role("main").get_by_role("link", name="And now the rest")
    expect(mine).to_be_visible()


def test_roles_are_checked_while_typing_and_saved_only_if_usable(
    visitor: Visitor, live_home: LiveHome
) -> None:
    file = live_home.home / "agents.yaml"
    file.write_text("# ours\nagentic_team:\n  max_turns: 9   # short\n")
    try:
        page = visitor.go("roles/edit")
        write = page.get_by_role("button", name="Save", exact=True)
        tester = page.get_by_role("group", name="qa engineer")
        tester.get_by_role("combobox", name="Agent").fill("nowhere/x")
        expect(tester).to_contain_text("unknown provider 'nowhere'")
        expect(write).to_be_disabled()
        tester.get_by_role("combobox", name="Agent").fill("openai/gpt-4o")
        name = page.get_by_role("textbox", name="Name of the new role")
        name.fill("qa_engineer")
        expect(page.get_by_text("A role with this name exists.")).to_be_visible()
        name.fill("writer")
        name.press("Enter")
        writer = page.get_by_role("group", name="writer")
        writer.get_by_role("textbox", name="Responsibilities").fill("Write the docs.")
        page.get_by_role("combobox", name="Lead role").select_option("writer")
        expect(write).to_be_enabled()
        photograph(page, "roles-edit")

        file.write_text("# theirs\n" + file.read_text())
        write.click()
        expect(page.get_by_text("agents.yaml has changed since you opened it.")).to_be_visible()
        page.get_by_role("button", name="Reload").click()
        expect(writer).to_have_count(0)
        tester.get_by_role("combobox", name="Agent").fill("openai/gpt-4o")
        expect(write).to_be_enabled()
        write.click()
        saved = page.get_by_text("Saved: the next task uses these roles", exact=True)
        expect(saved).to_be_visible()
        assert file.read_text() == (
            "# theirs\n# ours\nagentic_team:\n  max_turns: 9   # short\n"
            "  roles:\n    qa_engineer:\n      agent: openai/gpt-4o\n"
        )
    finally:
        file.unlink()


def test_agent_belongs_to_its_creator_and_others_may_only_look(
    live_home: LiveHome, make_visitor: MakeVisitor
) -> None:
    gate = Event()
    live_home.plays(project_manager=[held(finalize("It is done."), gate)])
    with Client.for_home(live_home.home) as client:
        asked = CreateAgentRequest(
            goal="Mine alone", name="mine", model=MODEL[1], roles=RoleTeamRequest()
        )
        agent = client.create_agent(asked).id
        live_home.begun.append(agent)
        secret = client.add_token(CreateTokenRequest(name="eva", scope="control")).token
        assert secret is not None
        scopes: tuple[Scope, ...] = ("control", "read")
        visitor = make_visitor()
        page = visitor.page
        for scope in scopes:
            with Client(client.url, secret) as eva:
                page.goto(client.url + eva.create_login_link(next="/ui/roles", scope=scope).path)
            expect(page.get_by_text("You have not given the roles a task yet.")).to_be_visible()
            expect(page.get_by_role("button", name="Start")).to_have_count(int(scope == "control"))
            visitor.go(f"roles/{agent}")
            expect(page.get_by_text("created with the token “home”")).to_be_visible()
            expect(page.get_by_text("project manager is working", exact=True)).to_be_visible()
            expect(page.get_by_role("button", name="Stop")).to_have_count(0)
            expect(page.get_by_role("textbox")).to_have_count(0)
        visitor.log_in(f"/ui/roles/{agent}")
        page.get_by_role("button", name="Stop").click()
        confirm(page, "Stop")
        expect(page.get_by_role("main")).to_contain_text("stopped")
        gate.set()

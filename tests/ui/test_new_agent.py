"""A new agent by the page: errors are shown before anything starts; it starts once."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import ask
from tests.ui.visitor import Visitor, assert_accessible, photograph


def test_a_new_agent_is_checked_and_started_once(
    visitor: Visitor, live_home: LiveHome, tmp_path: Path
) -> None:
    live_home.plays(coordinator=[ask("Shall I begin?")])
    page = visitor.go("")
    page.get_by_role("main").get_by_role("link", name="New agent").click()
    create = page.get_by_role("button", name="Create and start")
    expect(create).to_be_disabled()
    goal = page.get_by_role("textbox", name="Goal")
    goal.fill("Find <b>nothing</b>")
    page.get_by_role("combobox", name="Model", exact=True).fill("openai/fake")
    folder = page.get_by_role("textbox", name="Input folder")
    folder.fill("/no/such/folder")
    expect(folder).to_have_attribute("aria-invalid", "true")
    expect(create).to_be_disabled()
    assert_accessible(page)
    photograph(page, "new-agent")
    page.reload()
    expect(goal).to_have_value("Find <b>nothing</b>")

    folder.fill(str(tmp_path))
    expect(folder).not_to_have_attribute("aria-invalid", "true")
    page.get_by_role("textbox", name="Tokens").fill("many")
    expect(page.get_by_text("is not a number above 0")).to_be_visible()
    expect(create).to_be_disabled()
    page.get_by_role("textbox", name="Tokens").fill("1,000,000")
    page.get_by_label("Plan file").set_input_files(
        {"name": "plan.yaml", "mimeType": "text/yaml", "buffer": b"nodes: 7"}
    )
    expect(page.get_by_role("main")).to_contain_text("It cannot start yet.")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("main")).to_contain_text("It can start.")

    page.get_by_role("textbox", name="Name").fill("made-here")
    live_home.kill("human")
    create.dblclick()
    expect(page).to_have_url(re.compile("/ui/agents/made-here-[0-9a-f]+$"))
    expect(page.get_by_role("banner")).to_contain_text("asks you")
    made = [one for one in live_home.json("agents") if one["name"] == "made-here"]
    live_home.begun += [one["id"] for one in made]
    assert [one["goal"] for one in made] == ["Find <b>nothing</b>"]
    visitor.go("new")
    expect(goal).to_have_value("")

"""The work board of a real team: it grows live; a node is looked at, cancelled and run again."""

import re
from threading import Event
from typing import Any

from playwright.sync_api import Page, expect

from tests.fakes.model_server import Reply, call, calls
from tests.scenarios.place import Place
from tests.scenarios.steps import (
    WAIT,
    Plays,
    bash,
    finish,
    held,
    node,
    publish,
    spawn,
    tell,
    write,
)
from tests.ui.visitor import Visitor, assert_accessible, photograph

HOSTILE = "<img src=x onerror=alert(1)>"
REPORT = """# Comparison

| vendor | price | memory |
| --- | ---: | --- |
| NVIDIA | $30,000 | 141 GB |
| AMD | $15,000 | 192 GB |

AMD costs **half** as much.
"""


def researcher(company: str, gate: Event | None = None) -> Plays:
    """Write what is known of a company; hold it back until the gate is open."""
    found = f"# {company}\n\n- many TFLOPS\n- much memory\n"
    return [
        call("checkpoint", summary=f"Read three pages about {company}"),
        tell("coordinator", f"{company} publishes no prices. Shall I estimate?"),
        write("findings.md", found),
        held(publish(f"{company}'s chips are described, with prices and memory."), gate),
    ]


def card(page: Page, name: str) -> Any:
    """Return the card of a node."""
    return page.locator(f'[data-node="{name}"]')


def test_a_board_grows_live_and_its_nodes_are_acted_on(visitor: Visitor, place: Place) -> None:
    later, slow = Event(), Event()
    leads: list[Reply] = [
        calls(spawn("ada"), spawn("bob"), spawn("cleo"), spawn("dora", role="writer")),
        calls(
            node("nvidia-chips", "ada", role="researcher", labels=["hardware"]),
            node("amd-chips", "bob", role="researcher", checks=["test -s findings.md"]),
            node("intel-chips", "cleo", role="researcher", task=f"Look at {HOSTILE}"),
        ),
        held(
            node(
                "report",
                "dora",
                role="writer",
                dependencies=["nvidia-chips", "amd-chips"],
                refs={"amd": "amd-chips", "nvidia": "nvidia-chips"},
            ),
            later,
        ),
        WAIT,
        WAIT,
        finish("Compared."),
    ]
    place.plays(
        coordinator=leads,
        ada=researcher("NVIDIA"),
        bob=researcher("AMD"),
        cleo=[bash("echo half > notes.md; sleep 300.093")],
        dora=[write("report.md", REPORT), held(publish("AMD costs half as much."), slow)],
    )
    folder = place.begin("chips", goal="Compare AI chips")
    agent = folder.name
    page = visitor.go(f"agents/{agent}/board")
    expect(card(page, "intel-chips")).to_contain_text("cleo")
    expect(card(page, "nvidia-chips")).to_contain_text("completed")
    assert card(page, "report").count() == 0
    later.set()
    expect(card(page, "report")).to_contain_text("running")
    photograph(page, "board")

    card(page, "amd-chips").click()
    panel = page.get_by_role("complementary", name="Node")
    expect(panel.get_by_role("heading", name="amd-chips")).to_be_visible()
    expect(panel).to_contain_text("with prices and memory")
    expect(panel.get_by_text("test -s findings.md")).to_be_visible()
    expect(panel.get_by_text("passed")).to_be_visible()
    expect(panel.get_by_text("much memory")).to_be_visible()
    panel.get_by_role("tab", name="Task").click()
    expect(panel.get_by_text("Do amd-chips").first).to_be_visible()
    panel.get_by_role("tab", name="Log").click()
    expect(panel.get_by_role("region", name="Log")).to_contain_text("checkpoint")
    photograph(page, "board-node")
    assert_accessible(page)

    card(page, "intel-chips").click()
    expect(panel.get_by_text(HOSTILE).first).to_be_visible()
    place.kill(f"coordinator {agent}")
    panel.get_by_role("button", name="Cancel node").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Why").fill("No longer needed")
    assert_accessible(page)
    dialog.get_by_role("button", name="Cancel node").click()
    expect(card(page, "intel-chips")).to_contain_text("cancelled by the human")
    expect(panel.get_by_label("Reason")).to_contain_text("No longer needed")
    slow.set()
    place.await_end(folder)

    card(page, "report").click()
    expect(panel.get_by_role("cell", name="$15,000")).to_be_visible()
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile("focus=1"))
    photograph(page, "board-focus")
    page.keyboard.press("t")
    table = page.get_by_role("region", name="Stage 1")
    expect(table.get_by_role("row")).to_have_count(4)  # the focus leaves intel-chips out
    page.keyboard.press("Escape")
    page.go_back()

    page = visitor.go(f"agents/{agent}/communication")
    pairs = page.get_by_role("list", name="Who wrote to whom")
    expect(pairs.get_by_role("listitem")).to_have_count(2)
    photograph(page, "communication")
    pairs.get_by_role("button", name="bob").click()
    expect(page.get_by_role("log")).to_contain_text("AMD publishes no prices")
    expect(page).to_have_url(re.compile("from=bob&to=coordinator"))

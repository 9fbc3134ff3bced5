"""The work board of a real team, live: nodes are looked at, run again, moved and cancelled."""

import re
from threading import Event

from playwright.sync_api import Locator, Page, expect

from tests.fakes.model_server import Reply, Responder, SeenRequest, call, calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import (
    WAIT,
    Plays,
    bash,
    finish,
    held,
    node,
    place_of,
    publish,
    spawn,
    tell,
    write,
)
from tests.ui.visitor import Visitor, assert_accessible, photograph

HOSTILE = "<img src=x onerror=alert(1)>"
SLOW = bash("echo half > notes.md; sleep 300.093")
REPORT = """# Comparison

| vendor | price | memory |
| --- | ---: | --- |
| NVIDIA | $30,000 | 141 GB |
| AMD | $15,000 | 192 GB |

AMD costs **half** as much.
"""


def researcher(company: str, colleague: str) -> Plays:
    """Write the known facts about a company; the second time there are more."""

    def play(seen: SeenRequest) -> Reply:
        name, step = place_of(seen)
        if name == "intel-chips":
            return SLOW
        memory = "more" if "This is attempt 2" in seen.said else "much"
        return [
            call("checkpoint", summary=f"Read three pages about {company}"),
            tell(colleague, f"{company} publishes no prices. Shall I estimate?"),
            write("findings.md", f"# {company}\n\n- many TFLOPS\n- {memory} memory\n"),
            publish(f"{company}'s chips are described, with prices and memory."),
        ][step]

    return [play] * 12


def ends(seen: SeenRequest) -> Reply:
    """Wait until the report is there."""
    is_there = any("half as much" in result for result in seen.results("wait"))
    return finish("Compared.") if is_there else WAIT


def card(page: Page, name: str) -> Locator:
    """Return the card of a node."""
    return page.locator(f'[data-node="{name}"]')


def run_again(panel: Locator, dialog: Locator, because: str) -> None:
    panel.get_by_role("button", name="Run again").click()
    dialog.get_by_label("Reason").fill(because)
    dialog.get_by_role("button", name="Run again").click()


def the_address_of_a_node_shows_it_large_enough_to_be_read(page: Page, address: str) -> None:
    usual = page.viewport_size
    assert usual is not None
    page.set_viewport_size({"width": 1100, "height": 420})  # the whole board is small in it
    page.goto(f"{page.url.partition('/agents/')[0]}/agents/{address}")
    expect(card(page, "report")).to_be_in_viewport(ratio=1)
    large = "element => element.getBoundingClientRect().width >= 0.8 * element.offsetWidth"
    page.wait_for_function(large, arg=card(page, "report").element_handle())
    page.set_viewport_size(usual)


def test_a_board_grows_live_and_its_nodes_are_acted_on(
    visitor: Visitor, live_home: LiveHome
) -> None:
    later, slow = Event(), Event()
    leads: list[Reply | Responder] = [
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
        *[ends] * 12,
    ]
    live_home.plays(
        coordinator=leads,
        ada=researcher("NVIDIA", "bob"),
        bob=researcher("AMD", "coordinator"),
        cleo=[SLOW],
        dora=[write("report.md", REPORT), held(publish("AMD costs half as much."), slow)],
    )
    folder = live_home.begin("chips", goal="Compare AI chips")
    agent = folder.name
    page = visitor.go(f"agents/{agent}/board")
    expect(card(page, "intel-chips")).to_contain_text("cleo")
    expect(card(page, "nvidia-chips")).to_contain_text("completed")
    assert card(page, "report").count() == 0
    card(page, "amd-chips").click()
    panel = page.get_by_role("complementary", name="Node")
    dialog = page.get_by_role("dialog")
    run_again(panel, dialog, "Look for more")
    expect(card(page, "amd-chips")).to_contain_text(re.compile("completed.*attempt 2", re.DOTALL))
    page.keyboard.press("Escape")
    later.set()
    expect(card(page, "report")).to_contain_text("running")
    photograph(page, "board")

    card(page, "amd-chips").click()
    expect(panel.get_by_role("heading", name="amd-chips")).to_be_visible()
    expect(panel).to_contain_text("with prices and memory")
    expect(panel.get_by_text("test -s findings.md")).to_be_visible()
    expect(panel.get_by_text("passed")).to_be_visible()
    expect(panel.get_by_text("more memory")).to_be_visible()
    panel.get_by_label("Compare with").select_option("1")
    differs = panel.get_by_role("region", name="Difference")
    expect(differs).to_contain_text(re.compile("- much memory.*- more memory", re.DOTALL))
    run_again(panel, dialog, "And more")
    expect(page.get_by_text("report began with its result").first).to_be_visible()
    page.keyboard.press("Escape")
    dialog.get_by_role("button", name="Close").last.click()
    expect(panel).to_be_visible()
    panel.get_by_role("tab", name="Task").click()
    expect(panel.get_by_text("Do amd-chips").first).to_be_visible()
    panel.get_by_role("tab", name="Log").click()
    expect(panel.get_by_role("region", name="Log")).to_contain_text("checkpoint")
    photograph(page, "board-node")
    assert_accessible(page)

    card(page, "intel-chips").click()
    expect(panel.get_by_text(HOSTILE).first).to_be_visible()
    panel.get_by_role("button", name="Move").click()
    dialog.get_by_label("Worker").select_option("ada · worker")
    dialog.get_by_role("button", name="Move node").click()
    expect(card(page, "intel-chips")).to_contain_text(re.compile("attempt 2.*ada", re.DOTALL))
    page.keyboard.press("m")
    written = page.locator(".react-flow__edge.message")
    expect(written).to_have_text("1")
    live_home.kill(f"coordinator {agent}")
    panel.get_by_role("button", name="Cancel node").click()
    dialog.get_by_label("Reason").fill("No longer needed")
    assert_accessible(page)
    dialog.get_by_role("button", name="Cancel node").click()
    expect(card(page, "intel-chips")).to_contain_text("cancelled by the human")
    expect(panel.get_by_label("Reason")).to_contain_text("No longer needed")
    slow.set()
    live_home.await_end(folder)

    page.get_by_role("button", name="History").click()
    slider = page.get_by_role("slider", name="History")
    slider.fill("0")
    expect(page.get_by_text("No work yet")).to_be_visible()
    slider.fill("12")
    expect(card(page, "nvidia-chips")).to_be_visible()
    expect(card(page, "report")).to_have_count(0)
    page.get_by_role("button", name="Back to the current state").click()

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
    the_address_of_a_node_shows_it_large_enough_to_be_read(page, f"{agent}/board/report")

    page = visitor.go(f"agents/{agent}/communication")
    pairs = page.get_by_role("list", name="Senders and receivers")
    expect(pairs.get_by_role("listitem")).to_have_count(2)
    photograph(page, "communication")
    pairs.get_by_role("button", name="bob to").click()
    expect(page.get_by_role("log")).to_contain_text("AMD publishes no prices")
    expect(page).to_have_url(re.compile("from=bob&to=coordinator"))

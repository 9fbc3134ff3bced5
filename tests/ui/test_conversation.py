"""Talking with an entity in the browser: its thread as it grows, and the way back through it."""

import contextlib
import json
import operator
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from agiraph.core.turns import AssistantTurn
from tests.fakes.model_server import Call, Reply, Responder, SeenRequest, calls, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import DONE, WAIT, ask, bash, finish, held, node, spawn, tell
from tests.ui.visitor import NARROW, Visitor, assert_accessible, connection, photograph

STORY: Final = "Once upon a time there was a **table**:\n\n| a | b |\n| - | - |\n| 1 | 2 |"
HOSTILE: Final = (
    "</p><script>window.ran=1</script><img src=x onerror=window.ran=1> "
    "[a](javascript:window.ran=1) ![b](x) <svg onload=window.ran=1> {{constructor}}"
)
BUSY: Final = (spawn("dora"), node("tales", "dora"))
"""A working entity, so that the coordinator may wait."""

Rows = dict[str | None, list[str]]

MANY: Final = 1_000
MOST_ROWS: Final = 120


def entries(page: Page, kind: str) -> Locator:
    return page.get_by_role("log").locator(f"[data-entry={kind}]")


def field(page: Page) -> Locator:
    return page.get_by_role("combobox", name=re.compile("^Write to"))


def write(page: Page, text: str) -> None:
    field(page).fill(text)
    field(page).press("Enter")


def said_by(seen: SeenRequest) -> str:
    """Return all that the model has said."""
    return " ".join(turn.text or "" for turn in seen.turns if isinstance(turn, AssistantTurn))


def storyteller(gate: threading.Event) -> Responder:
    def responder(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return calls(*BUSY, text="I look for help.")
        if "a story" in seen.said and STORY not in said_by(seen):
            return replace(say(STORY), text_gate=gate)
        return WAIT

    return responder


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """Return an event that delays a worker for as long as the test runs."""
    gate = threading.Event()
    yield gate
    gate.set()


def test_a_dialogue_with_a_coordinator(
    visitor: Visitor, live_home: LiveHome, never: threading.Event
) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=storyteller(gate), dora=[held(DONE, never)])
    agent = live_home.begin("dialogue", goal="Tell **stories**").name
    page = visitor.go(f"agents/{agent}")

    expect(entries(page, "event").first).to_contain_text("Tell stories")
    expect(entries(page, "thought")).to_have_text(re.compile("I look for help."))
    call = page.get_by_role("button", name=re.compile("spawn_worker"))
    call.click()
    expect(entries(page, "tool").first).to_contain_text("worker_id")

    field(page).fill("Tell me a story")
    page.reload()
    expect(field(page)).to_have_value("Tell me a story")
    field(page).press("Enter")
    expect(entries(page, "stream")).to_contain_text("Once upon")
    expect(entries(page, "message")).to_have_text([re.compile("Tell me a story")])
    photograph(page, "conversation-streams")
    gate.set()
    expect(page.get_by_role("cell", name="2").last).to_be_visible()
    expect(entries(page, "stream")).to_have_count(0)
    expect(entries(page, "message")).to_have_count(2)

    content = {"name": "data.csv", "mimeType": "text/csv", "buffer": b"a,b\n"}
    page.locator("input[type=file]").set_input_files(content)  # type: ignore[arg-type]
    field(page).fill("@d")
    page.get_by_role("option", name="@dora").click()
    expect(page.get_by_text("to dora")).to_be_visible()
    entries(page, "message").first.get_by_role("button", name="Reply").click()
    field(page).fill("Look at this")
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    field(page).press("Enter")
    expect(entries(page, "message").last.get_by_role("link", name="data.csv")).to_be_visible()
    expect(entries(page, "message").last).to_contain_text("You Tell me a story")
    attached = "Attached: _attachments/data.csv"
    until(
        lambda: attached in json.dumps(live_home.json("messages", agent)), "the message in the list"
    )

    page.keyboard.press("Control+f")
    page.keyboard.type("upon")
    expect(page.get_by_role("search")).to_contain_text("1 of 1")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Results only").click()
    expect(entries(page, "tool")).to_have_count(0)
    page.reload()
    expect(entries(page, "message")).to_have_count(3)
    expect(entries(page, "tool")).to_have_count(0)
    page.get_by_role("button", name="Everything").click()
    expect(entries(page, "tool").first).to_be_visible()
    photograph(page, "conversation")
    assert_accessible(page)


def echo(seen: SeenRequest) -> Reply:
    """Answer the last number that the person has sent, once."""
    if seen.step == 0:
        return calls(*BUSY)
    numbers = re.findall(r"Number (\d+)", seen.said)
    word = f"Echo {numbers[-1]}." if numbers else "Ready."
    return WAIT if word in said_by(seen) else say(word)


def test_killed_gateway_causes_no_gap_and_no_duplicate(
    visitor: Visitor, live_home: LiveHome, never: threading.Event
) -> None:
    live_home.plays(coordinator=echo, dora=[held(DONE, never)])
    agent = live_home.begin("echoes").name
    page = visitor.go(f"agents/{agent}")
    page.set_viewport_size({"width": 1440, "height": 6000})  # every row is there
    expect(entries(page, "message")).to_have_text([re.compile("Ready")])
    said: list[str] = []
    for number in (1, 2):
        live_home.kill("human")
        for text in (f"Number {number}", f"Also {number}"):
            write(page, text)
            said.append(text)
        expect(page.get_by_role("log")).to_contain_text(f"Echo {number}.")
        expect(entries(page, "pending")).to_have_count(0)
    expect(connection(page)).to_have_text("Live")
    expect_thread(page, live_home, agent)
    mine = [one["content"] for one in live_home.json("messages", agent) if one["from"] == "human"]
    assert mine == said
    expect(entries(page, "stream")).to_have_count(0)
    shown = keys(page)
    assert len({*shown}) == len(shown)
    page.reload()
    expect_thread(page, live_home, agent)
    until(lambda: {*shown[-5:]} <= {*keys(page)}, "the same rows")
    read = keys(page)
    assert len({*read}) == len(read)


def keys(page: Page, selector: str = "[data-key]") -> list[str]:
    """Return the keys of the rows of the thread, in their order."""
    found = page.get_by_role("log").locator(selector)
    return [str(one) for one in found.evaluate_all("all => all.map((e) => e.dataset.key)")]


def expect_thread(page: Page, live_home: LiveHome, agent: str) -> None:
    """Wait until the messages of an agent are rows, each once, in order for each sender.

    Of two that cross each other the page shows first what was sent first; the log, what came first.
    """

    def compared() -> tuple[Rows, Rows]:
        senders = {one["id"]: one["from"] for one in live_home.json("messages", agent)}
        return by_sender(keys(page, "[data-entry=message]"), senders), by_sender(senders, senders)

    with contextlib.suppress(AssertionError):
        until(lambda: operator.eq(*compared()), "the whole thread")
    shown, wanted = compared()
    assert shown == wanted


def by_sender(found: Iterable[str], senders: Mapping[str, str]) -> Rows:
    """Return keys of messages in their order, by sender."""
    rows = list(found)
    return {
        who: [key for key in rows if senders.get(key) == who] for who in (*senders.values(), None)
    }


SAME: Final = "Go on."
BROKEN: Final = '{"command": "cat '


def repeating(seen: SeenRequest) -> Reply:
    """Send one text to two receivers, think it and say it."""
    steps = (calls(*BUSY), calls(tell("human", SAME), tell("dora", SAME), text=SAME), say(SAME))
    return steps[seen.step] if seen.step < len(steps) else WAIT


def test_equal_texts_and_each_text_of_the_runtime_are_shown_once(
    visitor: Visitor, live_home: LiveHome, never: threading.Event
) -> None:
    work = calls(bash("seq -s , 1 300"), Reply(calls=(Call("bash", raw=BROKEN),)))
    live_home.plays(coordinator=repeating, dora=[work, held(DONE, never)])
    agent = live_home.begin("equal-texts").name
    page = visitor.go(f"agents/{agent}")
    expect(entries(page, "message")).to_have_text([re.compile(re.escape(SAME))] * 2)
    write(page, SAME)
    write(page, f"@dora {SAME}")
    until(lambda: len(live_home.json("messages", agent)) == 5, "each text is sent once")
    expect(entries(page, "pending")).to_have_count(0)
    for _ in range(2):
        expect(entries(page, "message")).to_have_text([re.compile(re.escape(SAME))] * 3)
        expect(entries(page, "thought")).to_have_text([re.compile(re.escape(SAME))])
        expect(entries(page, "heard")).to_have_text([re.compile(f"Message to dora.*{SAME}")])
        assert len({*keys(page)}) == len(keys(page))
        page.reload()

    visitor.go(f"agents/{agent}/with/dora")
    expect(entries(page, "heard")).to_have_text([re.compile(f"Message from Coordinator.*{SAME}")])
    expect(entries(page, "message")).to_have_text([re.compile(re.escape(SAME))])
    given = entries(page, "event").filter(has_text="gets the node tales")
    given.get_by_role("button", name="Unfold").click()
    expect(given).to_contain_text("Do tales")
    good, broken = (entries(page, "tool").nth(number) for number in range(2))
    expect(broken).to_contain_text(BROKEN)
    good.get_by_role("button", name="bash").click()
    expect(good).to_contain_text(",298,299,300")
    photograph(page, "conversation-worker")


def test_hostile_texts_run_nothing(visitor: Visitor, live_home: LiveHome) -> None:
    steps = [
        calls(tell("human", HOSTILE), spawn("eve", role=HOSTILE[:60]), text=HOSTILE),
        ask(HOSTILE, options=[HOSTILE[:80], "no"]),
        finish(HOSTILE),
        say(HOSTILE),  # the answer to a message after the end
    ]
    live_home.plays(lambda seen: steps[min(seen.step, len(steps) - 1)])
    agent = live_home.begin("hostile-talk", goal=HOSTILE).name
    page = visitor.go(f"agents/{agent}")
    expect(entries(page, "message")).to_have_count(2)
    page.get_by_role("button", name=re.compile("spawn_worker")).click()
    expect(page.get_by_role("region", name=re.compile("open question"))).to_be_visible()
    page.locator("body").press("q")
    page.get_by_role("button", name=re.compile(r"^no\b")).click()
    expect(page.get_by_text("The goal is met")).to_be_visible()
    write(page, HOSTILE)
    mine = entries(page, "message").filter(has=page.get_by_role("article", name="You"))
    expect(mine.last).to_contain_text("{{constructor}}")
    expect(entries(page, "message").last).to_contain_text(re.compile("^★.*{{constructor}}", re.S))
    assert page.evaluate("window.ran") is None
    links = page.get_by_role("log").locator("a").evaluate_all("all => all.map((a) => a.href)")
    assert not [one for one in links if one.startswith("javascript")]
    expect(page.get_by_role("button", name="Start another run")).to_be_visible()


def thread_of(route: Route) -> None:
    """Answer with pages of a thread of many thoughts and a message at the end."""
    query = parse_qs(urlsplit(route.request.url).query)
    end = min(MANY + 1, int(query["before"][0]) - 1) if "before" in query else 0
    numbers = range(max(0, end - int(query["limit"][0])) + 1, end + 1)
    found: list[dict[str, Any]] = [
        {
            "id": f"entry-{number}",
            "seq": number,
            "changed": number,
            "ts": 1_700_000_000 + number,
            "kind": "said" if number <= MANY else "message",
            "from": "coordinator",
            "to": [] if number <= MANY else ["human"],
            "content": f"Thought {number}\n\n" + "word " * (number % 50),
            "about": ["coordinator"],
            "is_interrupted": number % 2 == 0,
            **dict.fromkeys(
                ("run", "in_reply_to", "question_id", "answer", "number", "call", "event")
            ),
        }
        for number in numbers
    ]
    first = found[0]["seq"] if found else 1
    next = int(query["after"][0]) if "after" in query else MANY + 1
    route.fulfill(json={"entries": found, "next": next, "previous": first if first > 1 else None})


def test_a_thousand_entries_are_few_rows(visitor: Visitor, live_home: LiveHome) -> None:
    live_home.plays(coordinator=[ask("Shall I go on?")])
    agent = live_home.begin("long-talk").name
    page = visitor.page
    page.route("**/thread?**", thread_of)
    visitor.go(f"agents/{agent}")
    log = page.get_by_role("log")
    expect(entries(page, "message")).to_be_visible()
    frame = page.get_by_role("region", name="Conversation with coordinator")
    seen: list[int] = []
    while not seen or seen[-1] > 1:
        frame.evaluate("(e) => e.scrollTo(0, 0)")
        oldest = seen[-1] if seen else MANY + 1
        page.wait_for_function(
            """(before) => {
              const text = document.querySelector("[data-entry=thought]")?.innerText ?? "";
              const number = Number(/Thought (\\d+)/.exec(text)?.[1] ?? before);
              return number < before;
            }""",
            arg=oldest,
        )
        first = entries(page, "thought").first.inner_text()
        seen.append(int(re.findall(r"Thought (\d+)", first)[0]))
        assert log.locator("[data-entry]").count() < MOST_ROWS
    expect(page.get_by_text("The beginning of the conversation")).to_be_visible()
    page.get_by_role("button", name="Latest").click()
    expect(entries(page, "message")).to_be_visible()
    assert log.locator("[data-entry]").count() < MOST_ROWS
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]

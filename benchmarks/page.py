"""The web UI as somebody sees it: how soon it shows itself and what happens, and how it moves.

A real Chromium without a screen looks at a real gateway, whose team (`benchmarks/page_team.py`)
does as it is told. Chromium draws in software, on the cores that the team needs too: what it can do
at most is measured in the same run, on an empty page with one thing that moves.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import psutil
from playwright.sync_api import Browser, CDPSession, Page, expect, sync_playwright

from benchmarks import page_team
from benchmarks.page_team import WORKER
from benchmarks.product import Options, RunningHome, percentile, progress, wait_until
from benchmarks.report import Figure, at_least, at_most
from frontend.build import built
from tests.ui.chromium import ARGS, chromium
from tests.ui.visitor import Visitor, connection

RATE: Final = 200
SECONDS, SOAK_SECONDS = 10.0, 60.0
ENTRIES, NODES = 10_000, 500
QUICK_ENTRIES, QUICK_NODES = 1_500, 150
COLD_MS, WARM_MS, PIXELS_MS, FRAME_MS, GROWTH_MB, FRAMES_A_SECOND = 1000, 400, 150, 100, 150, 50
PATIENCE_MS: Final = 60_000
MOST_IN_PAGE: Final = 80
SCROLLED, SCROLL_SPEED = 12_000, 2_400
"""Pixels, and pixels a second."""

SCRIPT: Final = """
(() => {
  const epoch = () => performance.timeOrigin + performance.now();
  const isThere = (selector, text) =>
    Array.from(document.querySelectorAll(selector)).slice(-9)
      .some((element) => element.textContent.includes(text));
  const bench = (window.bench = { gaps: [], tasks: [] });
  bench.seen = (selector, text = "") => new Promise((done) => {
    const look = () => requestAnimationFrame(
      () => isThere(selector, text) ? requestAnimationFrame(() => done(epoch())) : look());
    look();
  });
  bench.watch = () => {
    bench.gaps = [];
    bench.tasks = [];
    let last = 0;
    const tick = (now) => {
      if (last) bench.gaps.push(now - last);
      last = now;
      bench.frame = requestAnimationFrame(tick);
    };
    cancelAnimationFrame(bench.frame);
    bench.frame = requestAnimationFrame(tick);
  };
  bench.stop = () => {
    cancelAnimationFrame(bench.frame);
    return { gaps: bench.gaps, tasks: bench.tasks };
  };
  const note = (list) => bench.tasks.push(...list.getEntries().map((one) => one.duration));
  new PerformanceObserver(note).observe({ type: "longtask" });
})();
"""
CONTROL: Final = """<div style="width: 99px; height: 99px; background: teal"></div><script>
  const box = document.querySelector("div"), move = (now) => {
    box.style.transform = `translateX(${now % 1000}px)`;
    requestAnimationFrame(move);
  };
  requestAnimationFrame(move);
</script>"""


@dataclass(frozen=True, slots=True)
class Frames:
    """The milliseconds between frames, and those of tasks longer than 50."""

    gaps: list[float]
    tasks: list[float]

    @property
    def rate(self) -> float:
        """Return the frames a second."""
        return 1000 * len(self.gaps) / max(1.0, sum(self.gaps))

    @property
    def about(self) -> str:
        """Return how they came."""
        late = sum(gap > 20 for gap in self.gaps) / max(1, len(self.gaps))
        return (
            f"{self.rate:.0f} a second, median {statistics.median(self.gaps):.0f} ms,"
            f" {late:.0%} over 20 ms, longest {max(self.gaps):.0f} ms"
        )


class Screen:
    """One tab of somebody who is logged in, and what DevTools know of it."""

    def __init__(self, visitor: Visitor, browser: Browser) -> None:
        self.visitor, self.page = visitor, visitor.page
        self.devtools: CDPSession = visitor.context.new_cdp_session(self.page)
        self._browser = browser

    def show(self, path: str, selector: str) -> None:
        """Go to a page of the web UI; return when it shows something and is live."""
        self.visitor.go(path)
        self.page.locator(selector).first.wait_for()
        expect(connection(self.page)).to_have_text("Live")

    def first_paint(self, path: str, selector: str) -> float:
        """Return the milliseconds until a page shows something, from when it is gone to."""
        self.page.goto(f"{self.visitor.url}/ui/{path}", wait_until="commit")
        seen = "async (selector) => await bench.seen(selector) - performance.timeOrigin"
        return float(self.page.evaluate(seen, selector))

    def frames(self, act: Callable[[], object]) -> Frames:
        """Return the frames that were drawn while something was done."""
        self.page.evaluate("bench.watch()")
        act()
        found = self.page.evaluate("bench.stop()")
        return Frames(found["gaps"], found["tasks"])

    def wheel(self, selector: str, x: int = 0, y: int = 0, times: int = 1) -> Frames:
        """Turn a mouse's wheel over something, to and fro; return the frames meanwhile.

        `x` and `y` are pixels.
        """
        box = self.page.locator(selector).first.bounding_box()
        assert box is not None
        gesture = {
            "x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2,
            "speed": SCROLL_SPEED, "gestureSourceType": "mouse", "preventFling": True,
        }  # fmt: skip

        def turn() -> None:
            for way in (1, -1) * times:
                distance = {"xDistance": way * x, "yDistance": way * y}
                self.devtools.send("Input.synthesizeScrollGesture", gesture | distance)

        return self.frames(turn)

    def heap_mb(self) -> float:
        """Return what scripts hold, once what they let go of is collected."""
        self.devtools.send("HeapProfiler.collectGarbage")
        return float(self.devtools.send("Runtime.getHeapUsage")["usedSize"]) / 1e6

    def renderer_mb(self) -> float:
        """Return the resident memory of all renderers."""
        session = self._browser.new_browser_cdp_session()
        rows = session.send("SystemInfo.getProcessInfo")["processInfo"]
        session.detach()
        pids = [row["id"] for row in rows if row["type"] == "renderer"]
        return sum(float(psutil.Process(pid).memory_info().rss) for pid in pids) / 1e6


@contextmanager
def _screen(home: RunningHome) -> Iterator[Screen]:
    found = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.path, args=[*ARGS], env={**os.environ, **found.environ}
        )
        visitor = Visitor(browser, home.folder)
        visitor.context.set_default_timeout(PATIENCE_MS)
        visitor.context.add_init_script(SCRIPT)
        visitor.page.emulate_media(reduced_motion="no-preference")
        expect.set_options(timeout=PATIENCE_MS)
        visitor.log_in()
        yield Screen(visitor, browser)
        visitor.close()
        browser.close()


ENTRY: Final = "[data-entry]"
NODE: Final = "[data-node]"
EVENT: Final = "[role=log] [data-index]"
THREAD: Final = f"[role=region][aria-label='Conversation with {WORKER}']"


def run(options: Options) -> list[Figure]:
    """Measure the first paint, the way from the log to the pixels, and frames."""
    built()
    entries = options.count(ENTRIES, QUICK_ENTRIES)
    nodes = options.count(NODES, QUICK_NODES)
    with page_team.running() as home:
        progress(f"a team of {nodes} nodes and {entries:,} entries")
        large = page_team.begin(home, "large", nodes, entries)
        small = page_team.begin(home, "small")
        with _screen(home) as screen:
            control = _control(screen)
            return [
                *_paints(screen, small, options.count(7, 3)),
                *_pixels(home, screen, small, options.count(30, 8)),
                *_flood(home, screen, large, SECONDS if not options.is_quick else 4.0),
                *_movement(screen, large, entries, control),
            ]


def run_soak(options: Options) -> list[Figure]:
    """Measure the frames of a minute of many events, and what the page holds after them."""
    built()
    seconds = options.count(int(SOAK_SECONDS), int(SECONDS))
    with page_team.running() as home:
        agent = page_team.begin(home, "busy", 50)
        with _screen(home) as screen:
            return _flood(home, screen, agent, seconds, has_memory=True)


def _control(screen: Screen) -> Frames:
    """Return the frames of an empty page on which one thing moves."""
    page = screen.visitor.context.new_page()
    page.set_content(CONTROL)
    page.evaluate("bench.watch()")
    page.wait_for_timeout(2000)
    found = page.evaluate("bench.stop()")
    page.close()
    return Frames(found["gaps"], found["tasks"])


def _paints(screen: Screen, agent: str, count: int) -> list[Figure]:
    progress("first paint")
    pages = {"the agents": ("", "main li a"), "a conversation": (f"agents/{agent}", ENTRY)}
    figures = []
    for what, (path, selector) in pages.items():
        screen.show(path, selector)
        cold = []
        for _ in range(count):
            screen.devtools.send("Network.clearBrowserCache")
            cold.append(screen.first_paint(path, selector))
        warm = [screen.first_paint(path, selector) for _ in range(count)]
        for how, aim, found in (("nothing cached", COLD_MS, cold), ("cached", WARM_MS, warm)):
            median = statistics.median(found)
            figures.append(
                at_most(f"web UI, from the address until {what} can be seen, {how}", f"{aim} ms",
                        median / aim, 1.0, f"median {median:.0f} ms, slowest {max(found):.0f} ms")
            )  # fmt: skip
    return figures


def _pixels(home: RunningHome, screen: Screen, agent: str, count: int) -> list[Figure]:
    """Measure from when an event can be read in the log until a frame with it has been drawn."""
    figures = []
    places = {
        "conversation": (f"agents/{agent}/with/{WORKER}", ENTRY, "note ", WORKER),
        "board": (f"agents/{agent}/board", NODE, "node mark-", None),
    }
    for what, (path, selector, order, to) in places.items():
        progress(f"from the log to the {what}")
        screen.show(path, NODE if what == "board" else f"{ENTRY}, {THREAD}")
        found = []
        for number in range(count):
            name = f"mark-{100 + number}"
            screen.page.evaluate(
                "([s, t]) => void (bench.mark = bench.seen(s, t))", [selector, name]
            )
            written = _written(home, agent, name, f"{order}{100 + number}", to)
            found.append(float(screen.page.evaluate("bench.mark")) - 1000 * written)
        median, late = statistics.median(found), percentile(found, 0.95)
        figures.append(
            at_most(f"web UI, from an event in the log to the pixels of the {what}",
                    f"{PIXELS_MS} ms", median / PIXELS_MS, 1.0,
                    f"median {median:.0f} ms, p95 {late:.0f} ms")
        )  # fmt: skip
    return figures


def _written(home: RunningHome, agent: str, name: str, order: str, to: str | None) -> float:
    """Give an order; return when (seconds since 1970) the event that it causes was in the log."""
    log = home.files(agent).events
    begun = log.stat().st_size
    home.client.send(agent, order, to=to)
    wanted = (b'"tool.refused"' if to else b'"node.created"', name.encode())

    def has_it() -> bool:
        with open(log, "rb") as file:
            file.seek(begun)
            return any(all(one in line for one in wanted) for line in file)

    wait_until(has_it, f"an event of {name}")
    return time.time()


def _flood(
    home: RunningHome, screen: Screen, agent: str, seconds: float, has_memory: bool = False
) -> list[Figure]:
    """Measure frames while a team reports many events, on each page that shows it."""
    pages = {
        "a conversation": (f"agents/{agent}/with/{WORKER}", ENTRY),
        "the board": (f"agents/{agent}/board", NODE),
        "the events page": (f"agents/{agent}/events", EVENT),
    }
    figures = []
    for what, (path, selector) in pages.items():
        progress(f"{RATE} events a second on {what}, {seconds:g} s")
        screen.show(path, selector)
        screen.page.wait_for_timeout(2000)
        heap, resident = (screen.heap_mb(), screen.renderer_mb()) if has_memory else (0.0, 0.0)
        frames = screen.frames(lambda: _work(home, screen.page, agent, seconds))
        longest = max(frames.gaps)
        seen = f"{frames.about}; longest task {max(frames.tasks, default=0):.0f} ms"
        figures.append(
            at_most(f"web UI, {RATE} events a second for {seconds:g} s: longest frame of {what}",
                    f"{FRAME_MS} ms", longest / FRAME_MS, 1.0, seen)
        )  # fmt: skip
        if has_memory:
            grown = screen.heap_mb() - heap
            count = f"{RATE * seconds:,.0f} events in {seconds:g} s"
            figures.append(
                at_most(f"web UI, memory of {what} after an hour of {RATE} events a minute",
                        f"{GROWTH_MB} MB more", grown / GROWTH_MB, 1.0,
                        f"{grown:.1f} MB more than {heap:.1f} MB of scripts;"
                        f" renderer {screen.renderer_mb() - resident:+.0f} MB; replayed: {count}")
            )  # fmt: skip
    return figures


def _work(home: RunningHome, page: Page, agent: str, seconds: float) -> None:
    """Have the team report events; return when the page has been told of the last ones."""
    before = home.client.agent(agent).last_event
    home.client.send(agent, f"work {RATE} {seconds:g}", to=WORKER)
    page.wait_for_timeout(1000 * seconds)
    last = before + RATE * seconds
    wait_until(lambda: home.client.agent(agent).last_event >= last, "the last event", 0.05)
    page.wait_for_timeout(500)


def _movement(screen: Screen, agent: str, entries: int, control: Frames) -> list[Figure]:
    """Measure scrolling through a long conversation, and moving a large board."""
    progress(f"{entries:,} entries")
    screen.show(f"agents/{agent}/with/{WORKER}", ENTRY)
    thread = screen.page.locator(THREAD)
    start = screen.page.get_by_text("The beginning of the conversation")
    while not start.is_visible():
        thread.evaluate("(e) => e.scrollTo(0, 0)")
        screen.page.wait_for_timeout(50)
    found = {f"scrolling in {entries:,} entries": screen.wheel(THREAD, y=-SCROLLED)}

    screen.show(f"agents/{agent}/board", NODE)
    screen.page.wait_for_timeout(1000)
    nodes = screen.page.locator(NODE).count()
    canvas = "[data-testid=rf__wrapper]"
    found[f"a board of {nodes} nodes, from far"] = screen.wheel(canvas, x=600, y=200, times=4)
    took = _found(screen, nodes)
    near = screen.wheel(canvas, x=2_000, y=800, times=2)
    found[f"a board of {nodes} nodes, at reading size"] = near
    return [
        at_most("web UI, board: from Enter in the search until the last node is in sight",
                f"{FRAMES_A_SECOND * 10} ms", took / 500, 1.0, f"{took:.0f} ms of {nodes} nodes"),
        *(
            at_least(f"web UI, {what}: frames a second", f"{FRAMES_A_SECOND} a second",
                     frames.rate / FRAMES_A_SECOND, 1.0,
                     f"{frames.about}; an empty page {control.rate:.0f} a second")
            for what, frames in found.items()
        ),
    ]  # fmt: skip


def _found(screen: Screen, nodes: int) -> float:
    """Search the last node; return the milliseconds until it is in sight, and others are not."""
    search = screen.page.get_by_role("searchbox", name="Find a node")
    search.fill(f"part-{nodes - 1}")
    began = time.monotonic()
    search.press("Enter")
    expect(screen.page.locator(f"[data-node=part-{nodes - 1}]")).to_be_in_viewport()
    took = 1000 * (time.monotonic() - began)
    screen.page.wait_for_timeout(1000)
    left: Any = screen.page.locator(NODE).count()
    assert left < MOST_IN_PAGE, f"{left} nodes are in the page"
    return took

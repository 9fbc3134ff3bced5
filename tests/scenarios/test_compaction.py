"""Ten companies in a small window: compaction, none lost and none done twice (test 7).

The model of these tests has no knowledge except its conversation: it reads there which companies
are done. So after a loss in a compaction it would research a company again, or never.
"""

import re
import threading
from collections.abc import Callable

import pytest

from agiraph.core.turns import ToolTurn, UserTurn
from tests.fakes.model_server import Reply, SeenRequest, call, calls, say, too_long
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.scenario_home import JsonObject, Outcome
from tests.scenarios.steps import bash, finish, held, one_worker, write

WINDOW = 26_000
COMPANIES = 10
SMALL = ("--model", "openai/small")
GOAL = "Do a comprehensive analysis of the ten companies, C1 to C10. Research each one by itself."
WISH = "Give all numbers in euros, please."
RESEARCH = (
    "echo {n} >> researched.txt; for i in $(seq 250); do echo C{n} fact $i of a long page; done"
)


def kind_of(seen: SeenRequest) -> str:
    """Return the kind of the runtime's request: `flush`, `summary` or `work`."""
    told = [turn.content for turn in seen.turns if isinstance(turn, UserTurn)]
    if told and isinstance(seen.turns[-1], UserTurn) and "Your context is full" in told[-1]:
        return "summary"
    if any("Your context is nearly full" in text for text in told):
        return "flush"
    return "work"


def done_in(seen: SeenRequest) -> list[int]:
    """Return the companies whose files appear in the conversation."""
    shown = "\n".join(turn.model_dump_json() for turn in seen.turns)
    return sorted({int(n) for n in re.findall(r"company-(\d+)\.md", shown)})


class Analyst:
    """A model that researches one company after the other and ends with `last`.

    `holds` are kinds of requests whose first answers wait until the test releases them, one by one.
    """

    def __init__(self, last: str, *holds: str) -> None:
        self.last = last
        self.held = {kind: threading.Event() for kind in holds}
        self.gates = {kind: threading.Event() for kind in holds}

    def __call__(self, seen: SeenRequest) -> Reply:
        kind = kind_of(seen)
        is_new = kind == "work" and any(
            "It was shortened to the text below" in t.model_dump_json() for t in seen.turns
        )
        reply = self._answer(seen, kind)
        kind = "after" if is_new else kind
        if kind in self.gates and not self.gates[kind].is_set():
            self.held[kind].set()
            return held(reply, self.gates[kind])
        return reply

    def _answer(self, seen: SeenRequest, kind: str) -> Reply:
        done = done_in(seen)
        newest = next((t for t in reversed(seen.turns) if not isinstance(t, UserTurn)), None)
        if kind == "summary":
            return say(f"{len(done)} companies are done.")
        if kind == "flush":
            return self._save(seen, done)
        if isinstance(newest, ToolTurn) and newest.name == "bash":
            number = int(newest.content.split("C", 1)[1].split()[0])
            return write(f"company-{number}.md", f"# C{number}\nfine")
        left = [n for n in range(1, COMPANIES + 1) if n not in done]
        if left:
            return bash(RESEARCH.format(n=left[0]))
        return call(self.last, summary=" ".join(f"C{n}" for n in done))

    def _save(self, seen: SeenRequest, done: list[int]) -> Reply:
        newest = seen.turns[-1]
        if isinstance(newest, ToolTurn) and newest.name in ("memory_write", "write_file"):
            return say("Saved.")
        notes = " ".join(f"company-{n}.md" for n in done)
        if "memory_write" in seen.tools:
            return call("memory_write", path="knowledge/companies.md", content=notes)
        return write("notes.md", notes)


def assert_complete(outcome: Outcome, journal: list[JsonObject], researched: str) -> None:
    """Assert that every company is in the result, each researched once, with compactions."""
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert researched.split() == [str(n) for n in range(1, COMPANIES + 1)]
    compactions = [record for record in journal if record["kind"] == "compacted"]
    events = outcome.events("memory.compacted")
    assert len(compactions) == len(events) >= 1
    assert all(record["summary"] for record in compactions)
    assert all(record["tokens_after"] <= 0.75 * WINDOW for record in compactions)
    flushes = [record for record in journal if record["kind"] == "flush.began"]
    assert len(flushes) == len(compactions), "things were saved before each"


def assert_within_window(live_home: LiveHome, actor: str) -> None:
    """Assert that no request was larger than the window, by the count of the service itself."""
    sizes = [len(str(dict(seen.body))) // 4 for seen in live_home.server.seen_by(actor)]
    assert max(sizes) <= WINDOW


@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_ten_companies_are_researched_in_a_small_window(live_home: LiveHome, api: str) -> None:
    analyst = Analyst("finish", "work")
    live_home.plays(coordinator=analyst)

    def meanwhile() -> None:
        assert analyst.held["work"].wait(60)
        assert live_home.command("send", f"ten-{api}", WISH).returncode == 0
        analyst.gates["work"].set()

    name = f"ten-{api}"
    outcome = live_home.lead(GOAL, "--model", f"{api}/small", "--name", name, meanwhile=meanwhile)
    researched = (outcome.run / "researched.txt").read_text()
    assert_complete(outcome, outcome.conversation(), researched)
    assert_within_window(live_home, "coordinator")
    for n in range(1, COMPANIES + 1):
        assert (outcome.run / f"company-{n}.md").read_text() == f"# C{n}\nfine"
    assert (outcome.run / "_output.md").read_text().split() == [f"C{n}" for n in range(1, 11)]
    notes = [*outcome.agent.glob("memory/knowledge/companies.md"), *outcome.run.glob("notes.md")]
    assert "company-1.md" in notes[0].read_text()
    last = live_home.server.seen_by("coordinator")[-1]
    assert WISH in last.said, "the human's words are still there"
    assert GOAL in last.said


def lead_through(live_home: LiveHome, analyst: Analyst, title: str, name: str) -> Outcome:
    """Run it; kill the process with this title at each point where the analyst waits."""

    def meanwhile() -> None:
        for point, gate in analyst.gates.items():
            assert analyst.held[point].wait(60), point
            live_home.kill(title)
            gate.set()

    return live_home.lead(GOAL, *SMALL, "--name", name, meanwhile=meanwhile)


def test_coordinator_killed_in_and_after_a_compaction_continues(live_home: LiveHome) -> None:
    analyst = Analyst("finish", "summary", "after")
    live_home.plays(coordinator=analyst)
    outcome = lead_through(live_home, analyst, "coordinator dies-of-it", "dies-of-it")
    researched = (outcome.run / "researched.txt").read_text()
    assert_complete(outcome, outcome.conversation(), researched)


def test_worker_killed_before_and_in_a_compaction_continues(live_home: LiveHome) -> None:
    analyst = Analyst("publish", "flush", "summary")
    live_home.plays(coordinator=one_worker("ada", task=GOAL), ada=analyst)
    outcome = lead_through(live_home, analyst, "worker ada", "its-worker-dies")
    assert_within_window(live_home, "ada")
    published = outcome.published("ada-facts")
    journal = whole_lines(live_home.worker(outcome.agent, "ada") / "conversation.jsonl")
    assert_complete(outcome, journal, published["researched.txt"])
    assert {f"company-{n}.md" for n in range(1, COMPANIES + 1)} <= set(published)


def has_no_summary(seen: SeenRequest) -> bool:
    return kind_of(seen) == "summary"


def is_long(seen: SeenRequest) -> bool:
    return sum(len(turn.model_dump_json()) for turn in seen.turns) > 30_000


@pytest.mark.parametrize(
    ("refuses", "cause"), [(has_no_summary, ""), (is_long, "refused")], ids=["summary", "length"]
)
def test_run_continues_if_the_service_refuses_parts_of_a_compaction(
    live_home: LiveHome, refuses: Callable[[SeenRequest], bool], cause: str
) -> None:
    """There is no summary; or the service accepts less than it claims, and receives less."""
    analyst = Analyst("finish")
    live_home.plays(coordinator=lambda seen: too_long() if refuses(seen) else analyst(seen))
    outcome = live_home.complete(GOAL, *SMALL)
    researched = (outcome.run / "researched.txt").read_text()
    assert researched.split() == [str(n) for n in range(1, COMPANIES + 1)]
    compacted = outcome.data("memory.compacted")
    if cause:
        assert cause in {event["cause"] for event in compacted}
    else:
        assert not any(event["summary"] for event in compacted)


def test_idle_coordinator_compacts_only_for_a_new_message(live_home: LiveHome) -> None:
    pages = [bash(RESEARCH.format(n=n)) for n in range(1, 9)]

    def responder(seen: SeenRequest) -> Reply:
        if kind_of(seen) == "summary":
            return say("All was read.")
        if kind_of(seen) == "flush":
            return say("There is nothing to save.")
        if "And now?" in seen.said:
            return say("Nothing more.")
        if seen.step == 0:
            return calls(*pages, finish("Read."))
        return say("That was all.")

    live_home.plays(coordinator=responder)
    outcome = live_home.run("Read", "--name", "rests", *SMALL)
    asked = len(live_home.server.requests)
    assert live_home.command("send", "rests", "And now?").returncode == 0
    until(
        lambda: [r for r in outcome.conversation() if r.get("text") == "Nothing more."],
        "the answer",
    )
    kinds = [kind_of(seen) for seen in live_home.server.requests]
    assert kinds[:asked] == ["work"], "its context is full, and at rest nothing is asked"
    assert kinds[asked:] == ["summary", "work"], "there is no room left to save things in"

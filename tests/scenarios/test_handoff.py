"""A node that ends at a limit: its results are published in part, and the rest is suggested as a
node.

And a worker whose process dies repeatedly: given up, its cause reported, the team continues.
"""

import signal

import pytest

from tests.fakes.model_server import call, calls
from tests.scenarios.live_home import LiveHome, MakeLiveHome
from tests.scenarios.steps import (
    WAIT,
    WORK,
    Plays,
    bash,
    finish,
    finish_with,
    node,
    one_worker,
    publish,
    spawn,
    write,
)

CONFIG = {
    "run": {"max_iterations": 3, "deadline_warning_seconds": 100_000, "node_compactions": 0},
    "models": {"context_tokens": 26_000},
    "supervisor": {"intensity": 1},
}


@pytest.fixture(scope="module")
def live_home(make_live_home: MakeLiveHome) -> LiveHome:
    return make_live_home(CONFIG)


def test_remaining_work_is_handed_to_a_follow_up_node(live_home: LiveHome) -> None:
    missing = "companies 7 to 10, from input/list.md"
    leads: Plays = [
        node("report", role="ada"),
        WAIT,
        node("report-rest", role="ada", task=missing, refs={"report": "report"}),
        call("wait", nodes=["report-rest"]),
        lambda seen: finish(seen.results("wait")[0]),
    ]
    first = [write("six.md", "six companies"), call("check_board")]
    second = [call("read_ref", name="report"), write("four.md", "four companies")]
    six = publish("six of ten", missing=missing)
    live_home.plays(
        coordinator=leads, **{"ada-1": [*first, six, *second, publish("the other four")]}
    )
    outcome = live_home.complete("Report on ten companies", "--name", "cut")
    row = outcome.result["result"]
    assert "[in part; missing: companies 7 to 10" in row
    assert "published in part because the node's 3 model turns are used up" in row
    assert "report-rest" in row
    third, fourth = live_home.server.seen_by("ada-1")[2:4]
    assert "seconds of this node's 1800 are left" in third.said
    assert "This is your last turn on this node" in third.said
    assert fourth.said.count("This is your last turn") == 1
    assert [event.get("missing") for event in outcome.data("node.completed")] == [missing, None]
    assert outcome.published("report-rest") == {"four.md": "four companies"}


def test_files_left_by_a_failed_worker_are_named(live_home: LiveHome) -> None:
    drafts = [write("draft.md", "a draft"), write("draft.md", "a longer draft")]
    leads: Plays = [node("report", role="bob"), WAIT, finish_with("wait")]
    live_home.plays(coordinator=leads, **{"bob-1": [*drafts, write("more.md", "more")]})
    outcome = live_home.lead("Report", "--name", "left")
    row = outcome.result["result"]
    assert "its last turn published nothing" in row
    assert "/scratch/: draft.md, more.md; to go on" in row


def test_worker_beyond_its_turns_is_given_up(live_home: LiveHome) -> None:
    live_home.plays(coordinator=one_worker("fay"), fay=lambda seen: bash(f"echo {seen.step}"))
    outcome = live_home.lead("Go on for ever", "--name", "endless")
    assert "the node's 3 model turns are used up" in outcome.result["result"]
    assert len(live_home.server.seen_by("fay")) == 3


def test_worker_with_a_full_context_publishes_in_part(live_home: LiveHome) -> None:
    pages = (bash(f"seq {n}0000 {n}9999") for n in range(1, 8))
    half = publish("half of it", missing="the other half")
    steps = [calls(write("half.md", "half"), *pages), half]
    live_home.plays(coordinator=one_worker("gus"), gus=steps)
    outcome = live_home.lead("Read it all", "--name", "full-context")
    asked = live_home.server.seen_by("gus")
    assert len(asked) == 2
    assert "This is your last turn on this node: its context is full" in asked[1].said
    row = outcome.result["result"]
    assert "published in part because its context is full" in row
    assert "[in part; missing: the other half" in row
    assert outcome.published("gus-facts") == {"half.md": "half"}
    assert not outcome.events("memory.compacted")


def test_given_up_worker_leaves_notes_and_its_coordinator_plans_again(
    live_home: LiveHome,
) -> None:
    again = [spawn("bob"), node("bob-facts", "bob"), call("wait", nodes=["bob-facts"]), finish()]
    sleeper = bash("sleep 300.018")
    leads = [*one_worker("ada")[:3], *again]
    live_home.plays(coordinator=leads, ada=[sleeper, sleeper], bob=WORK)

    def meanwhile() -> None:
        live_home.await_call(live_home.worker(live_home.agent("again"), "ada"), "bash")
        live_home.kill("worker ada", signal.SIGSEGV)
        live_home.await_step("ada", 1)
        live_home.kill("worker ada", signal.SIGSEGV)

    outcome = live_home.complete("Find a fact", "--name", "again", meanwhile=meanwhile)
    assert outcome.published("bob-facts") == {"facts.md": "one fact"}
    failed = outcome.data("node.failed")[0]["reason"]
    assert "2 times within 60 s (last: killed by SIGSEGV" in failed
    notes = next((outcome.run / "nodes").glob("ada-facts*/failure_notes.md"))
    assert notes.relative_to(outcome.run).as_posix() in failed
    assert "# Why 'ada-facts' failed" in notes.read_text()
    assert "Kind: signal" in notes.read_text()
    told = [str(turn) for turn in outcome.conversation() if "failure_notes.md" in str(turn)]
    assert told, "the coordinator's mind has been told where to look"
    crashes = outcome.events("child.crashed")
    assert [crash["data"]["why"]["signal"] for crash in crashes] == [11, 11]
    assert crashes[0]["data"]["why"]["step"].startswith("busy: ")

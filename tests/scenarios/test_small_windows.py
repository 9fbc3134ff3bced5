"""Models with a small window, and models without tools: their prompts, and their abilities.

openai/tiny has a context of 8,192 tokens; openai/writer has one, too, and no tools.
"""

from pathlib import Path

import pytest

from agiraph.agent.context_window import BYTES_PER_TOKEN
from tests.fakes.model_server import Reply, SeenRequest, call, say
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import DONE, FACT, WAIT, finish, node, one_worker

WINDOW = 8192
TINY, WRITER = ("--model", "openai/tiny"), ("--model", "openai/writer")
PLAN = """
nodes:
  - {id: sea, task: Write of the sea}
  - {id: sky, task: Write of the sky, deps: [sea]}
"""


def size(seen: SeenRequest) -> int:
    """Return the largest possible number of tokens of a request."""
    return len(seen.raw) // BYTES_PER_TOKEN


def test_team_works_in_a_small_window_and_reads_needed_runbooks(
    live_home: LiveHome,
) -> None:
    read = call("find_tools", names=["create_work_node"])
    leads = [read, *one_worker("ada")]
    live_home.plays(coordinator=leads, ada=[call("find_tools", names=["publish"]), FACT, DONE])
    outcome = live_home.complete("Find one fact", *TINY)
    assert outcome.published("ada-facts") == {"facts.md": "one fact"}
    assert max(map(size, live_home.server.requests)) < WINDOW * 3 // 4
    shown = [seen.results("find_tools") for seen in live_home.server.requests]
    texts = {text.partition("\n")[0] for results in shown for text in results}
    assert len(texts) == 2, "of the coordinator and of the worker"
    assert any("refs: " in text for results in shown for text in results)


def test_rare_tools_are_found_and_used_although_no_request_describes_them(
    live_home: LiveHome,
) -> None:
    share = {"tool": "write_shared_value", "arguments": {"key": "colour", "value": "blue"}}
    steps = [call("find_tools", names=["write_shared_value"]), call("use_tool", **share), finish()]
    live_home.plays(coordinator=steps)
    outcome = live_home.complete("Share a colour")
    first, *_, last = live_home.server.requests
    assert "### create_work_node" in first.system
    assert "write_shared_value" not in first.tools
    assert first.tools == last.tools
    assert "replaces the value" in last.results("find_tools")[0]
    assert len(first.raw) < 27_000, "system prompt, tools and goal of a coordinator"
    assert [event["data"]["tool"] for event in outcome.events("tool.called")] == [
        *("find_tools", "write_shared_value", "finish")
    ]


def test_a_model_without_tools_writes_the_result(live_home: LiveHome) -> None:
    live_home.plays(lambda seen: say("Roses are red."))
    outcome = live_home.complete("Write one line", *WRITER)
    assert outcome.result["result"].strip() == "Roses are red."
    (seen,) = live_home.server.requests
    assert (seen.tools, size(seen) < 200) == ((), True)
    said = [event for event in outcome.events("message.sent") if event["data"]["to"] == "human"]
    assert not said, "the result is not said a second time"


def test_a_team_without_tools_carries_out_a_plan(live_home: LiveHome, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)

    def write(seen: SeenRequest) -> Reply:
        if "# Assignment" not in seen.said:
            return say(f"All in all: {seen.said.count('blue')} blues.")
        return say("It is blue." if "of the sea" in seen.said else "It is blue, too.")

    live_home.plays(write)
    outcome = live_home.complete("Write of sea and sky", "--plan", str(plan), *WRITER)
    assert outcome.published("sea") == {"answer.md": "It is blue.\n"}
    assert len(outcome.completions()) == 2
    assert outcome.result["result"].strip() == "All in all: 2 blues."
    assert len(live_home.server.requests) == 3, "the coordinator is asked when the nodes have ended"


def test_a_worker_without_tools_answers_in_one_call(live_home: LiveHome) -> None:
    leads = [node("part"), WAIT, finish()]

    def responder(seen: SeenRequest) -> Reply:
        return leads[seen.step] if seen.tools else say("I am short.")

    live_home.plays(responder)
    outcome = live_home.complete("Have it written", "--worker-model", "openai/writer")
    assert outcome.published("part") == {"answer.md": "I am short.\n"}


@pytest.mark.parametrize(
    ("model", "args", "reason"),
    [
        (
            WRITER,
            ("--input", str(Path(__file__).parent)),
            "has no tools: it writes one text, and cannot read the input",
        ),
        (WRITER, ("--mode", "infinite"), "cannot work in cycles"),
        (TINY, ("x" * 30_000,), "the goal is too long for openai/tiny: about 7,500 tokens"),
    ],
)
def test_unsupported_request_for_a_small_model_is_refused_before_the_start(
    live_home: LiveHome, model: tuple[str, str], args: tuple[str, ...], reason: str
) -> None:
    goal = () if args[0].startswith("x") else ("Do it",)
    live_home.plays(lambda seen: say("never"))
    done = live_home.command("run", *goal, *args, *model)
    assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
    assert not live_home.server.requests

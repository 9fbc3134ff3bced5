"""An agent finds in a run its earlier lessons (test 6), also after kills of its coordinator."""

import json
import threading

from tests.fakes.model_server import Reply, Responder, SeenRequest, call, calls, say
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import Outcome
from tests.scenarios.steps import bash, by_goal, finish, held, write

WITHIN_SECONDS = 90
RESEARCH = "Research Python async patterns. Write what you learn to memory."
SCRAPER = "Write an async web scraper in Python."
NOTES = (
    "# Python asyncio\n\n## Bounding concurrency\n\n"
    "A Semaphore around each request keeps at most N of them in flight.\n\n"
    "## Cancellation\n\nTaskGroup cancels its siblings when one task fails.\n"
)
MAIN = "# What I remember\n\n- Async patterns of Python: knowledge/python-asyncio.md\n"


def responder(gates: list[threading.Event]) -> Responder:
    """Return the model of both runs; each run's gate delays its second answer."""

    def use(seen: SeenRequest) -> Reply:
        found = seen.result("memory_search")
        assert "Semaphore around each request" in found, found
        code = "# bounded as my notes say\nlimit = asyncio.Semaphore(8)\n"
        return held(write("scraper.py", code), gates[1])

    remember = calls(
        call("memory_write", path="knowledge/python-asyncio.md", content=NOTES),
        call("memory_write", path="MEMORY.md", content=MAIN),
        call("memory_write", path="index.md", content="# Index\n\n- knowledge/python-asyncio.md\n"),
    )
    return by_goal(
        {
            RESEARCH: [
                bash("echo asyncio runs one event loop"),
                held(remember, gates[0]),
                finish("The notes stand in memory."),
                say("Done."),
            ],
            SCRAPER: [
                call("memory_search", query="python async"),
                use,
                finish("scraper.py bounds its requests with a Semaphore."),
                say("Done."),
            ],
        }
    )


def test_second_goal_uses_memory_of_the_first_run_despite_kills(
    live_home: LiveHome,
) -> None:
    gates = [threading.Event(), threading.Event()]
    live_home.plays(responder(gates))
    name = "learner"

    def run(number: int, goal: str, tool: str, *who: str) -> Outcome:
        def meanwhile() -> None:
            live_home.server.wait_for(
                lambda seen: goal in seen.said and bool(seen.results(tool)), WITHIN_SECONDS
            )
            live_home.kill(f"coordinator {name}")
            gates[number].set()

        outcome = live_home.run(goal, *who, meanwhile=meanwhile)
        assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
        return outcome

    first = run(0, RESEARCH, "bash", "--name", name)
    notes = first.agent / "memory/knowledge/python-asyncio.md"
    assert notes.read_text() == NOTES
    assert (first.agent / "MEMORY.md").read_text() == MAIN

    second = run(1, SCRAPER, "memory_search", "--agent", name)
    assert second.agent == first.agent
    assert "Semaphore" in (second.run / "scraper.py").read_text()
    asked = [seen for seen in live_home.server.requests if SCRAPER in seen.said]
    assert all("Async patterns of Python: knowledge/python-asyncio.md" in s.system for s in asked)
    assert all("Run " + first.result["run"] in s.system for s in asked), "the daily log is told"
    assert len({seen.system for seen in asked}) == 1, "the prompt never changes in a run"
    tools = [e["data"]["tool"] for e in second.events("tool.called")]
    assert tools.count("bash") == 1, "what is known is not researched again"
    assert tools.count("memory_search") == 1
    assert notes.read_text() == NOTES
    written = [e["data"]["path"] for e in second.events("memory.written")]
    assert set(written) == {"knowledge/python-asyncio.md", "MEMORY.md", "index.md"}
    said = [r for r in second.conversation() if r["kind"] == "heard" and "# Goal" in r["content"]]
    assert len(said) == 1
    began = [r for r in second.conversation() if r["kind"] == "run.began"]
    assert [r["goal"] for r in began] == [SCRAPER]
    day = next(p for p in sorted((first.agent / "memory").glob("2*.md")))
    assert day.read_text().count("## Run ") == 2
    assert json.loads((first.agent / "agent.json").read_text())["status"] == "completed"

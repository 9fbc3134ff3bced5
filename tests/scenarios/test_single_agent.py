"""One agent alone: the smoke test, and a loop of writing, running and mending (tests 1 and 2)."""

from tests.fakes.model_server import Reply, SeenRequest, calls, say
from tests.fakes.site import FakeSite
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import bash, finish, write

FINDINGS = "# Languages\n\n1. Python\n2. TypeScript\n3. Rust\n"
ANSWER = "Python, TypeScript and Rust lead in 2026."
SCRIPT = """
import json, urllib.request
answer = json.load(urllib.request.urlopen('{url}/price'))
print('bitcoin costs', answer['{key}']['usd'])
"""


def test_single_agent_answers_and_leaves_a_complete_trace(live_home: LiveHome) -> None:
    live_home.plays(
        coordinator=[calls(write("research.md", FINDINGS), text="I know."), finish(ANSWER)]
    )
    outcome = live_home.run("What are the top 3 programming languages in 2026?")
    assert outcome.code == 0
    assert outcome.result["result"].strip() == ANSWER
    assert (outcome.run / "research.md").read_text() == FINDINGS
    assert "Rust" in (outcome.run / "_output.md").read_text()
    types = outcome.types()
    assert types.index("agent.created") < types.index("agent.started")
    assert "agent.completed" in types
    kinds = [record["kind"] for record in outcome.conversation()]
    assert (kinds.count("said"), kinds.count("tool.finished")) == (2, 2)
    live_home.await_end(outcome.agent)


def test_a_model_that_forgets_to_call_a_tool_is_reminded_once(live_home: LiveHome) -> None:
    live_home.plays(coordinator=[say("The answer is 4."), finish("4")])
    assert live_home.complete("What is 2 + 2?").result["result"].strip() == "4"


def test_a_model_that_never_calls_a_tool_ends_in_a_clear_failure(live_home: LiveHome) -> None:
    live_home.plays(coordinator=[say("It is 4."), say("As I said, 4.")])
    outcome = live_home.lead("What is 2 + 2?")
    assert (outcome.code, outcome.result["status"]) == (1, "failed")
    assert "stopped without finishing: As I said, 4." in outcome.progress


def test_script_is_written_run_fixed_and_run_again(live_home: LiveHome, site: FakeSite) -> None:
    def writes(key: str) -> Reply:
        return write("btc_price.py", SCRIPT.format(url=site.url, key=key))

    def end(seen: SeenRequest) -> Reply:
        assert "KeyError" in seen.results("bash")[0]
        return finish(f"It works: {seen.result('bash').strip()}")

    run = bash("python3 btc_price.py")
    live_home.plays(coordinator=[writes("btc"), run, writes("bitcoin"), run, end])
    outcome = live_home.complete("Fetch the Bitcoin price")
    assert "64321.5" in outcome.result["result"]
    assert (outcome.run / "btc_price.py").exists()

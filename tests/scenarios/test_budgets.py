"""An empty budget is a state, not a crash: the human is asked, and all work continues."""

import json
from dataclasses import replace

import pytest

from agiraph.core.turns import Usage
from tests.fakes.model_server import Reply, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import processes_of
from tests.scenarios.steps import DONE, FACT, WAIT, Steps, finish, node, program, spawn

LIMIT = 15_000
TOKENS = ("--budget", f"{LIMIT}-tokens")


@pytest.fixture
def live_home(parking_home: LiveHome) -> LiveHome:
    """Return a running home whose entities park as soon as they are idle."""
    return parking_home


def expensive(reply: Reply, tokens: int) -> Reply:
    """Return an answer that uses `tokens` tokens; at most one per byte of a request."""
    return replace(reply, usage=Usage(input_tokens=tokens - 10, output_tokens=10))


def team(first: int, fact: int = 100) -> dict[str, Steps]:
    """Return a coordinator with one worker; the first answer of each uses this many tokens."""
    leads = [expensive(spawn("ada"), first), node("facts", "ada"), WAIT, finish()]
    return {"coordinator": leads, "ada": [expensive(FACT, fact), DONE]}


def test_budget_is_raised_on_request_although_every_process_was_killed(live_home: LiveHome) -> None:
    live_home.plays(**team(first=LIMIT - 500))
    agent = live_home.begin("spend", *TOKENS)
    question = live_home.await_question("spend")
    assert question["kind"] == "budget"
    assert question["options"] == ["raise by 15,000 tokens", "raise by 75,000 tokens", "stop here"]
    assert "14,500 tokens of the 15,000 tokens of this run are spent" in question["question"]
    assert live_home.json("show", "spend")["status"] == "waiting_for_human"
    until(
        lambda: live_home.has_parked(agent.name),
        "who waits for money has no process",
    )
    for process in processes_of(live_home.home):
        process.kill()
    live_home.restart_supervisor()
    assert [row["id"] for row in live_home.json("questions", "spend")] == [question["id"]]
    assert live_home.json("show", "spend")["status"] == "waiting_for_human"
    assert live_home.states(agent.name)[f"{agent.name}/coordinator"] == "waiting_for_human"
    wrong = live_home.command("respond", question["id"], "as you like")
    assert (wrong.returncode, "raise by $5" in wrong.stderr) == (2, True)
    live_home.json("respond", question["id"], "2")
    live_home.await_end(agent)
    assert len(live_home.server.requests) == 6, "every step was asked for once"
    told = live_home.json("usage", "spend", "--budgets")
    [budget] = told["budgets"]
    assert (budget["scope"], budget["tokens"], budget["raises"]) == ("run", 6 * LIMIT, 1)
    assert budget["spent_tokens"] == told["total"]["input_tokens"] + told["total"]["output_tokens"]
    assert len(live_home.json("questions", "spend", "--all")) == 1


def test_entities_with_the_same_empty_budget_ask_once_and_stop_here_ends_the_run(
    live_home: LiveHome,
) -> None:
    live_home.plays(**team(first=100, fact=LIMIT - 600))
    agent = live_home.begin("spend-it-all", *TOKENS)
    live_home.json("respond", live_home.await_question("spend-it-all")["id"], "3")
    assert "out_of_budget" in live_home.await_end(agent, "failed")["reason"]
    assert len(live_home.json("questions", "spend-it-all", "--all")) == 1


def test_budget_without_a_person_to_ask_gives_exit_code_3(live_home: LiveHome) -> None:
    live_home.plays(**team(first=LIMIT - 500))
    outcome = live_home.lead("Spend alone", *TOKENS)
    assert (outcome.code, outcome.result["status"]) == (3, "failed")
    assert not live_home.json("questions", outcome.result["agent"], "--all")


CALLER = """\
#!/usr/bin/env python3
import json, os, urllib.request
base = json.load(open(os.path.expanduser("~/.caller/settings.json")))["base"]
asked = [{"role": "user", "content": "Write " * 8000}]
body = {"model": "any", "max_tokens": 100, "messages": asked}
for _ in range(2):
    request = urllib.request.Request(
        base + "/v1/messages",
        json.dumps(body).encode(),
        {"x-api-key": os.environ["TOKEN"], "content-type": "application/json"},
    )
    said = json.load(urllib.request.urlopen(request))["content"][0]["text"]
open("_result.md", "w").write(said)
"""


def test_an_outside_agent_without_money_is_started_again_when_there_is_more(
    live_home: LiveHome,
) -> None:
    agents = live_home.home / "agents.yaml"
    caller = {
        "command": [program(live_home.home, CALLER, "caller")],
        "wire": "anthropic",
        "attempts": 1,
        "files": {".caller/settings.json": '{"base": "{door}/anthropic"}'},
        "environment": {"TOKEN": "{token}"},
    }
    agents.write_text(json.dumps({"caller": caller}))
    hire = spawn("cal", type="autonomous", agent_command="caller")
    writes = expensive(say("It is written."), LIMIT)
    live_home.plays(
        coordinator=[hire, node("facts", "cal"), WAIT, finish()], **{"*": lambda seen: writes}
    )
    agent = live_home.begin("spend-outside", *TOKENS)
    question = live_home.await_question("spend-outside")
    assert question["kind"] == "budget"
    live_home.json("respond", question["id"], "2")
    live_home.await_end(agent)
    [done] = live_home.json("board", "spend-outside")
    assert (done["status"], done["summary"]) == ("completed", "It is written.")
    agents.unlink()


def test_raised_agent_budget_lets_waiting_entities_continue(
    live_home: LiveHome,
) -> None:
    live_home.plays(coordinator=[expensive(finish(), LIMIT - 500), finish("Done again.")])
    name = "spend-by-and-by"
    agent = live_home.begin(name)
    live_home.await_end(agent)
    unpriced = live_home.command("budget", name, "5")
    said = "the price of openai/fake is not" in unpriced.stderr
    assert (unpriced.returncode, said) == (2, True)
    hourly = ("triggers", name, "add", "Look", "--every", "1h", "--name", "hourly", "--budget")
    assert live_home.command(*hourly, "$5").returncode == 2
    assert live_home.json("triggers", name) == []
    live_home.json(*hourly, "90k-tokens")
    live_home.json("budget", name, "40k-tokens", "--trigger", "hourly", "--per-day")
    assert live_home.json("budget", name, f"{LIMIT}-tokens")["left_tokens"] == 500
    live_home.command("kill", "broker")
    told = live_home.json("budget", name)
    assert {(one["scope"], one["period"], one["name"], one["tokens"]) for one in told} == {
        ("agent", "total", name, LIMIT),
        ("trigger", "day", "hourly", 40_000),
        ("trigger", "total", "hourly", 90_000),
    }
    assert all(one["is_own"] for one in told)
    unknown = live_home.command("budget", name, "1k-tokens", "--trigger", "daily")
    assert "unknown trigger 'daily' (known: t-" in unknown.stderr
    live_home.json("run", "Spend more", "--agent", name, "--detach")
    question = live_home.await_question(name)
    assert "15,000 tokens of the agent" in question["question"]
    line = live_home.command("budget", name, "200k-tokens").stdout
    assert line.startswith("spend-by-and-by: 200,000 tokens in all (14,500 tokens spent, 185,500")
    until(lambda: live_home.json("show", name)["status"] == "completed", "the second run is over")
    [asked] = live_home.json("questions", name, "--all")
    assert (asked["status"], asked["answered_via"]) == ("answered", "budget")
    assert live_home.json("budget", name, "--remove")["tokens"] is None
    assert {one["scope"] for one in live_home.json("budget", name)} == {"trigger"}
    triggers = [("trigger", tokens) for tokens in (90_000, 40_000)]
    agents = [("agent", tokens) for tokens in (LIMIT, 200_000, None)]

    def set_budgets() -> list[tuple[str, int | None]]:
        rows = live_home.json("events", name, "--type", "human.budget")
        return [(row["data"]["scope"], row["data"]["tokens"]) for row in rows]

    until(
        lambda: set_budgets() == [*triggers, *agents], "the events of all budgets, in their order"
    )

"""Out of budget is a state, not a crash: the human is asked, and all continues where it was."""

import json
from dataclasses import replace

from agiraph.core.turns import Usage
from tests.fakes.model_server import Reply, call, say
from tests.integration.house import until
from tests.scenarios.external import program
from tests.scenarios.house import processes_of
from tests.scenarios.place import Place, Steps
from tests.scenarios.test_parking import await_end, states

LIMIT = 60_000
FACT = call("write_file", path="fact.md", content="a fact")


def dear(reply: Reply, tokens: int) -> Reply:
    """Return an answer that takes so many tokens."""
    return replace(reply, usage=Usage(input_tokens=tokens - 10, output_tokens=10))


def team(first: int, fact: int = 100) -> dict[str, Steps]:
    """Return a coordinator with one worker; the first answer of each takes so many tokens."""
    return {
        "coordinator": [
            dear(call("spawn_worker", name="ada"), first),
            call("create_work_node", name="facts", task="Write fact.md", worker="ada"),
            call("wait"),
            call("finish", summary="Done."),
        ],
        "ada": [dear(FACT, fact), call("publish", summary="done")],
    }


def begin(place: Place, goal: str, *args: str) -> str:
    """Start a run and return its agent's id."""
    started = place.json("run", goal, "--model", "openai/fake", "--detach", *args)
    return str(started["agent"])


def test_more_is_asked_for_and_given_though_everything_was_killed(drowsy_place: Place) -> None:
    place = drowsy_place
    place.plays(**team(first=LIMIT - 500))
    agent = begin(place, "Spend", "--tokens", str(LIMIT))
    [question] = until(lambda: place.json("questions", agent), "more is asked for")
    assert question["kind"] == "budget"
    assert question["options"] == ["raise by 60,000 tokens", "raise by 300,000 tokens", "stop here"]
    assert "59,500 tokens of the 60,000 tokens of this run are spent" in question["question"]
    assert place.json("show", agent)["status"] == "waiting_for_human"
    until(lambda: {*states(place, agent)} == {"parked"}, "who waits for money has no process")
    for process in processes_of(place.home):
        process.kill()
    place.restart_supervisor()
    assert [row["id"] for row in place.json("questions", agent)] == [question["id"]]
    wrong = place.command("respond", question["id"], "as you like")
    assert (wrong.returncode, "raise by $5" in wrong.stderr) == (2, True)
    assert place.command("respond", question["id"], "2").returncode == 0
    await_end(place, agent)
    assert len(place.server.requests) == 6, "every step was asked for once"
    told = place.json("usage", agent, "--budgets")
    [budget] = told["budgets"]
    assert (budget["scope"], budget["tokens"], budget["raises"]) == ("run", 6 * LIMIT, 1)
    assert budget["spent_tokens"] == told["total"]["input_tokens"] + told["total"]["output_tokens"]
    assert len(place.json("questions", agent, "--all")) == 1


def test_all_who_lack_the_same_ask_once_and_stop_here_ends_it(drowsy_place: Place) -> None:
    place = drowsy_place
    place.plays(**team(first=100, fact=LIMIT))
    agent = begin(place, "Spend it all", "--tokens", str(LIMIT))
    [question] = until(lambda: place.json("questions", agent), "more is asked for")
    assert place.command("respond", question["id"], "3").returncode == 0
    until(lambda: place.json("show", agent)["status"] == "failed", "the run has failed")
    assert "out_of_budget" in place.json("show", agent)["reason"]
    assert len(place.json("questions", agent, "--all")) == 1
    place.command("stop", agent)


def test_with_nobody_there_to_ask_it_is_exit_code_3(drowsy_place: Place) -> None:
    place = drowsy_place
    place.plays(**team(first=LIMIT - 500))
    outcome = place.lead("Spend alone", "--tokens", str(LIMIT))
    assert (outcome.code, outcome.result["status"]) == (3, "failed")
    assert not place.json("questions", outcome.result["agent"], "--all")


CALLER = """\
#!/usr/bin/env python3
import json, os, urllib.request
base = json.load(open(os.path.expanduser("~/.caller/settings.json")))["base"]
body = {"model": "any", "max_tokens": 100, "messages": [{"role": "user", "content": "Write"}]}
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
    drowsy_place: Place,
) -> None:
    place = drowsy_place
    agents = place.home / "agents.yaml"
    caller = {
        "command": [program(place.home, CALLER, "caller")],
        "wire": "anthropic",
        "attempts": 1,
        "files": {".caller/settings.json": '{"base": "{door}/anthropic"}'},
        "environment": {"TOKEN": "{token}"},
    }
    agents.write_text(json.dumps({"caller": caller}))
    place.plays(
        coordinator=[
            call("spawn_worker", name="cal", type="autonomous", agent_command="caller"),
            call("create_work_node", name="facts", task="Write", worker="cal"),
            call("wait"),
            call("finish", summary="Done."),
        ],
        **{"*": lambda seen: dear(say("It is written."), LIMIT)},
    )
    agent = begin(place, "Spend outside", "--tokens", str(LIMIT))
    [question] = until(lambda: place.json("questions", agent), "more is asked for")
    assert question["kind"] == "budget"
    assert place.command("respond", question["id"], "2").returncode == 0
    await_end(place, agent)
    [node] = place.json("board", agent)
    assert (node["status"], node["summary"]) == ("completed", "It is written.")
    agents.unlink()


def test_an_agents_own_budget_is_set_and_whoever_waits_for_more_goes_on(
    drowsy_place: Place,
) -> None:
    place = drowsy_place
    first = dear(call("finish", summary="Done."), LIMIT - 500)
    place.plays(coordinator=[first, call("finish", summary="Done again.")])
    agent = begin(place, "Spend by and by")
    await_end(place, agent)
    unpriced = place.command("budget", agent, "--usd", "5")
    assert (unpriced.returncode, "the price of openai/fake is not" in unpriced.stderr) == (
        2,
        True,
    )
    place.command("triggers", agent, "add", "Look", "--every", "1h", "--name", "hourly")
    place.json("budget", agent, "--trigger", "hourly", "--tokens", "40k", "--per-day")
    assert place.json("budget", agent, "--tokens", "60k")["left_tokens"] == 500
    place.command("kill", "broker")
    told = place.json("budget", agent)
    assert [(one["scope"], one["name"], one["tokens"], one["is_own"]) for one in told] == [
        ("agent", "spend-by-and-by", LIMIT, True),
        ("trigger", "hourly", 40_000, True),
    ]
    unknown = place.command("budget", agent, "--trigger", "daily", "--tokens", "1k")
    assert "unknown trigger 'daily' (known: t-" in unknown.stderr
    begin(place, "Spend more", "--agent", agent)
    [question] = until(lambda: place.json("questions", agent), "more is asked for")
    assert "60,000 tokens of the agent" in question["question"]
    line = place.command("budget", agent, "--tokens", "200k").stdout
    assert line.startswith("spend-by-and-by: 200,000 tokens in all (59,500 tokens spent, 140,500")
    await_end(place, agent)
    [asked] = place.json("questions", agent, "--all")
    assert (asked["status"], asked["answered_via"]) == ("answered", "budget")
    assert place.json("budget", agent, "--remove")["tokens"] is None
    assert [one["scope"] for one in place.json("budget", agent)] == ["trigger"]
    events = [row["data"] for row in place.json("events", agent, "--type", "human.budget")]
    assert [(one["scope"], one["tokens"]) for one in events] == [
        ("trigger", 40_000),
        ("agent", LIMIT),
        ("agent", 200_000),
        ("agent", None),
    ]

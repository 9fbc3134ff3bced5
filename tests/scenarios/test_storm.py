"""A team in a storm: its services refuse half of the requests, and its budget is too small.

Everything is real but the models: `agiraph run`, a process for each worker, the SDKs. The team
works until its tokens are spent, parks, gets more once, and continues: no node fails, and every
call is paid for.
"""

from collections.abc import Callable
from typing import TypeVar

from actors.broker.reservations import SHORTEST_ANSWER
from agiraph.http.client import Client
from tests.fakes.storm import FACT, StormyTeam
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome

MODELS = ("anthropic/fake", "openai/fake", "google/fake")
CALLS, CALLS_OF_LEAD = 2, 3
PATIENCE_SECONDS = 90.0
WORKERS = 9
LIMIT = 120_000

T = TypeVar("T")


def patiently(found: Callable[[], T | None], awaited: str) -> T:
    """Wait for a slow condition, and check rarely: the machine is busy."""
    return until(found, awaited, within_seconds=PATIENCE_SECONDS, look_seconds=0.1)


def test_team_under_refusals_fails_no_node_and_keeps_its_budget_to_the_call(
    parking_home: LiveHome,
) -> None:
    live_home, team = parking_home, StormyTeam(WORKERS, MODELS)
    live_home.plays(team)
    at_stop: list[tuple[int, int]] = []

    def raise_it() -> None:
        agent = live_home.agent("stormy").name
        with Client.for_home(live_home.home) as client:

            def question() -> str | None:
                asked = client.questions(status="open")
                return next((one.id for one in asked if one.agent == agent), None)

            asked = patiently(question, "more is asked for")

        patiently(
            lambda: live_home.has_parked(agent, WORKERS + 1), "all who lack money have parked"
        )
        [budget] = live_home.json("usage", agent, "--budgets")["budgets"]
        at_stop.append((len(team.taken), budget["spent_tokens"]))
        assert budget["spent_tokens"] == team.tokens, "the ledger has what the services have"
        live_home.json("respond", asked, "raise by 1000000000 tokens")

    money = ("--budget", f"{LIMIT}-tokens", "--when-spent", "ask")
    outcome = live_home.complete("Weather a storm", "--name", "stormy", *money, meanwhile=raise_it)
    [(count, spent)] = at_stop
    next_call = min(usage.input_tokens for usage in team.taken[count:]) + SHORTEST_ANSWER
    assert 0 <= LIMIT - spent < next_call, "every call was paid for, and made if it could be"
    nodes = live_home.json("board", outcome.agent.name)
    assert [node["status"] for node in nodes] == ["completed"] * WORKERS
    assert not outcome.events("node.failed")
    files = [*outcome.run.glob("nodes/*/published/fact.md")]
    assert [file.read_text() for file in files] == [FACT] * WORKERS
    calls = len(team.taken)
    assert team.refused_with_a_wish + team.refused_without == calls, "there was a storm"
    assert calls == CALLS * WORKERS + CALLS_OF_LEAD, "no call was made in vain"
    told = live_home.json("usage", outcome.agent.name, "--budgets")
    assert sum(row["calls"] for row in told["rows"]) == calls
    assert told["total"]["input_tokens"] + told["total"]["output_tokens"] == team.tokens
    assert len(live_home.json("questions", outcome.agent.name, "--all")) == 1

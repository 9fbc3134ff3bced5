"""A storm: a big team whose services refuse half of what is asked, on a budget that is too short.

Everything is real but the models: `agiraph run`, a process for each worker, the SDKs. The team
works until its tokens are spent, parks, is given more once, and continues. What was counted on
either side is compared: by the services, and by the house.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from actors.broker.reservations import SHORTEST_ANSWER
from agiraph.http.api import JsonObject
from agiraph.http.client import Client
from tests.fakes.storm import FACT, StormyTeam
from tests.integration.house import until
from tests.scenarios.place import Place

WORKERS = 12
TOKENS = 150_000
MODELS = ("anthropic/fake", "openai/fake", "google/fake")
CALLS, CALLS_OF_LEAD = 2, 3
PATIENCE_SECONDS = 90.0
PLENTY = 1_000_000_000

T = TypeVar("T")


@dataclass(slots=True)
class Storm:
    """What was counted. `spent` is what stood in the ledger when the team stopped and asked."""

    size: int
    limit: int
    status: str = ""
    completed: int = 0
    failed: int = 0
    published: int = 0
    refused_with_a_wish: int = 0
    refused_without: int = 0
    answered: int = 0
    tokens: int = 0
    booked_calls: int = 0
    booked_tokens: int = 0
    answered_at_stop: int = 0
    tokens_at_stop: int = 0
    spent: int = 0
    inputs_after_stop: list[int] = field(default_factory=list)
    questions: int = 0

    def faults(self) -> list[str]:
        """Return what should not be."""
        refused = self.refused_with_a_wish + self.refused_without
        next_call = min(self.inputs_after_stop, default=0) + SHORTEST_ANSWER
        wanted = {
            "the run did not complete": self.status == "completed",
            "not every node was completed": self.completed == self.size,
            "nodes failed": self.failed == 0,
            "not every node's file was published": self.published == self.size,
            "there was no storm": refused == self.answered,
            "calls were made in vain": self.answered == CALLS * self.size + CALLS_OF_LEAD,
            "the ledger has other calls than the services": self.booked_calls == self.answered,
            "the ledger has other tokens than the services": self.booked_tokens == self.tokens,
            "the ledger had other tokens at the stop": self.spent == self.tokens_at_stop,
            "a call was made that was not paid for": self.spent <= self.limit,
            "a call was paid for and not made": self.limit - self.spent < next_call,
            "the human was not asked once": self.questions == 1,
        }
        return [fault for fault, is_well in wanted.items() if not is_well]


def weather(place: Place, name: str, size: int, limit: int) -> Storm:
    """Let a team of `size` workers go through a storm; return what was counted."""
    team = StormyTeam(size, MODELS)
    place.plays()
    place.server.brain = team
    storm = Storm(size, limit)

    def raise_it() -> None:
        agent = place.agent(name).name
        with Client.for_home(place.home) as client:
            question = patiently(lambda: open_question(client, agent), "more is asked for")
            patiently(lambda: is_at_rest(client, agent, size), "all who lack money have parked")
        storm.answered_at_stop, storm.tokens_at_stop = len(team.taken), team.tokens
        [budget] = place.json("usage", agent, "--budgets")["budgets"]
        storm.spent = budget["spent_tokens"]
        done = place.command("respond", question, f"raise by {PLENTY} tokens")
        assert done.returncode == 0, done.stderr

    money = ("--tokens", str(limit), "--when-spent", "ask")
    outcome = place.lead(f"Weather a storm of {size}", "--name", name, *money, meanwhile=raise_it)
    storm.status = outcome.result["status"]
    nodes: list[JsonObject] = place.json("board", outcome.agent.name)
    storm.completed = sum(node["status"] == "completed" for node in nodes)
    storm.failed = len(outcome.events("node.failed"))
    files = outcome.run.glob("nodes/*/published/fact.md")
    storm.published = sum(file.read_text() == FACT for file in files)
    storm.answered, storm.tokens = len(team.taken), team.tokens
    storm.refused_with_a_wish = team.refused_with_a_wish
    storm.refused_without = team.refused_without
    told = place.json("usage", outcome.agent.name, "--budgets")
    storm.booked_calls = sum(row["calls"] for row in told["rows"])
    storm.booked_tokens = told["total"]["input_tokens"] + told["total"]["output_tokens"]
    storm.inputs_after_stop = [u.input_tokens for u in team.taken[storm.answered_at_stop :]]
    storm.questions = len(place.json("questions", outcome.agent.name, "--all"))
    return storm


def patiently(found: Callable[[], T | None], what: str) -> T:
    """Wait for what takes its time, and look rarely: the machine has enough to do."""
    return until(found, what, within_seconds=PATIENCE_SECONDS, look_seconds=0.1)


def open_question(client: Client, agent: str) -> str | None:
    """Return the id of the agent's open question, None if it has none."""
    asked = client.questions(status="open")
    return next((question.id for question in asked if question.agent == agent), None)


def is_at_rest(client: Client, agent: str, size: int) -> bool:
    """Whether a whole team is there and has no process."""
    states = [row.state for row in client.entities() if row.address.startswith(f"{agent}/")]
    return states == ["parked"] * (size + 1)


def test_a_team_in_a_storm_fails_nobody_and_keeps_its_budget_to_the_call(
    drowsy_place: Place,
) -> None:
    assert weather(drowsy_place, "stormy", WORKERS, TOKENS).faults() == []

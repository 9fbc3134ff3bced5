"""A worker's offer to the agent's memory is decided by policy, and once."""

from pathlib import Path
from typing import Any, cast

import pytest

from actors.coordinator.context import CoordinatorContext
from actors.coordinator.files import AgentFiles
from actors.coordinator.insight_review import InsightReview
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent
from agiraph.memory.memory_files import INSIGHTS_FILE
from agiraph.messages.node import OfferInsight
from tests.fakes.fake_runtime import FakeRuntime, arrived
from tests.unit.entity.contexts import entity_context

AGENT, RUN = AgentId("shop"), RunId("r1")
TEXT = "Prices are in thousands."


class InsightOffers:
    """The offers of one run under a policy."""

    def __init__(self, home: Path, policy: str) -> None:
        self.runtime = FakeRuntime(home)
        memory = self.runtime.config.memory.model_copy(update={"insights": policy})
        self.runtime.config = self.runtime.config.model_copy(update={"memory": memory})
        facts: dict[str, Any] = {"goal": "g", "model": "a/b", "worker_model": "a/b"}
        agent = Agent(id=AGENT, name="shop", created_at=0.0, updated_at=0.0, **facts)
        files = AgentFiles(self.runtime.home.agent(AGENT), RUN, agent)
        self.kept = files.home.memory / INSIGHTS_FILE
        context, _ = entity_context(home, f"{AGENT}/coordinator", self.runtime)
        self.inbox = context.inbox
        context.files = files  # type: ignore[attr-defined]
        self.insights = InsightReview(cast(CoordinatorContext, context))

    async def offer(self, times: int = 2) -> None:
        """Offer one insight, delivered as often as after crashes."""
        for _ in range(times):
            received = arrived(
                OfferInsight(node_id="n", insight=TEXT), f"{AGENT}/ada", id=b"i" * 16
            )
            await self.insights.handle(received, cast(Any, received.body), "ada", "sums")


async def test_ignored_insight_is_acknowledged_and_reported_only(tmp_path: Path) -> None:
    offers = InsightOffers(tmp_path, "ignore")
    await offers.offer()
    assert offers.runtime.finished == [b"i" * 16] * 2
    assert offers.inbox.is_empty
    assert not offers.kept.exists()
    [event] = offers.runtime.events()
    assert (event.type, event.data["policy"]) == ("memory.insight", "ignore")
    assert "path" not in event.data


async def test_accepted_insight_is_stored_once_in_the_memory_of_the_agent(tmp_path: Path) -> None:
    offers = InsightOffers(tmp_path, "accept")
    await offers.offer()
    assert offers.kept.read_text().count(f"## {TEXT}") == 1
    assert offers.runtime.finished == [b"i" * 16] * 2
    assert [event.data["path"] for event in offers.runtime.events()] == [INSIGHTS_FILE]


@pytest.mark.parametrize("times", [1, 2])
async def test_insight_that_needs_a_decision_waits_for_the_coordinator(
    tmp_path: Path, times: int
) -> None:
    offers = InsightOffers(tmp_path, "ask")
    await offers.offer(times)
    assert offers.runtime.finished == []
    assert {one.id for one in offers.inbox.take(with_followups=True)} == {(b"i" * 16).hex()}
    assert not offers.kept.exists()
    assert len(offers.runtime.events()) == 1

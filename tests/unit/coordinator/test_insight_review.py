"""A worker's offer to the agent's memory is decided by policy, and once."""

from pathlib import Path
from typing import Any, cast

import pytest

from actors.coordinator.context import CoordinatorContext
from actors.coordinator.files import AgentFiles
from actors.coordinator.insight_review import InsightReview
from agiraph.core.ids import AgentId, NodeId, RunId
from agiraph.core.models import Agent
from agiraph.memory.memory_files import INSIGHTS_FILE
from agiraph.messages.node import PublishNode
from tests.fakes.fake_runtime import FakeRuntime
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
        context.files = files  # type: ignore[attr-defined]
        self.insights = InsightReview(cast(CoordinatorContext, context))

    async def offer(self, times: int = 2) -> list[str]:
        """Offer one insight, delivered as often as after crashes; return the texts to show."""
        publish = PublishNode(node_id=NodeId("n"), attempt=1, summary="Done.", insight=TEXT)
        return [await self.insights.review(publish, "ada", "sums", 1.0) for _ in range(times)]


async def test_ignored_insight_is_reported_only(tmp_path: Path) -> None:
    offers = InsightOffers(tmp_path, "ignore")
    assert await offers.offer() == ["", ""]
    assert not offers.kept.exists()
    [event] = offers.runtime.events()
    assert (event.type, event.data["policy"]) == ("memory.insight", "ignore")
    assert "path" not in event.data


async def test_accepted_insight_is_stored_once_in_the_memory_of_the_agent(tmp_path: Path) -> None:
    offers = InsightOffers(tmp_path, "accept")
    assert await offers.offer() == ["", ""]
    assert offers.kept.read_text().count(f"## {TEXT}") == 1
    assert [event.data["path"] for event in offers.runtime.events()] == [INSIGHTS_FILE]


@pytest.mark.parametrize("times", [1, 2])
async def test_insight_that_needs_a_decision_is_shown_to_the_coordinator(
    tmp_path: Path, times: int
) -> None:
    offers = InsightOffers(tmp_path, "ask")
    assert await offers.offer(times) == [TEXT] * times
    assert not offers.kept.exists()
    assert len(offers.runtime.events()) == 1


async def test_result_without_an_insight_is_not_reviewed(tmp_path: Path) -> None:
    offers = InsightOffers(tmp_path, "ask")
    publish = PublishNode(node_id=NodeId("n"), attempt=1, summary="Done.", insight=" ")
    assert await offers.insights.review(publish, "ada", "sums", 1.0) == ""
    assert not offers.runtime.events()

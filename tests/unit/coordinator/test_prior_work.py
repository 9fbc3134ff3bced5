"""Knowledge of earlier runs in prompts: searched once a cycle, without delaying the run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from actors.coordinator.context import CoordinatorContext
from actors.coordinator.prior_work import PriorWorkLookup, within
from agiraph.agent.context_window import estimate_text
from agiraph.core.ids import AgentId
from agiraph.core.models import Agent
from agiraph.knowledge.relevant import KnowledgeNote, RelevantKnowledge
from agiraph.messages.control import RefusedReply
from agiraph.messages.knowledge import EarlierWorkFound, FindEarlierWork
from tests.fakes.fake_runtime import Answer, FakeRuntime
from tests.unit.entity.contexts import entity_context
from transport.errors import LinkDown

NOTES = tuple(
    KnowledgeNote(id=f"c-{n}", kind="mistake", title=f"It broke {n}", text="y " * 200, why="a word")
    for n in range(6)
)
FOUND = EarlierWorkFound(found=RelevantKnowledge(notes=NOTES, tokens=900))


class PriorWorkHarness:
    """One coordinator whose gateway gives this answer."""

    def __init__(self, home: Path, answer: Answer, **settings: object) -> None:
        self.runtime = FakeRuntime(home)
        knowledge = self.runtime.config.knowledge.model_copy(update=settings)
        self.runtime.config = self.runtime.config.model_copy(update={"knowledge": knowledge})
        self.runtime.answers[FindEarlierWork] = lambda _asked: answer
        self.context = cast(Any, entity_context(home, "shop/coordinator", self.runtime)[0])
        agent = {"id": AgentId("shop"), "name": "shop", "goal": "Deploy", "model": "a/b"}
        times = {"worker_model": "a/b", "created_at": 0.0, "updated_at": 0.0}
        self.context.args = SimpleNamespace(agent=Agent.model_validate(agent | times))
        self.context.files = SimpleNamespace(home=self.runtime.home.agent("shop"))
        self.work = PriorWorkLookup(cast(CoordinatorContext, self.context))


async def test_earlier_work_is_looked_up_once_a_cycle_and_after_a_restart(tmp_path: Path) -> None:
    lookup = PriorWorkHarness(tmp_path, FOUND)
    first = await lookup.work.section_for("a/b", 1)
    assert "It broke 0" in first
    assert await lookup.work.section_for("c/d", 1) == first
    assert await PriorWorkLookup(lookup.context).section_for("a/b", 1) == first
    assert len(lookup.runtime.asked) == 1
    assert await lookup.work.section_for("a/b", 2) == first
    assert len(lookup.runtime.asked) == 2
    assert [event.type for event in lookup.runtime.reported] == ["knowledge.used"] * 2
    told = lookup.runtime.reported[0].data["notes"]
    assert [(one["id"], one["why"]) for one in told[:1]] == [("c-0", "a word")]
    assert "text" not in told[0]


async def test_unavailable_database_is_reported_and_the_run_continues(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "the gateway is away": LinkDown("the gateway is away"),
        "no": RefusedReply(reason="no"),
        "damaged": EarlierWorkFound(reason="damaged"),
    }
    for number, (reason, answer) in enumerate(answers.items()):
        home = tmp_path / str(number)
        home.mkdir()
        lookup = PriorWorkHarness(home, answer)
        assert await lookup.work.section_for("a/b", 1) == ""
        [event] = lookup.runtime.reported
        assert (event.type, reason in event.data["reason"]) == ("knowledge.unavailable", True)
        assert await lookup.work.section_for("a/b", 1) == ""
        assert len(lookup.runtime.asked) == 1


async def test_disabled_knowledge_is_not_searched(tmp_path: Path) -> None:
    lookup = PriorWorkHarness(tmp_path, FOUND, prompt_tokens=0)
    assert await lookup.work.section_for("a/b", 1) == ""
    assert lookup.runtime.asked == []


async def test_smaller_window_gets_fewer_notes(tmp_path: Path) -> None:
    (tmp_path / "providers.yaml").write_text("tiny: {api: openai, models: {x: {context: 8192}}}\n")
    lookup = PriorWorkHarness(tmp_path, FOUND)
    small, large = [await lookup.work.section_for(model, 1) for model in ("tiny/x", "a/b")]
    assert estimate_text(small) <= 8192 // 32 < estimate_text(large)


def test_notes_within_a_size_are_kept_whole_from_the_first() -> None:
    assert within(FOUND.found, 10**6) is FOUND.found
    some = within(FOUND.found, 500)
    assert some.notes == NOTES[: len(some.notes)]
    assert 0 < len(some.notes) < len(NOTES)
    assert within(FOUND.found, 10).prompt() == ""

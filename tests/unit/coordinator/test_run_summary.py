"""The records of an ended run or cycle for the knowledge database."""

from pathlib import Path

from actors.coordinator.run_summary import LONGEST_TEXT, finished_run, lesson_key
from agiraph.board.commands import (
    Command,
    CompleteNode,
    EndCycle,
    FailNode,
    FinishRun,
    Reconvene,
    RetryNode,
    StartCycle,
    StartNode,
)
from agiraph.board.events import BoardEvent
from agiraph.core.ids import AgentId
from agiraph.core.models import Agent, NodeResult
from agiraph.knowledge.learned import FinishedRun
from agiraph.knowledge.records import project_id
from tests.unit.board.board_driver import BoardDriver


class RecordedBoard(BoardDriver):
    """A board whose events are kept, as a run's journal keeps them."""

    def __init__(self, **terms: object) -> None:
        self.kept: list[BoardEvent] = []
        super().__init__(**terms)

    def events(self, command: Command) -> tuple[BoardEvent, ...]:
        happened = super().events(command)
        self.kept += happened
        return happened

    @property
    def key(self) -> str:
        assert self.board.run is not None
        return lesson_key(self.board.run)

    def lesson(self, input_dir: str | None = None) -> FinishedRun:
        agent = Agent(
            id=AgentId("shop-1"),
            name="shop",
            goal="the goal",
            model="a/b",
            worker_model="c/d",
            input=input_dir,
            created_at=0.0,
            updated_at=0.0,
        )
        return finished_run(self.board, self.kept, agent, None)


def test_node_that_failed_first_has_its_reasons_and_its_final_result() -> None:
    driver = RecordedBoard()
    driver.busy("tables", "ada")
    driver.do(FailNode("tables", None, "no index" + "x" * 9000, details="Traceback ..."))
    driver.do(RetryNode("tables", "m1"))
    driver.assign("tables", "ada")
    driver.do(StartNode("tables", "ada", 2))
    driver.do(CompleteNode("tables", 2, NodeResult(summary="with an index", files=("t.md",))))
    driver.do(FinishRun("All is well."))
    run = driver.lesson()
    assert (run.outcome, run.result, run.agent, run.run) == (
        "completed",
        "All is well.",
        "shop-1",
        "r1",
    )
    [node] = run.nodes
    assert (node.name, node.worker, node.summary, node.files) == (
        "tables",
        "ada",
        "with an index",
        ("t.md",),
    )
    [failure] = node.failures
    assert failure.reason.startswith("no index")
    assert len(failure.reason) == LONGEST_TEXT
    assert node.seconds > 0


def test_the_project_is_the_repository_or_folder_of_the_input_else_the_agent(
    tmp_path: Path,
) -> None:
    driver = RecordedBoard()
    driver.do(FinishRun("Done."))
    assert driver.lesson().project_id == f"agent-{driver.lesson().agent}"
    inner = tmp_path / "packages" / "shop"
    inner.mkdir(parents=True)
    assert driver.lesson(str(inner)).project_id == project_id(inner)
    (tmp_path / ".git").mkdir()
    assert driver.lesson(str(inner)).project_id == project_id(tmp_path)


def test_decision_at_the_end_of_a_stage_is_recorded() -> None:
    driver = RecordedBoard()
    driver.worker("ada")
    driver.node("tables")
    driver.complete("tables", "ada")
    driver.do(Reconvene("The tables are thin.", "c1", "Use PostgreSQL"))
    driver.do(FinishRun("Done."))
    [decision] = driver.lesson().decisions
    assert (decision.title, decision.rationale) == ("Use PostgreSQL", "The tables are thin.")


def test_summary_of_a_cycle_covers_only_that_cycle() -> None:
    driver = RecordedBoard(mode="infinite")
    driver.worker("ada")
    driver.node("first")
    driver.complete("first", "ada")
    driver.do(EndCycle("c1", "The first is done.", 99.0))
    one, key = driver.lesson(), driver.key
    assert (one.run, one.result, [node.name for node in one.nodes]) == (
        "r1/1",
        "The first is done.",
        ["first"],
    )
    driver.do(StartCycle("c1"))
    driver.node("second")
    driver.complete("second", "ada")
    driver.do(EndCycle("c2", "The second, too.", 199.0))
    two = driver.lesson()
    assert (two.run, [node.name for node in two.nodes]) == ("r1/2", ["second"])
    assert two.started >= one.ended
    assert driver.key != key

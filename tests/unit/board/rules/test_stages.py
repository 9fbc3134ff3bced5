"""Stages and the end of a run: reconvening, and cancellation at the finish."""

import pytest

from agiraph.board.commands import (
    EndStageEarly,
    FinishRun,
    LaunchStage,
    Reconvene,
    StopRun,
)
from agiraph.board.events import StageMet, StageReconvened
from agiraph.board.rules.stages import due_at
from agiraph.core.errors import IllegalTransition
from agiraph.core.models import StageContract
from agiraph.core.specs import CheckpointPolicy, StageTerms
from tests.unit.board.board_driver import BoardDriver


def desk_with(policy: CheckpointPolicy, nodes: int = 3) -> BoardDriver:
    driver = BoardDriver(contract=StageContract(checkpoint_policy=policy))
    driver.worker("ada")
    for number in range(nodes):
        driver.node(f"n{number}")
    return driver


def test_a_stage_closes_when_all_its_nodes_have_ended() -> None:
    driver = desk_with("all_must_complete", nodes=2)
    driver.complete("n0", "ada")
    driver.refuses(Reconvene("good"), r"n1 \(pending\) has not ended")
    driver.fail("n1")
    assert driver.do(Reconvene("good")) == ["stage.reconvened"]
    assert driver.board.stages[0].assessment == "good"
    assert driver.board.open_stage is None


@pytest.mark.parametrize(("policy", "needed"), [("any", 1), ("majority", 2)])
def test_relaxed_policy_names_the_stragglers(policy: CheckpointPolicy, needed: int) -> None:
    driver = desk_with(policy)
    for number in range(needed):
        driver.refuses(Reconvene("early"), "cannot be closed yet")
        driver.complete(f"n{number}", "ada")
    *_, met, closed = driver.events(Reconvene("enough"))
    assert isinstance(met, StageMet)
    assert isinstance(closed, StageReconvened)
    late = tuple(driver.at(f"n{n}").id for n in range(needed, 3))
    assert met.stragglers == closed.stragglers == driver.board.stages[0].stragglers == late
    assert {driver.board.nodes[node].status for node in late} == {"cancelled"}


@pytest.mark.parametrize(("policy", "needed"), [("any", 1), ("majority", 2)])
def test_awaited_stage_ends_without_its_stragglers(policy: CheckpointPolicy, needed: int) -> None:
    driver = desk_with(policy)
    for number in range(needed):
        assert driver.do(LaunchStage()) == (["stage.launched"] if number == 0 else [])
        driver.complete(f"n{number}", "ada")
    driver.settle()
    stage = driver.board.stages[0]
    assert (stage.status, stage.over) == ("reconvening", policy)
    assert [driver.board.nodes[n].name for n in stage.stragglers] == [
        f"n{n}" for n in range(needed, 3)
    ]
    assert "went on without it" in (driver.at("n2").reason or "")
    with pytest.raises(IllegalTransition, match=r"is over .* `reconvene`"):
        driver.node("late")
    assert driver.do(Reconvene("enough")) == ["stage.reconvened"]
    driver.node("late")
    assert driver.at("late").stage == 1


def test_policy_is_not_evaluated_while_its_stage_is_planned() -> None:
    driver = desk_with("majority", nodes=1)
    driver.complete("n0", "ada")
    driver.settle()
    assert driver.board.stages[0].status == "planning"
    driver.node("n1")
    driver.node("n2")
    driver.do(LaunchStage())
    driver.complete("n1", "ada")
    driver.settle()
    assert driver.board.stages[0].over == "majority"


def test_sub_nodes_do_not_count_for_a_policy() -> None:
    driver = desk_with("majority", nodes=3)
    driver.run("n0", "ada")
    for number in range(5):
        driver.node(f"part-{number}", parent="n0")
    driver.do(LaunchStage())
    driver.done("n0")
    assert driver.plan(1)[0] != EndStageEarly(0)
    driver.complete("n1", "ada")
    assert driver.plan() == (EndStageEarly(0),)


def test_stage_timeout_counts_from_its_start() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.node("first", stage=StageTerms(name="Race", timeout_seconds=10))
    started = driver.now
    driver.node("second")
    assert due_at(driver.board) == started + 10
    driver.complete("first", "ada")
    assert driver.do(EndStageEarly(0)) == []
    driver.now = started + 9
    assert driver.do(EndStageEarly(0)) == ["node.cancelled", "stage.met"]
    assert driver.at("second").reason == "stage 'Race' went on without it: its time of 10 s is up"
    assert due_at(driver.board) is None
    assert driver.do(EndStageEarly(0)) == []


def test_node_cannot_join_a_stage_whose_time_is_up() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.node("first", stage=StageTerms(timeout_seconds=10))
    driver.complete("first", "ada")
    assert due_at(driver.board) is None
    driver.now += 10
    with pytest.raises(IllegalTransition, match="its time of 10 s is up"):
        driver.node("second")


def test_stage_terms_come_from_its_first_node_or_from_reconvene() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    terms = StageTerms(
        name="Research",
        goal="find out",
        max_iterations_per_node=7,
        timeout_seconds=60,
        checkpoint_policy="majority",
    )
    driver.node("first", stage=terms)
    stage = driver.board.stages[0]
    assert (stage.name, stage.goal) == ("Research", "find out")
    assert stage.contract.max_iterations_per_node == 7
    assert (stage.contract.timeout_seconds, stage.contract.checkpoint_policy) == (60, "majority")
    assert stage.contract.node_timeout_seconds == 1800
    with pytest.raises(IllegalTransition, match="is open and its contract stands"):
        driver.node("second", stage=terms)
    driver.complete("first", "ada")
    closing = Reconvene("known", "c1", "go on")
    assert driver.do(closing) == ["stage.reconvened"]
    assert driver.do(closing) == []
    driver.node(
        "later", stage=StageTerms(name="Synthesis", goal="write", brief="Two pages.", timeout=30)
    )
    stage = driver.board.stages[1]
    assert (stage.name, stage.goal, stage.contract.timeout_seconds) == ("Synthesis", "write", 30)
    assert stage.brief == "Two pages."


def test_the_next_node_opens_the_next_stage() -> None:
    driver = desk_with("all_must_complete", nodes=1)
    driver.complete("n0", "ada")
    driver.do(Reconvene("good"))
    driver.node("later")
    assert [stage.name for stage in driver.board.stages] == ["Stage 1", "Stage 2"]
    assert driver.at("later").stage == 1


def test_reconvene_without_an_open_stage_is_refused() -> None:
    with pytest.raises(IllegalTransition, match="no stage is open"):
        BoardDriver().do(Reconvene("?"))


def test_finish_cancels_unfinished_nodes() -> None:
    driver = desk_with("all_must_complete")
    driver.complete("n0", "ada")
    driver.run("n1", "ada")
    assert driver.do(FinishRun("the result")) == [
        "node.cancelled",
        "node.cancelled",
        "run.finished",
    ]
    assert [n.status for n in driver.board.nodes.values()] == [
        "completed",
        "cancelled",
        "cancelled",
    ]
    assert driver.who("ada").status == "stopped"
    assert driver.board.run is not None
    assert (driver.board.run.status, driver.board.run.summary) == ("completed", "the result")
    assert driver.do(FinishRun("again")) == []
    assert driver.plan() == ()


def test_a_run_can_be_stopped_before_its_goal() -> None:
    driver = desk_with("all_must_complete", nodes=1)
    assert driver.do(StopRun("stopped", "the human said so")) == ["node.cancelled", "run.stopped"]
    assert driver.do(StopRun("stopped", "")) == []
    driver.refuses(FinishRun("too late"), "it is stopped")

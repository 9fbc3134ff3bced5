"""Stages and the end of a run: when the team may reconvene, and what finishing cancels."""

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
from tests.unit.board.desk import Desk


def desk_with(policy: CheckpointPolicy, nodes: int = 3) -> Desk:
    desk = Desk(contract=StageContract(checkpoint_policy=policy))
    desk.worker("ada")
    for number in range(nodes):
        desk.node(f"n{number}")
    return desk


def test_a_stage_closes_when_all_its_nodes_have_ended() -> None:
    desk = desk_with("all_must_complete", nodes=2)
    desk.complete("n0", "ada")
    desk.refuses(Reconvene("good"), r"n1 \(pending\) has not ended")
    desk.fail("n1")
    assert desk.do(Reconvene("good")) == ["stage.reconvened"]
    assert desk.board.stages[0].assessment == "good"
    assert desk.board.open_stage is None


@pytest.mark.parametrize(("policy", "needed"), [("any", 1), ("majority", 2)])
def test_a_looser_contract_names_the_stragglers(policy: CheckpointPolicy, needed: int) -> None:
    desk = desk_with(policy)
    for number in range(needed):
        desk.refuses(Reconvene("early"), "cannot be closed yet")
        desk.complete(f"n{number}", "ada")
    *_, met, closed = desk.events(Reconvene("enough"))
    assert isinstance(met, StageMet)
    assert isinstance(closed, StageReconvened)
    late = tuple(desk.at(f"n{n}").id for n in range(needed, 3))
    assert met.stragglers == closed.stragglers == desk.board.stages[0].stragglers == late
    assert {desk.board.nodes[node].status for node in late} == {"cancelled"}


@pytest.mark.parametrize(("policy", "needed"), [("any", 1), ("majority", 2)])
def test_a_stage_that_is_waited_for_goes_on_without_its_stragglers(
    policy: CheckpointPolicy, needed: int
) -> None:
    desk = desk_with(policy)
    for number in range(needed):
        assert desk.do(LaunchStage()) == (["stage.launched"] if number == 0 else [])
        desk.complete(f"n{number}", "ada")
    desk.settle()
    stage = desk.board.stages[0]
    assert (stage.status, stage.over) == ("reconvening", policy)
    assert [desk.board.nodes[n].name for n in stage.stragglers] == [
        f"n{n}" for n in range(needed, 3)
    ]
    assert "went on without it" in (desk.at("n2").reason or "")
    with pytest.raises(IllegalTransition, match=r"is over .* `reconvene`"):
        desk.node("late")
    assert desk.do(Reconvene("enough")) == ["stage.reconvened"]
    desk.node("late")
    assert desk.at("late").stage == 1


def test_a_policy_is_not_judged_while_the_stage_is_still_being_planned() -> None:
    desk = desk_with("majority", nodes=1)
    desk.complete("n0", "ada")
    desk.settle()
    assert desk.board.stages[0].status == "planning"
    desk.node("n1")
    desk.node("n2")
    desk.do(LaunchStage())
    desk.complete("n1", "ada")
    desk.settle()
    assert desk.board.stages[0].over == "majority"


def test_sub_nodes_do_not_count_for_a_policy() -> None:
    desk = desk_with("majority", nodes=3)
    desk.run("n0", "ada")
    for number in range(5):
        desk.node(f"part-{number}", parent="n0")
    desk.do(LaunchStage())
    desk.done("n0")
    assert desk.plan(1)[0] != EndStageEarly(0)
    desk.complete("n1", "ada")
    assert desk.plan() == (EndStageEarly(0),)


def test_a_stage_goes_on_when_its_time_is_up_and_counts_it_from_its_start() -> None:
    desk = Desk()
    desk.worker("ada")
    desk.node("first", stage=StageTerms(name="Race", timeout_seconds=10))
    started = desk.now
    desk.node("second")
    assert due_at(desk.board) == started + 10
    desk.complete("first", "ada")
    assert desk.do(EndStageEarly(0)) == []
    desk.now = started + 9
    assert desk.do(EndStageEarly(0)) == ["node.cancelled", "stage.met"]
    assert desk.at("second").reason == "stage 'Race' went on without it: its time of 10 s is up"
    assert due_at(desk.board) is None
    assert desk.do(EndStageEarly(0)) == []


def test_nothing_joins_a_stage_whose_time_is_up() -> None:
    desk = Desk()
    desk.worker("ada")
    desk.node("first", stage=StageTerms(timeout_seconds=10))
    desk.complete("first", "ada")
    assert due_at(desk.board) is None
    desk.now += 10
    with pytest.raises(IllegalTransition, match="its time of 10 s is up"):
        desk.node("second")


def test_the_terms_of_a_stage_come_with_its_first_node_or_with_reconvening() -> None:
    desk = Desk()
    desk.worker("ada")
    terms = StageTerms(
        name="Research",
        goal="find out",
        max_iterations_per_node=7,
        timeout_seconds=60,
        checkpoint_policy="majority",
    )
    desk.node("first", stage=terms)
    stage = desk.board.stages[0]
    assert (stage.name, stage.goal) == ("Research", "find out")
    assert stage.contract.max_iterations_per_node == 7
    assert (stage.contract.timeout_seconds, stage.contract.checkpoint_policy) == (60, "majority")
    assert stage.contract.node_timeout_seconds == 1800
    with pytest.raises(IllegalTransition, match="is open and its contract stands"):
        desk.node("second", stage=terms)
    desk.complete("first", "ada")
    closing = Reconvene(
        "known",
        "c1",
        "go on",
        StageTerms(
            name="Synthesis", goal="write it", max_iterations_per_node=None, timeout_seconds=30
        ),
    )
    assert desk.do(closing) == ["stage.reconvened", "stage.planned"]
    assert desk.do(closing) == []
    desk.node("later")
    stage = desk.board.stages[1]
    assert (stage.name, stage.goal, stage.contract.timeout_seconds) == ("Synthesis", "write it", 30)
    assert desk.board.planned is None


def test_the_next_node_opens_the_next_stage() -> None:
    desk = desk_with("all_must_complete", nodes=1)
    desk.complete("n0", "ada")
    desk.do(Reconvene("good"))
    desk.node("later")
    assert [stage.name for stage in desk.board.stages] == ["Stage 1", "Stage 2"]
    assert desk.at("later").stage == 1


def test_there_must_be_a_stage_to_close() -> None:
    with pytest.raises(IllegalTransition, match="no stage is open"):
        Desk().do(Reconvene("?"))


def test_finishing_cancels_what_has_not_ended() -> None:
    desk = desk_with("all_must_complete")
    desk.complete("n0", "ada")
    desk.run("n1", "ada")
    assert desk.do(FinishRun("the result")) == ["node.cancelled", "node.cancelled", "run.finished"]
    assert [n.status for n in desk.board.nodes.values()] == ["completed", "cancelled", "cancelled"]
    assert desk.who("ada").status == "stopped"
    assert desk.board.run is not None
    assert (desk.board.run.status, desk.board.run.summary) == ("completed", "the result")
    assert desk.do(FinishRun("again")) == []
    assert desk.plan() == ()


def test_a_run_can_be_stopped_before_its_goal() -> None:
    desk = desk_with("all_must_complete", nodes=1)
    assert desk.do(StopRun("stopped", "the human said so")) == ["node.cancelled", "run.stopped"]
    assert desk.do(StopRun("stopped", "")) == []
    desk.refuses(FinishRun("too late"), "it is stopped")

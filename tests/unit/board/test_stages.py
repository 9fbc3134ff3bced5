"""Stages and the end of a run: when the team may reconvene, and what finishing cancels."""

import pytest

from agiraph.board.commands import FinishRun, Reconvene, StopRun
from agiraph.board.events import StageReconvened
from agiraph.errors import IllegalTransition
from agiraph.models import CheckpointPolicy, StageContract
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
    with pytest.raises(IllegalTransition, match=r"n1 \(pending\) has not ended"):
        desk.do(Reconvene("good"))
    desk.fail("n1")
    assert desk.do(Reconvene("good")) == ["stage.reconvened"]
    assert desk.board.stages[0].assessment == "good"
    assert desk.board.open_stage is None


@pytest.mark.parametrize(("policy", "needed"), [("any", 1), ("majority", 2)])
def test_a_looser_contract_names_the_stragglers(policy: CheckpointPolicy, needed: int) -> None:
    desk = desk_with(policy)
    for number in range(needed):
        with pytest.raises(IllegalTransition, match="cannot be closed yet"):
            desk.do(Reconvene("early"))
        desk.complete(f"n{number}", "ada")
    (event,) = desk.events(Reconvene("enough"))
    assert isinstance(event, StageReconvened)
    assert event.stragglers == tuple(desk.at(f"n{n}").id for n in range(needed, 3))


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
    with pytest.raises(IllegalTransition, match="it is stopped"):
        desk.do(FinishRun("too late"))

"""The nodes of a plan: the coordinator cannot finish over them, and a lost one is named."""

import pytest

from agiraph.board.commands import CancelNode, FinishRun, LaunchStage
from agiraph.board.events import RunFinished, RunStopped
from agiraph.board.plan_end import end_of_plan
from agiraph.core.errors import InvalidInput
from agiraph.core.models import CancelledBy
from tests.unit.board.board_driver import BoardDriver

PLAN = """
nodes:
  - {id: a, task: Do a}
  - {id: b, task: Do b, deps: [a]}
  - {id: extra, task: Do extra, optional: true}
"""


def planned(plan: str = PLAN) -> BoardDriver:
    driver = BoardDriver()
    driver.fill(plan)
    driver.worker("ada")
    return driver


def give_up(driver: BoardDriver, node: str, by: CancelledBy = "coordinator") -> None:
    driver.do(CancelNode(node, "not needed", by=by))
    driver.settle()


def test_finish_is_refused_while_nodes_of_the_plan_have_not_ended() -> None:
    driver = planned()
    driver.node("own")
    driver.refuses(FinishRun("done"), r"a \(pending\), b \(pending\), extra \(pending\) have not")
    driver.complete("a", "ada")
    driver.complete("b", "ada")
    driver.refuses(FinishRun("done"), r"extra \(pending\) has not ended")
    driver.complete("extra", "ada")
    *_, finished = driver.events(FinishRun("done"))
    assert isinstance(finished, RunFinished)
    assert finished.incomplete == ()
    assert driver.at("own").status == "cancelled"


def test_a_node_of_the_plan_is_given_up_only_with_a_reason() -> None:
    driver = planned()
    driver.refuses(CancelNode("a", " ", by="coordinator"), "needs a reason", InvalidInput)
    driver.node("own")
    assert driver.do(CancelNode("own", by="coordinator")) == ["node.cancelled"]


def test_run_fails_if_the_coordinator_gave_up_its_plan() -> None:
    driver = planned()
    give_up(driver, "a")
    assert driver.at("b").status == "failed"
    driver.complete("extra", "ada")
    *_, stopped = driver.events(FinishRun("half of it"))
    assert isinstance(stopped, RunStopped)
    assert (stopped.status, stopped.summary) == ("failed", "half of it")
    assert "gave up nodes of the plan: a (cancelled: not needed), b (failed" in stopped.reason
    assert driver.do(FinishRun("half of it")) == []


@pytest.mark.parametrize("by", ["coordinator", "human"])
def test_optional_node_may_be_given_up_and_is_listed_as_incomplete(by: CancelledBy) -> None:
    driver = planned()
    driver.complete("a", "ada")
    driver.complete("b", "ada")
    give_up(driver, "extra", by)
    *_, finished = driver.events(FinishRun("done"))
    assert isinstance(finished, RunFinished)
    assert finished.incomplete == ("extra",)


def test_nodes_cancelled_by_the_human_do_not_fail_the_run() -> None:
    driver = planned()
    give_up(driver, "a", by="human")
    driver.complete("extra", "ada")
    *_, finished = driver.events(FinishRun("done"))
    assert isinstance(finished, RunFinished)
    assert finished.incomplete == ("a", "b")


def test_required_node_lost_with_an_optional_one_fails_the_run() -> None:
    driver = planned(
        "nodes:\n  - {id: a, task: x, optional: true}\n  - {id: b, task: y, deps: [a]}\n"
    )
    give_up(driver, "a")
    *_, stopped = driver.events(FinishRun("done"))
    assert isinstance(stopped, RunStopped)
    assert "gave up nodes of the plan: b (failed: " in stopped.reason


def test_stragglers_of_a_met_policy_are_not_incomplete() -> None:
    driver = planned(
        "stages:\n  - name: Look\n    roles: [{id: x, prompt: X}, {id: y, prompt: Y}]\n"
        "contract: {checkpoint_policy: any}\n"
    )
    driver.do(LaunchStage())
    driver.complete("x", "x")
    driver.settle()
    *_, finished = driver.events(FinishRun("done"))
    assert isinstance(finished, RunFinished)
    assert finished.incomplete == ()


def test_a_run_without_a_leading_model_ends_with_its_last_nodes() -> None:
    driver = planned()
    assert end_of_plan(driver.board) is None
    driver.complete("a", "ada")
    driver.complete("extra", "ada")
    assert end_of_plan(driver.board) is None
    driver.complete("b", "ada")
    ended = end_of_plan(driver.board)
    assert ended == FinishRun("## b\n\nb is done\n\n## extra\n\nextra is done")


def test_a_run_without_a_leading_model_fails_with_a_required_node() -> None:
    driver = planned()
    driver.complete("extra", "ada")
    driver.fail("a")
    driver.settle()
    ended = end_of_plan(driver.board)
    assert ended is not None
    [stopped] = driver.events(ended)
    assert isinstance(stopped, RunStopped)
    assert stopped.reason == (
        "nodes of the plan were not completed: a (failed: it went wrong), "
        "b (failed: its dependency 'a' failed: it went wrong)"
    )


def test_a_run_without_a_leading_model_is_completed_without_an_optional_node() -> None:
    driver = planned()
    driver.complete("a", "ada")
    driver.complete("b", "ada")
    driver.fail("extra")
    ended = end_of_plan(driver.board)
    assert ended == FinishRun("b is done")

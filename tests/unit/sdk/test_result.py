"""A failed node has a class, by the beginning of its reason, not by a model's words in it."""

import pytest

from actors.worker.single_inference import NO_ANSWER
from actors.worker.worker import _why_failed
from agiraph.board.scheduler import SchedulingLimits, plan
from agiraph.core.errors import ModelFailure
from agiraph.sdk.result import NodeFailure
from tests.unit.board.board_driver import BoardDriver


def test_reasons_of_the_product_have_a_class() -> None:
    driver = BoardDriver()
    driver.node("a")
    driver.node("b", "a")
    driver.settle()
    driver.fail("a")
    [action] = plan(driver.board, SchedulingLimits(4))
    driver.do(action)
    assert NodeFailure("b", driver.at("b").reason or "").failure_class == "dependency"
    reasons = {
        _why_failed(TimeoutError(), 30): "timeout",
        _why_failed(ModelFailure("out_of_budget", "x"), 30): "budget",
        _why_failed(ModelFailure("bad_key", "x"), 30): "model",
        NO_ANSWER: "model",
        "the node's 3 model turns are used up; its last turn published nothing": "iterations",
        "12 of the node's 10 tokens are used; its last turn published nothing": "budget",
        "its worker 'ada' was lost: exit code 3 (see failure.md)": "process",
        "[not published] 1 of 2 checks of this node failed": "checks",
    }
    assert {why: NodeFailure("a", why).failure_class for why in reasons} == reasons


@pytest.mark.parametrize(
    "reason",
    [
        "claude-code says that it could not do it: the api of the model timed out",
        "no model of a process with a budget was found",
        "cancelled: 20 seconds are too long",
    ],
)
def test_text_of_a_reason_is_not_its_class(reason: str) -> None:
    assert NodeFailure("a", reason).failure_class == "other"

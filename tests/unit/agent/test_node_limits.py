"""Bounds of a node: when a worker has its last turn, and when it is over."""

import pytest

from agiraph.agent.node_limits import (
    LastTurn,
    MustStop,
    at_door,
    contract_of,
    judge,
    refused_at_door,
)
from agiraph.agent.records import AssignmentTaken, ModelAnswered, NodeClosed
from agiraph.agent.transcript import Transcript
from agiraph.core.ids import NodeId, RunId
from agiraph.core.models import Assignment, StageContract, WorkNode
from agiraph.core.money import BudgetState, Shortage, SpendingLimits, Unit
from agiraph.core.turns import Usage
from agiraph.settings.config import load_config

NODE = WorkNode(id=NodeId("n1"), name="facts", task="t")


def begun(*usages: Usage, node: WorkNode = NODE) -> Transcript:
    """Return a transcript with one silent turn for each usage."""
    assignment = Assignment(node=node, spec="t", contract=StageContract())
    took_up = AssignmentTaken(
        content="Do it", run=RunId("r"), assignment=assignment, message="m", ts=0
    )
    return Transcript.fold(
        [took_up, *(ModelAnswered(text="x", usage=usage, ts=0) for usage in usages)]
    )


def used(tokens: int = 100, cost: float | None = None) -> Usage:
    return Usage(input_tokens=tokens, cost_usd=cost)


def told(transcript: Transcript, contract: StageContract) -> Transcript:
    verdict = judge(transcript, contract)
    assert isinstance(verdict, LastTurn)
    transcript.apply(verdict.record(0))
    return transcript


def test_node_without_limits_has_no_last_turn() -> None:
    assert judge(begun(*[used()] * 58), StageContract()) is None


def test_turn_before_the_limit_is_announced_as_the_last() -> None:
    contract = StageContract(max_iterations_per_node=3)
    assert judge(begun(used()), contract) is None
    verdict = judge(begun(used(), used()), contract)
    assert isinstance(verdict, LastTurn)
    assert "3 model turns" in verdict.record(0).content


def test_last_turn_is_announced_once_and_then_the_node_ends() -> None:
    contract = StageContract(max_iterations_per_node=3)
    transcript = told(begun(used(), used()), contract)
    assert judge(transcript, contract) is None, "asked again after a crash"
    transcript.apply(ModelAnswered(text="cut", interrupted=True, ts=0))
    assert judge(transcript, contract) is None, "an interruption does not use up the last turn"
    transcript.apply(ModelAnswered(text="x", ts=0))
    verdict = judge(transcript, contract)
    assert isinstance(verdict, MustStop)
    assert "3 model turns are used up" in verdict.reason


def test_limit_of_one_turn_ends_the_node_after_one_turn() -> None:
    contract = StageContract(max_iterations_per_node=1)
    assert judge(begun(), contract) is None
    assert isinstance(judge(begun(used()), contract), MustStop)


@pytest.mark.parametrize(
    ("contract", "usage"),
    [
        (StageContract(max_tokens_per_node=300), used()),
        (StageContract(max_cost_usd_per_node=0.03), used(cost=0.01)),
    ],
    ids=["tokens", "money"],
)
def test_last_turn_is_announced_while_the_budget_still_pays_for_it(
    contract: StageContract, usage: Usage
) -> None:
    assert judge(begun(usage), contract) is None
    assert isinstance(judge(begun(usage, usage), contract), LastTurn)


def test_cost_limit_without_a_price_is_refused() -> None:
    verdict = judge(begun(used()), StageContract(max_cost_usd_per_node=1))
    assert isinstance(verdict, MustStop)
    assert "price" in verdict.reason


def test_exhausted_compactions_announce_the_last_turn() -> None:
    verdict = judge(begun(used()), StageContract(), is_context_used_up=True)
    assert isinstance(verdict, LastTurn)
    assert verdict.bound == "context"


def test_next_node_starts_with_zero_usage() -> None:
    contract = StageContract(max_tokens_per_node=300)
    transcript = told(begun(used(), used()), contract)
    transcript.apply(NodeClosed(node_id=NODE.id, status="failed", ts=0))
    assignment = Assignment(node=NODE, spec="t", contract=contract)
    transcript.apply(
        AssignmentTaken(content="Again", run=RunId("r"), assignment=assignment, message="n", ts=0)
    )
    assert judge(transcript, contract) is None
    assert transcript.usage.tokens == 200, "the conversation's own count goes on"


def test_external_agent_is_limited_in_tokens_money_and_calls() -> None:
    contract = StageContract(max_tokens_per_node=9, max_cost_usd_per_node=0.5, max_calls_per_node=7)
    assert at_door(contract) == SpendingLimits(tokens=9, usd=0.5, calls=7)
    assert at_door(contract_of(load_config().run)) == SpendingLimits(calls=250)


@pytest.mark.parametrize(
    ("unit", "bound", "why"),
    [
        ("tokens", "tokens", "35,000 tokens of the node's 40,000 tokens are used"),
        ("usd", "money", "$0.0400 of the node's $0.0500 are used"),
        ("calls", "calls", "6 calls of the node's 6 calls are used"),
    ],
)
def test_call_refused_by_the_proxy_names_the_limit(unit: Unit, bound: str, why: str) -> None:
    state = BudgetState(
        scope="node",
        key="r/n1/1",
        tokens=40_000,
        usd=0.05,
        calls=6,
        spent_tokens=35_000,
        spent_usd=0.04,
        spent_calls=6,
    )
    record = refused_at_door(Shortage(budget=state, unit=unit, needs=1), 5)
    assert (record.bound, record.ts) == (bound, 5)
    assert record.why == f"{why}, and the rest does not cover another call"

"""Brains of an agent that is given one goal after the other: each goal has its own steps."""

from collections.abc import Mapping, Sequence

from agiraph.core.turns import AssistantTurn, Turn, UserTurn
from tests.fakes.model_server import Brain, Reply, SeenRequest

GOAL = "# Goal\n\n"


def by_goal(goals: Mapping[str, Sequence[Reply | Brain]]) -> Brain:
    """Return a coordinator's brain that goes through the steps of the goal it was given last."""

    def answer(seen: SeenRequest) -> Reply:
        at = max(n for n, turn in enumerate(seen.turns) if _goal(turn))
        given = _goal(seen.turns[at])
        steps = next(steps for wanted, steps in goals.items() if wanted in given)
        done = sum(isinstance(turn, AssistantTurn) for turn in seen.turns[at:])
        step = steps[min(done, len(steps) - 1)]
        return step if isinstance(step, Reply) else step(seen)

    return answer


def _goal(turn: Turn) -> str:
    """Return the goal that a turn gives: the last, if it took up one that was not answered."""
    said = turn.content if isinstance(turn, UserTurn) else ""
    return said.rpartition(GOAL)[2] if said.startswith(GOAL) else ""

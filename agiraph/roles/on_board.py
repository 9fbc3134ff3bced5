"""A team's turns on the board of its run: each is a node, two if its role has a fallback. Pure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from agiraph.board.board import Board
from agiraph.board.commands import OF_ROLES
from agiraph.core.errors import InvalidInput
from agiraph.core.models import WorkNode
from agiraph.core.roles import Role, RoleTeamSpec, command_of, kind_of
from agiraph.core.specs import WorkerSpec
from agiraph.core.turns import JsonObject
from agiraph.roles.decisions import decision_of
from agiraph.roles.engine import Failure, Outcome, RoleTeamState, advance

LONGEST_REASON: Final = 1000


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at the next turn of `state`: by the role's own agent, or by its fallback."""

    state: RoleTeamState
    is_fallback: bool = False

    @property
    def node(self) -> str:
        """The name of the attempt's node on the board."""
        return f"turn-{self.state.number}{'-fallback' if self.is_fallback else ''}"

    @property
    def cause(self) -> str:
        """The cause of the attempt's node, by which the board finds that node."""
        return f"{OF_ROLES}{self.node}"

    @property
    def role(self) -> Role:
        """The role whose turn it is."""
        return self.state.spec.roles[self.state.role]

    @property
    def agent(self) -> str:
        """The agent of the turn, '' for the run's own model."""
        return self.role.fallback if self.is_fallback else self.role.agent


def current_turn(board: Board, team: RoleTeamSpec, task: str) -> Attempt:
    """Return the current turn, with all earlier turns; for an ended team the last turn."""
    return TurnFold(team, task).current_turn(board)


class TurnFold:
    """The turns of one task, folded as they end; unchanged turns are not folded again.

    The result depends only on the board that is passed.
    """

    def __init__(self, team: RoleTeamSpec, task: str) -> None:
        self._begin = RoleTeamState(team, task)
        self._ended: list[tuple[tuple[WorkNode, ...], RoleTeamState]] = []
        """The nodes of each turn that has ended, and the state after it."""

    def current_turn(self, board: Board) -> Attempt:
        """Return the current turn of the board, as the function `current_turn`."""
        self._forget_what_changed(board)
        state = self._ended[-1][1] if self._ended else self._begin
        while state.end is None:
            nodes: list[WorkNode] = []
            outcome = None
            for attempt in _attempts(state):
                node = board.node_by_cause(attempt.cause)
                if node is None or not node.has_ended or _is_cut_off(board, node):
                    return attempt
                nodes.append(node)
                outcome = _outcome(node, attempt.agent or state.spec.agent_of(state.role))
                if not isinstance(outcome.result, Failure):
                    break
            assert outcome is not None
            state = advance(state, outcome)
            self._ended.append((tuple(nodes), state))
        return Attempt(state)

    def _forget_what_changed(self, board: Board) -> None:
        """Drop the first turn with a changed node (it is done again), and all later turns."""
        known = board.nodes
        for number, (nodes, _) in enumerate(self._ended):
            for node in nodes:
                if known.get(node.id) is not node:
                    del self._ended[number:]
                    return


def worker_for(
    attempt: Attempt, gone: Collection[str], model: str, *, only_writes: bool
) -> WorkerSpec:
    """Return the worker for a turn, with a name that is not in `gone`.

    An external agent works by itself. A `model` that `only_writes`, if its role has no further
    permission, is called once and has no tools. A model knows its role from its system prompt; an
    agent gets its role in each turn.
    """
    name = f"{attempt.state.role}{'-fallback' if attempt.is_fallback else ''}"
    names = (name, *(f"{name}-{number}" for number in range(2, len(gone) + 2)))
    free = next(one for one in names if one not in gone)
    asked: JsonObject = {"name": free, "role": attempt.role.title or attempt.state.role}
    if kind_of(attempt.agent) == "cli":
        asked |= {"type": "autonomous", "agent_command": command_of(attempt.agent)}
    else:
        asked |= {"model": model}
        if only_writes and not attempt.role.may_write:
            asked |= {"mode": "single_inference"}
    return WorkerSpec.model_validate(asked)


def turns_seen(board: Board, worker: str) -> int:
    """Return the number of the last turn of this worker, 0 if none.

    Earlier messages are in its conversation, if it keeps one.
    """
    mine = {one.id for one in board.workers.values() if one.name == worker}
    for node in reversed(tuple(board.nodes.values())):
        number = turn_number(node.cause)
        if number is not None and node.status == "completed" and node.assigned_worker in mine:
            return number
    return 0


def turn_number(cause: str) -> int | None:
    """Return the turn of which a node with this cause is an attempt, None if it is no attempt."""
    if not cause.startswith(OF_ROLES):
        return None
    number = cause.removeprefix(OF_ROLES).split("-")[1:2]
    return int(number[0]) if number and number[0].isdigit() else None


def turn_times(board: Board) -> tuple[float, ...]:
    """Return when each turn's last attempt ended, in seconds since the epoch."""
    ended: dict[int, float] = {}
    for node in board.nodes.values():
        at, number = board.times[node.id].ended, turn_number(node.cause)
        if number is not None and at is not None:
            ended[number] = max(at, ended.get(number, 0.0))
    return tuple(ended[number] for number in sorted(ended))


def _attempts(state: RoleTeamState) -> Iterator[Attempt]:
    yield Attempt(state)
    if state.spec.roles[state.role].fallback:
        yield Attempt(state, is_fallback=True)


def _is_cut_off(board: Board, node: WorkNode) -> bool:
    """Whether the end of the run cancelled a turn's node, which is no failure of the role."""
    is_together = board.run is not None and board.times[node.id].ended == board.run.ended_at
    return node.status == "cancelled" and is_together


def _outcome(node: WorkNode, agent: str) -> Outcome:
    """Return the outcome of the turn of an ended node."""
    if node.status != "completed":
        reason = (node.reason or f"its node was {node.status}")[:LONGEST_REASON]
        return Outcome(Failure(reason), agent)
    try:
        return Outcome(decision_of(node.value), agent)
    except (InvalidInput, ValueError) as error:
        return Outcome(Failure(str(error)[:LONGEST_REASON]), agent)

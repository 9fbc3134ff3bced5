"""The engine: the next role, and the result of each turn. Pure.

A team's state is its turns: no other state is stored. A turn begins with a message to a role and
ends with the decision of that role, or with the reason of its failure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pydantic import Field

from agiraph.core.record import Record
from agiraph.core.roles import USER, RoleTeamSpec
from agiraph.roles.decisions import Action, RoleDecision

ESCALATED: Final = (
    "\n\n[System] Repetition detected in team routing. Escalating to lead for decision."
)
Ending = Literal["finalized", "max_turns", "lead_failed"]
LEAD_FAILURES: Final = 3
"""The number of consecutive failed turns of the lead after which a team ends."""


class RoleTurn(Record):
    """One turn: its role, its decision, and the receiver of its message.

    `from_agent` and `to_agent` are the agents of these roles. `success` is False if the role's
    agent failed: `message` is then the report to the lead.
    """

    turn: int
    action: Action
    from_role: str
    to_role: str
    from_agent: str
    to_agent: str
    message: str
    communication_type: Literal["inter_role"] | None = Field(
        default_factory=lambda given: None if given.get("to_role") == USER else "inter_role",
        exclude_if=lambda value: value is None,
    )
    success: bool = True

    def payload(self) -> dict[str, Any]:
        """Return the turn as JSON values, for events, the API and `--json`."""
        return self.model_dump(mode="json")


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a role made no decision."""

    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one turn: a decision or a failure, and the agent that took the turn."""

    result: RoleDecision | Failure
    agent: str


@dataclass(frozen=True, slots=True)
class RoleTeamEnd:
    """How a team has ended, the text for the person, and the reason if it has not finished."""

    how: Ending
    output: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RoleTeamState:
    """A team at work on one task."""

    spec: RoleTeamSpec
    task: str
    turns: tuple[RoleTurn, ...] = ()
    end: RoleTeamEnd | None = None

    @property
    def role(self) -> str:
        """The role whose turn is next."""
        return self.turns[-1].to_role if self.turns else self.spec.lead_role

    @property
    def incoming(self) -> RoleTurn | None:
        """The turn whose message the next role has to answer; None: the task itself."""
        return self.turns[-1] if self.turns else None

    @property
    def number(self) -> int:
        """The number of the next turn, from 1."""
        return len(self.turns) + 1

    def window(self, seen: int = 0) -> tuple[RoleTurn, ...]:
        """Return the turns to show to the next role, before the one whose message it answers.

        Turns among the first `seen` are left out.
        """
        first = max(seen, len(self.turns) - self.spec.transcript_turns)
        return self.turns[first:-1]


def advance(state: RoleTeamState, outcome: Outcome) -> RoleTeamState:
    """Return the state after the turn of `state.role`; an ended team stays ended."""
    if state.end is not None:
        return state
    turn = _turn(state, outcome)
    after = replace(state, turns=(*state.turns, turn))
    if turn.to_role == USER:
        assert isinstance(outcome.result, RoleDecision)
        output = outcome.result.final_response or outcome.result.message
        return replace(after, end=RoleTeamEnd("finalized", output))
    if _has_lead_failed(after):
        return _unfinished(after, "lead_failed", f"its lead failed {LEAD_FAILURES} times in a row")
    if len(after.turns) >= state.spec.max_turns:
        return _unfinished(after, "max_turns", f"its {state.spec.max_turns} turns are used up")
    return after


def _turn(state: RoleTeamState, outcome: Outcome) -> RoleTurn:
    """Return the turn for an outcome; an invalid receiver is replaced by the lead."""
    team, role, result = state.spec, state.role, outcome.result
    lead = team.lead_role
    made = RoleTurn(
        turn=state.number,
        action="message",
        from_role=role,
        to_role=lead,
        from_agent=outcome.agent,
        to_agent=team.agent_of(lead),
        message="",
    )
    if isinstance(result, Failure):
        message = f"[System] {role} could not take its turn: {result.reason}"
        return made.model_copy(update={"message": message, "success": False})
    if result.action == "finalize" and role == lead:
        # The user receives `final_response`; the turn's message is the lead's remark.
        finalized = {"action": "finalize", "to_role": USER, "to_agent": USER}
        said = {"message": result.message or result.said, "communication_type": None}
        return made.model_copy(update=finalized | said)
    is_known = result.action == "message" and result.to_role in team.roles
    to_role = result.to_role if is_known else lead
    routed = made.model_copy(
        update={"to_role": to_role, "to_agent": team.agent_of(to_role), "message": result.said}
    )
    return _escalated(state, routed)


def _escalated(state: RoleTeamState, turn: RoleTurn) -> RoleTurn:
    """Return a turn, redirected to the lead if its role has repeated the message too often."""
    same = [
        one
        for one in state.turns
        if (one.from_role, one.message.removesuffix(ESCALATED)) == (turn.from_role, turn.message)
        and (one.to_role == turn.to_role or one.message.endswith(ESCALATED))
    ]
    if len(same) < state.spec.repetitions:
        return turn
    lead = state.spec.lead_role
    to_lead = {"to_role": lead, "to_agent": state.spec.agent_of(lead)}
    return turn.model_copy(update={**to_lead, "message": turn.message + ESCALATED})


def _has_lead_failed(state: RoleTeamState) -> bool:
    last = state.turns[-LEAD_FAILURES:]
    failed = [one for one in last if one.from_role == state.spec.lead_role and not one.success]
    return len(failed) == LEAD_FAILURES


def _unfinished(state: RoleTeamState, how: Ending, why: str) -> RoleTeamState:
    """Return the state of a team that has ended without a decision of its lead."""
    last, reason = state.turns[-1], f"the team has not finished: {why}"
    output = (
        f"{reason.capitalize()}. The last message was from {last.from_role} to "
        f"{last.to_role}:\n\n{last.message}"
    )
    return replace(state, end=RoleTeamEnd(how, output, reason))


# --- messages between roles ----------------------------------------------------------------------


class RoleEdge(Record):
    """The number of messages from one role to another; `latest`: it includes the last message."""

    from_role: str
    to_role: str
    count: int
    action: Action
    latest: bool = False


def edges_of(turns: Sequence[RoleTurn]) -> tuple[RoleEdge, ...]:
    """Return the senders, receivers and message counts, in the order of the first message."""
    counts: dict[tuple[str, str], int] = {}
    for turn in turns:
        way = (turn.from_role, turn.to_role)
        counts[way] = counts.get(way, 0) + 1
    last = turns[-1] if turns else None
    return tuple(
        RoleEdge(
            from_role=sender,
            to_role=receiver,
            count=count,
            action="finalize" if receiver == USER else "message",
            latest=last is not None and (last.from_role, last.to_role) == (sender, receiver),
        )
        for (sender, receiver), count in counts.items()
    )

"""TriggerHandler: the coordinator's reaction to its agent's triggers.

`wake_agent` enters the conversation, marked as coming from a trigger and never from the human; if
the run has ended it begins a new run, whose goal is the trigger's task. The other actions cost no
model call: a message is passed on, a node's work is put on the board again. The events of an action
name the triggers that caused it, so that no trigger fires itself.
"""

from collections.abc import Callable
from typing import NoReturn

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.runs.cycles import Cycles
from actors.coordinator.runs.transition import RunTransition
from agiraph.board import commands as c
from agiraph.board.names import find_node
from agiraph.core.errors import ModelFailure, Refused
from agiraph.core.ids import (
    CLOCK,
    COORDINATOR_NAME,
    TRIGGER_NAME,
)
from agiraph.core.models import Event, WorkNode
from agiraph.core.specs import NodeSpec, NodeTerms
from agiraph.core.turns import JsonObject
from agiraph.messages.run import BeginRun
from agiraph.messages.text import TextMessage
from agiraph.messages.trigger import TriggerFailed, TriggerFired
from agiraph.tools.approvals.policy import PolicyDecision
from agiraph.tools.approvals.wording import reason_against
from agiraph.tools.triggers import schedule
from transport.endpoint import Received
from transport.errors import Nacked

CAUSE = "trigger."


class TriggerHandler:
    """Executes the firings that the scheduler sends."""

    def __init__(
        self,
        context: CoordinatorContext,
        board_service: BoardService,
        cycles: Cycles,
        run_transition: RunTransition,
        decision_now: Callable[[str, JsonObject, str], PolicyDecision],
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._board_service = board_service
        self._cycles = cycles
        self._run_transition = run_transition
        self._decision_now = decision_now
        self._lineage: tuple[str, ...] = ()

    async def handle(self, received: Received, fired: TriggerFired) -> None:
        """Execute the action of a firing, if the person's rules still allow it."""
        turn = self._cycles.wake(fired) if fired.action == "wake_agent" else None
        match fired.action:
            case _ if turn is None and self._is_refused(received, fired):
                return
            case "send_message":
                await self._send(received, fired)
            case "run_node":
                self._run_node(received, fired)
            case _:
                if turn == "":
                    self._done(received, fired)
                    return
                if turn is None and self._may_begin_run():
                    await self._begin_run(received, fired)
                task = str(fired.payload.get("task"))
                self._wake(received, fired, turn or shown(fired, task))

    def marked(self, events: list[Event]) -> list[Event]:
        """Return events marked with the triggers whose action is now being executed."""
        if not self._lineage:
            return events
        mark = {"lineage": list(self._lineage)}
        return [event.model_copy(update={"data": {**event.data, **mark}}) for event in events]

    async def model_failed(self, failure: ModelFailure) -> str:
        """Pause the trigger that caused the failed call; return the text for the human."""
        trigger = self._context.transcript.woken_by
        if not trigger:
            return ""
        body = TriggerFailed(agent=self._context.agent, trigger_id=trigger, reason=str(failure))
        place = f"trigger-failed.{self._context.transcript.place}"
        id = self._context.message_id(place)
        await self._runtime.send(CLOCK, body, id=id)
        agent = self._context.agent
        return (
            f" The trigger {trigger}, which led to this, is paused; when it is mended: "
            f"agiraph triggers {agent} resume {trigger}"
        )

    def _is_refused(self, received: Received, fired: TriggerFired) -> bool:
        """Whether a rule of the person forbids the action of a trigger that the team made.

        The rule may be newer than the trigger. A trigger whose action the person must approve first
        is shown to the coordinator instead.
        """
        if not fired.is_of_team:
            return False
        action: JsonObject = {"type": fired.action, "payload": fired.payload}
        decision = self._decision_now(schedule.name, {"action": action}, fired.created_by)
        if not (reason := reason_against(decision)):
            return False
        self._note(fired, "trigger.refused", {"reason": reason})
        if decision.action == "ask":
            text = f"The action {fired.action} was not carried out ({reason}). To have the person "
            self._wake(received, fired, shown(fired, text + f"asked, do it yourself: {action}"))
        else:
            self._runtime.done(received)
        return True

    # --- actions ---------------------------------------------------------------------------------

    def _wake(self, received: Received, fired: TriggerFired, content: str) -> None:
        self._context.enqueue(
            received,
            TRIGGER_NAME,
            content,
            trigger=fired.trigger_id,
            facts={"firing": fired.firing, "lineage": list(fired.lineage)},
        )

    def _may_begin_run(self) -> bool:
        """Whether a new run may begin: the run has ended and the agent is not paused."""
        return not self._board_service.board.is_running and not self._context.transcript.is_paused

    async def _begin_run(self, received: Received, fired: TriggerFired) -> NoReturn:
        """Begin a run whose goal is the trigger's task, within the budget of the previous run."""
        self._note(fired, "message.received", {"from": TRIGGER_NAME})
        others = {"mode": "finite", "plan": None, "trigger": fired.trigger_id}
        spec = self._context.args.agent.spec.model_copy(update=others)
        body = BeginRun(
            **dict(spec) | {"goal": str(fired.payload.get("task"))},
            cause=f"trigger '{fired.name}'" + (f": {fired.about}" if fired.about else ""),
        )
        await self._run_transition.leave(received, body)

    async def _send(self, received: Received, fired: TriggerFired) -> None:
        to, content = str(fired.payload.get("to")), str(fired.payload.get("content"))
        if to.strip().lstrip("@").lower() == COORDINATOR_NAME:
            self._wake(received, fired, shown(fired, content))
            return
        recipients = await self._context.recipients(to)
        if not recipients:
            lost = f"This was for '{to}', but no entity of the team has that name: {content}"
            self._wake(received, fired, shown(fired, lost))
            return
        for number, (name, address) in enumerate(recipients):
            text = TextMessage(
                content=f"(trigger '{fired.name}') {content}",
                from_name=COORDINATOR_NAME,
                to_name=name,
            )
            id = self._context.message_id(f"trigger.{fired.firing}", number)
            try:
                await self._runtime.send(address, text, id=id)
            except Nacked as error:
                self._runtime.log.warning("not sent", to=name, reason=str(error))
        self._note(fired, "message.sent", {"from": TRIGGER_NAME, "to": to, "content": content})
        self._done(received, fired)

    def _run_node(self, received: Received, fired: TriggerFired) -> None:
        """Put the work of a node on the board once more, unless that work is not finished yet."""
        named = str(fired.payload.get("node_id"))
        try:
            node = find_node(self._board_service.board, named)
            if node.has_ended and not self._is_under_way(node):
                placed = {"refs": node.refs, "worker": self._worker_of(node.assigned_worker)}
                asked = {**node.shared_with(NodeTerms), "name": node.name, **placed}
                spec = NodeSpec.model_validate(asked)
                cause = f"{CAUSE}{fired.firing}"
                again = c.CreateNode(cause, spec, trigger=fired.trigger_id)
                self._lineage = fired.lineage
                self._board_service.execute(again)
        except Refused as error:
            self._wake(received, fired, shown(fired, f"Node '{named}' could not be run: {error}"))
            return
        finally:
            self._lineage = ()
        self._done(received, fired)

    def _is_under_way(self, node: WorkNode) -> bool:
        """Whether a trigger has put the same work on the board, and that has not ended."""
        return any(
            other.task == node.task and other.cause.startswith(CAUSE) and not other.has_ended
            for other in self._board_service.board.nodes.values()
        )

    def _worker_of(self, worker: str | None) -> str | None:
        """Return a node's former worker if it is still on the team, else None."""
        return next((mate.id for mate in self._board_service.board.team if mate.id == worker), None)

    def _done(self, received: Received, fired: TriggerFired) -> None:
        self._note(fired, "trigger.done", {})
        self._runtime.done(received)

    def _note(self, fired: TriggerFired, type: str, data: JsonObject) -> None:
        facts = {"trigger_id": fired.trigger_id, "name": fired.name, "firing": fired.firing}
        data = {**data, **facts, "lineage": list(fired.lineage)}
        self._context.report(type, data, f"{type}.{fired.firing}")


def shown(fired: TriggerFired, content: str) -> str:
    """Return the text of a firing for the model."""
    lines = [f"[Trigger '{fired.name}']: {content}"]
    if fired.about:
        lines.append(f"(What set it off: {fired.about})")
    if fired.missed:
        lines.append(f"({fired.missed} earlier times were missed.)")
    return "\n".join(lines)

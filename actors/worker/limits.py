"""WorkerLimits: the limits of a worker on one node: turns, time, and repeated calls."""

from actors.entity.compactor import Compactor
from actors.worker.context import NodeLimitReached, WorkerContext
from agiraph.agent.node_limits import TIME_NEAR, LastTurn, MustStop, judge


class WorkerLimits:
    """The limits of one worker, checked before each of its model calls."""

    def __init__(self, context: WorkerContext, compactor: Compactor) -> None:
        self._context = context
        self._compactor = compactor

    def is_context_used_up(self) -> bool:
        """Whether the conversation is full and may not be compacted again on this node."""
        most = self._context.assignment.contract.max_compactions_per_node
        is_allowed = most is None or self._context.transcript.progress.compactions < most
        return not is_allowed and self._compactor.is_full()

    def check(self) -> None:
        """Warn the model of a loop and before its last turn. Raises NodeLimitReached after that."""
        context, transcript = self._context, self._context.transcript
        if reason := context.warn_of_loop("your node fails"):
            raise NodeLimitReached(reason)
        self.warn_of_deadline(TIME_NEAR)
        is_used_up = self.is_context_used_up()
        match judge(transcript, context.assignment.contract, is_context_used_up=is_used_up):
            case MustStop(reason=reason):
                raise NodeLimitReached(reason)
            case LastTurn() as last:
                context.conversation.append(last.record(context.now()))

    def warn_of_deadline(self, text: str) -> bool:
        """Warn the model with `text` that its node's time is nearly over; return whether it did.

        Warns once, and not before the model's first turn.
        """
        context, deadline = self._context, self._context.deadline
        if deadline is None or deadline.was_announced:
            return False
        left, near = deadline.remaining_seconds, context.runtime.config.run.deadline_warning_seconds
        progress = context.transcript.progress
        if left > near or progress.model_turns == 0 or progress.bound is not None:
            return False
        deadline.was_announced = True
        seconds = context.assignment.contract.node_timeout_seconds
        context.add_notice(text.format(left=max(0.0, left), all=seconds), warns_of="time")
        return True

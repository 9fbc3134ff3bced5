"""WorkerLimits: what bounds a worker on one node: its turns, its time, going round in a circle."""

from typing import Protocol

from actors.entity.compactor import Compactor
from actors.entity.deadline import NodeDeadline
from actors.worker.node_limit import NodeLimitReached
from actors.worker.worker_tools import WorkerToolsContext
from agiraph.agent.event_replay import circled
from agiraph.agent.loop_detection import LoopStuck, LoopWarning, judge_loop
from agiraph.agent.node_limits import TIME_NEAR, LastTurn, MustStop, is_time_near, judge
from agiraph.agent.records import InputReceived
from agiraph.agent.transcript import RUNTIME_NAME
from agiraph.core.models import Assignment


class WorkerLimitsContext(WorkerToolsContext, Protocol):
    """The worker, as far as its bounds need to know it."""

    @property
    def assignment(self) -> Assignment:
        """Return the node it holds."""
        ...


class WorkerLimits:
    """The bounds of one worker, looked at before each of its model calls."""

    def __init__(self, worker: WorkerLimitsContext, compactor: Compactor) -> None:
        """Look at `worker`."""
        self._worker = worker
        self._compactor = compactor
        self.deadline: NodeDeadline | None = None

    def is_context_used_up(self) -> bool:
        """Whether the conversation is full and may not be compacted once more on this node."""
        most = self._worker.assignment.contract.max_compactions_per_node
        is_allowed = most is None or self._worker.transcript.node_compactions < most
        return not is_allowed and self._compactor.is_full()

    def look(self) -> None:
        """Warn the model of a loop and before its last turn; NodeLimitReached after that."""
        worker, now = self._worker, self._worker.runtime.clock.now
        match judge_loop(worker.transcript.streak):
            case LoopStuck(reason=reason):
                raise NodeLimitReached(reason)
            case LoopWarning() as warn:
                seen = warn.record("your node fails", now())
                worker.conversation.append(seen)
                worker.report(*circled(seen, worker.transcript.place).told)
        self.tell_of_deadline(TIME_NEAR)
        is_used_up = self.is_context_used_up()
        contract = worker.assignment.contract
        match judge(worker.transcript, contract, is_context_used_up=is_used_up):
            case MustStop(reason=reason):
                raise NodeLimitReached(reason)
            case LastTurn() as last:
                worker.conversation.append(last.record(now()))

    def tell_of_deadline(self, words: str) -> bool:
        """Tell the model, in these words, that its node's time is nearly over; whether it was told.

        It is told once, and not before it has had a turn.
        """
        worker, deadline = self._worker, self.deadline
        if deadline is None or deadline.was_told:
            return False
        left, near = deadline.remaining_seconds, worker.runtime.config.run.deadline_warning_seconds
        if not is_time_near(worker.transcript, left, near):
            return False
        deadline.was_told = True
        seconds = worker.assignment.contract.node_timeout_seconds
        text = words.format(left=max(0.0, left), all=seconds)
        now = worker.runtime.clock.now()
        worker.conversation.append(
            InputReceived(content=text, from_name=RUNTIME_NAME, ts=now, warns_of="time")
        )
        return True

"""Limits: what bounds a worker on one node: its turns, its time, going round in a circle."""

from typing import Protocol

from actors.entity.compactor import Compactor
from actors.entity.deadline import Deadline
from actors.worker.bench import Holder
from actors.worker.giving_up import GiveUp
from agiraph.agent.bounds import TIME_NEAR, LastTurn, Stop, is_time_near, judge
from agiraph.agent.loops import Stuck, Warn, judge_loop
from agiraph.agent.records import Heard
from agiraph.agent.retelling import circled
from agiraph.agent.transcript import RUNTIME_NAME
from agiraph.models import Assignment


class Bounded(Holder, Protocol):
    """The worker, as far as its bounds need to know it."""

    @property
    def assignment(self) -> Assignment:
        """Return the node it holds."""
        ...


class Limits:
    """The bounds of one worker, looked at before each of its model calls."""

    def __init__(self, worker: Bounded, compactor: Compactor) -> None:
        """Look at `worker`."""
        self._worker = worker
        self._compactor = compactor
        self.deadline: Deadline | None = None

    def is_context_used_up(self) -> bool:
        """Whether the conversation is full and may not be compacted once more on this node."""
        most = self._worker.assignment.contract.max_compactions_per_node
        is_allowed = most is None or self._worker.transcript.node_compactions < most
        return not is_allowed and self._compactor.is_full()

    def look(self) -> None:
        """Warn the model of a loop and before its last turn; GiveUp after that."""
        worker, now = self._worker, self._worker.runtime.clock.now
        match judge_loop(worker.transcript.streak):
            case Stuck(reason=reason):
                raise GiveUp(reason)
            case Warn() as warn:
                seen = warn.record("your node fails", now())
                worker.conversation.append(seen)
                worker.report(*circled(seen, worker.transcript.place).told)
        self.tell_of_deadline(TIME_NEAR)
        is_used_up = self.is_context_used_up()
        contract = worker.assignment.contract
        match judge(worker.transcript, contract, is_context_used_up=is_used_up):
            case Stop(reason=reason):
                raise GiveUp(reason)
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
            Heard(content=text, from_name=RUNTIME_NAME, ts=now, warns_of="time")
        )
        return True

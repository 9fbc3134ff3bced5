"""ProgressWatch: finds out when nothing in a run can happen by itself any more.

It checks while the coordinator is at rest, after `run.standstill_seconds` without any change.
`agiraph.board.progress` contains the decision; the facts it needs besides the board come from the
supervisor (processes), the router (unread messages) and files (waits for the person, triggers). The
router answers after every message that it accepted before, so a message in transit is either in an
answer or already here.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext, Rest
from actors.entity.messenger import Messenger
from agiraph.agent.hold import load_hold
from agiraph.board.progress import (
    CoordinatorState,
    ProcessState,
    WorkerState,
    commands_after,
    find_standstill,
    lines_of,
)
from agiraph.board.rules.stages import due_at
from agiraph.core.ids import ROUTER, SUPERVISOR, WorkerId, worker_address
from agiraph.core.models import EntityState, Standstill
from agiraph.messages.child import ChildInfo, ChildTable, ListChildren
from agiraph.messages.control import AskMailboxDepths, MailboxDepths
from transport.errors import TransportError

ANSWER_SECONDS: Final = 5.0
LONGEST_PAUSE_SECONDS: Final = 30.0
UNREAD_SECONDS: Final = 10.0
"""A message unread for this long by a live process waits for the end of its node."""

WAITING: Final = ("waiting_for_human", "waiting_for_nodes", "waiting_for_message")
"""The beginnings of the activity texts that a process reports while it waits."""

MACHINE_SECONDS: Final = 600.0
"""How long a wait for a machine is no standstill yet: the machine may be rebooting."""


class ProgressWatch:
    """Looks for a standstill of one run, and executes the resulting board commands.

    `is_led` returns whether a model leads the run and can act on a notice.
    """

    def __init__(
        self,
        context: CoordinatorContext,
        board_service: BoardService,
        messenger: Messenger,
        is_led: Callable[[], bool],
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._board_service = board_service
        self._messenger = messenger
        self._is_led = is_led
        self._looked_at = -1
        self._told_at = ""
        self._seen_workers = SeenWorkers()

    @property
    def is_at_rest(self) -> bool:
        """Whether no check is due: a worker is busy, or nothing has changed since a check."""
        return not self._is_quiet() or self._looked_at == self._board_service.store.count

    async def run(self) -> None:
        while True:
            await self._context.rests.until(lambda: self._context.rest is not None)
            await self._watch()

    async def _watch(self) -> None:
        """Check in a loop while the coordinator is at rest, with growing pauses."""
        settle = self._runtime.config.run.standstill_seconds
        pause = settle
        while self._context.rest is not None:
            if not self._is_quiet():
                pause = max(settle, LONGEST_PAUSE_SECONDS)
            if await self._has_changed_within(pause):
                pause = settle
                continue
            await self._look()
            pause = min(2 * pause, max(settle, LONGEST_PAUSE_SECONDS))

    def _is_quiet(self) -> bool:
        """Whether some node is open, and the board shows no busy worker."""
        board = self._board_service.board
        if not board.is_running or any(worker.status == "busy" for worker in board.team):
            return False
        return any(not node.has_ended for node in board.nodes.values())

    def _seen(self) -> tuple[int, Rest | None]:
        return self._board_service.store.count, self._context.rest

    async def _has_changed_within(self, seconds: float) -> bool:
        """Wait until the board changes or the coordinator ends its rest; return whether it has."""
        seen = self._seen()
        changes = self._board_service.changes
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await changes.until(lambda: self._seen() != seen)
        return self._seen() != seen

    async def _look(self) -> None:
        """Execute the commands that follow from a standstill, if the run stands still."""
        context, board_service, seen = self._context, self._board_service, self._seen()
        workers = await self._workers()
        rest = context.rest
        if workers is None or rest is None or self._seen() != seen or self._may_act():
            return
        self._looked_at = board_service.store.count
        found = find_standstill(board_service.board, workers, self._state(rest), self._next_due())
        if found is None:
            return
        is_led = self._is_led()
        board_service.execute(*commands_after(board_service.board, found, is_led=is_led))
        if found.for_human and self._told_at != context.transcript.place:
            self._told_at = context.transcript.place
            await self._messenger.tell_human(_for_human(found), "standstill")

    def _may_act(self) -> bool:
        """Whether the coordinator is about to act, or a person has paused it."""
        context, switch = self._context, self._context.pause_switch
        is_held = switch.is_paused or switch.leaving.is_set() or context.transcript.is_stepping
        has_news = context.inbox.arrived.is_set() or self._runtime.has_unread
        return is_held or has_news or self._board_service.has_effects

    def _state(self, rest: Rest) -> CoordinatorState:
        context = self._context
        asks = context.asks or ", ".join(context.transcript.mail.pending.values())
        match rest.doing.state:
            case "waiting_for_nodes":
                waits = f"for {rest.doing.step or 'events of its board'}"
            case _ if asks:
                waits = "for the human"
            case _:
                waits = "for events of its board or a message"
        return CoordinatorState(waits, rest.since, asks_human=bool(asks))

    def _next_due(self) -> float | None:
        """Return when (Unix time) the run's next timer or trigger is due, None without one."""
        from agiraph.triggers.trigger_set import load_triggers  # few coordinators need it

        now, board = self._context.now(), self._board_service.board
        triggers = load_triggers(self._context.files.home.triggers, self._context.agent)
        due = (
            self._context.timer,
            due_at(board),
            self._board_service.retry_due(now),
            triggers.next_waking,
        )
        return min(filter(None, due), default=None)

    # --- the workers -----------------------------------------------------------------------------

    async def _workers(self) -> dict[WorkerId, WorkerState] | None:
        """Return the state of each worker that has a node; None if it cannot be determined now."""
        context, runtime = self._context, self._runtime
        ask, prefix = runtime.ask, f"{context.agent}/"
        try:
            table, depths = await asyncio.gather(
                ask(SUPERVISOR, ListChildren(agent=context.agent), within_seconds=ANSWER_SECONDS),
                ask(ROUTER, AskMailboxDepths(prefix=prefix), within_seconds=ANSWER_SECONDS),
            )
        except TransportError as error:
            runtime.log.debug("progress cannot be judged", reason=str(error))
            return None
        if not isinstance(table.body, ChildTable) or not isinstance(depths.body, MailboxDepths):
            return None
        rows = {row.address: row for row in table.body.children}
        found: dict[WorkerId, WorkerState] = {}
        for worker in self._board_service.board.team:
            if worker.node is not None:
                address = worker_address(context.agent, worker.id)
                unread, _ = depths.body.depths.get(address, (0, 0))
                hold = load_hold(context.files.run.worker(worker.id).hold)
                row, now = rows.get(address), context.now()
                found[worker.id] = self._seen_workers.state_of(worker.id, row, hold, unread, now)
        return found


class SeenWorkers:
    """Derives the states of workers from their processes, their files and their unread messages.

    Also remembers for how long a worker has had its number of unread messages, or no machine.
    """

    def __init__(self) -> None:
        self._unread: dict[WorkerId, tuple[int, float]] = {}
        self._placeless: dict[WorkerId, float] = {}

    def state_of(
        self, id: WorkerId, row: ChildInfo | None, hold: EntityState, unread: int, now: float
    ) -> WorkerState:
        """Return the state of a worker from its process `row` and its `unread` messages."""
        process = self._process(id, row, now)
        return WorkerState(process, bool(hold.state), self._has_mail(id, process, unread, now))

    def _process(self, id: WorkerId, row: ChildInfo | None, now: float) -> ProcessState:
        if row is not None and row.state == "backing_off" and row.next_start is None:
            is_patient = now - self._placeless.setdefault(id, now) < MACHINE_SECONDS
            return "at_work" if is_patient else "without_machine"
        self._placeless.pop(id, None)
        match row.state if row is not None else "starting":
            case "parked" | "stopped" as state:
                return state
            case "failed" | "exited":
                return "ended"
            case "ready" if row is not None and row.doing.state in WAITING:
                return "waiting"
            case _:
                return "at_work"

    def _has_mail(self, id: WorkerId, process: ProcessState, unread: int, now: float) -> bool:
        """Whether the worker will read its waiting messages by itself.

        A live process reads a message at once, unless the message waits for the end of its node.
        """
        known, since = self._unread.get(id, (0, now))
        if known != unread:
            since = now
        self._unread[id] = (unread, since)
        return unread > 0 and (process != "waiting" or now - since < UNREAD_SECONDS)


def _for_human(found: Standstill) -> str:
    lines = "\n".join(f"- {line}" for line in lines_of(found))
    return f"The run stands still until you answer me: nothing in it can continue.\n{lines}"

"""BoardService: executes the commands of a board and the effects that follow from its state.

An effect (a spec on disk, a worker's process, an assignment message) may be lost if the process
crashes right after the change was journaled. So effects carry ids that are derived from the board,
and `reconcile` requests all of them again at the start: an effect that was executed before has no
second result.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from actors.coordinator.board_pages import BoardPages
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.prior_work import PriorWorkLookup
from actors.coordinator.run_summary import finished_run, lesson_key
from actors.coordinator.shared_values import SharedValueService
from actors.coordinator.worker_processes import WorkerProcesses
from actors.coordinator.worktrees import RunWorktrees
from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, apply
from agiraph.board.rules.flow import refs_of
from agiraph.board.rules.stages import node_contract
from agiraph.board.rules.sub_nodes import node_to_notify, notifications_due
from agiraph.board.scheduler import Schedule, SchedulingLimits
from agiraph.board.store import BoardStore
from agiraph.core.clock import iso_date
from agiraph.core.concurrency import BackgroundTasks, Signal, first_to_end
from agiraph.core.errors import Refused
from agiraph.core.ids import HUMAN, Address, NodeId, WorkerId, worker_address
from agiraph.core.models import HELD_NODE, Assignment, TeamMember, TeamRoster, Worker, WorkNode
from agiraph.messages.board import RosterChanged
from agiraph.messages.body import MessageBody
from agiraph.messages.knowledge import LearnFromRun
from agiraph.messages.node import (
    AssignNodeMessage,
    CancelNodeMessage,
    NodeUpdatedMessage,
    SubNodeEnded,
)
from agiraph.tools.toolbox import Toolbox
from transport.errors import Nacked, TransportError

SHARED_KEYS_NAMED = 30
AT_ONCE = (
    *(e.StageMet, e.StageReconvened, e.StagePlanned, e.RunReopened, e.RunFinished, e.RunStopped),
    *(e.CycleEnded, e.CycleStarted),
)
"""Events that must be on disk before other parts of the process act on them."""
HIRE_SECONDS = 2.0
"""How long the effects after the start of a worker's process wait for that process."""
CLEAR_SECONDS = 1.5
"""Less than the time in which a process must exit after a stop request."""
Effect = Callable[[], Awaitable[None]]
OnEvent = Callable[[e.BoardEvent, int, Board], None]
"""Called with a board event and its position in the run's journal."""
Policy = Callable[[], tuple[c.Command, ...]]
"""Returns the commands that a policy adds to those of the schedule; () if there are none (left)."""


class BoardService:
    """The board of one run and the effects of its changes outside this process.

    `on_event` is called for every recorded change, with its position and the board after it.
    """

    def __init__(
        self,
        context: CoordinatorContext,
        environ: Mapping[str, str],
        on_event: OnEvent,
        prior_work: PriorWorkLookup,
    ) -> None:
        self._context = context
        self._prior_work = prior_work
        self._runtime = context.runtime
        self._agent = context.args.agent
        self._run = context.run
        self._files = files = context.files
        self._on_event = on_event
        self.store = BoardStore(files.run.journal, files.home.snapshot(context.run))
        self._schedule = Schedule()
        self._policy: Policy | None = None
        self._effects: asyncio.Queue[Effect] = asyncio.Queue()
        self._is_at_work = False
        self._hires = BackgroundTasks()
        self._assigned: set[tuple[Address, bytes]] = set()
        self.worktrees = RunWorktrees(context, environ)
        self._processes = WorkerProcesses(context, self.worktrees, lambda: self.has_managers)
        self.shared_values = SharedValueService(context)
        self._is_roster_due = False
        self.pages = BoardPages(files, context.record)
        self.changes = Signal()
        self._update_roster()

    @property
    def board(self) -> Board:
        return self.store.board

    @property
    def has_managers(self) -> bool:
        """Whether a worker of the run may lead other workers."""
        return any(worker.can_lead for worker in self.board.workers.values())

    def execute(self, *commands: c.Command) -> None:
        """Execute commands, then all commands that the board schedules as a consequence.

        Raises Refused; the commands before the refused command have been executed then.
        """
        try:
            self._do_checked(*commands)
        finally:
            self.go_on()

    @contextmanager
    def following(self, policy: Policy) -> Iterator[None]:
        """Let `policy` add commands after each change inside the block, in the same step.

        After a refused command the policy is not called again: the code after this block continues.
        """
        self._policy = policy
        try:
            yield
        finally:
            self._policy = None

    def go_on(self) -> None:
        """Execute all commands that the current board schedules by itself.

        Nothing is awaited until it returns, and then all events are on disk.
        """
        limits = SchedulingLimits(max_concurrent=self._runtime.config.run.max_concurrent)
        try:
            while True:
                actions = self._schedule.plan(self.board, limits, self._context.now())
                for action in actions:
                    self._do(action)
                if not actions and not self._follow_policy():
                    break
        finally:
            self.store.sync()
        self.changes.set()

    def _follow_policy(self) -> bool:
        """Execute the policy's commands; return whether it returned any."""
        commands = self._policy() if self._policy is not None else ()
        try:
            self._do_checked(*commands)
        except Refused:
            self._policy = None
        return bool(commands)

    def _do_checked(self, *commands: c.Command) -> None:
        for command in commands:
            self._check_outside(command)
            self._processes.check(command)
            self._do(command)

    def retry_due(self, now: float) -> float | None:
        """Return when (Unix time) the next node is retried after `now`, None if there is none."""
        return self._schedule.retry_due(self.board, now) if self.board.is_running else None

    def _do(self, command: c.Command) -> None:
        """Execute a command; its effects wait until the journal is on disk."""
        board = self.board
        events = self.store.write(command, self._context.now())
        if any(isinstance(event, AT_ONCE) for event in events):
            self.store.sync()
        for event in events:
            self._schedule.follow(event)
        for place, event in enumerate(events, start=self.store.count - len(events)):
            self._follow(event)
            board = apply(board, event)
            self._on_event(event, place, board)

    def _check_outside(self, command: c.Command) -> None:
        """Refuse an external agent that cannot or may not be used, and an unknown tool."""
        if isinstance(command, c.CreateNode) and command.spec.tools is not None:
            Toolbox.for_entity("worker", command.spec.tools, can_lead=True)
        for asked in () if self._has_done(command) else c.agents_hired(command):
            from agiraph.external.preflight import check_agent  # few teams need it

            home, config = self._runtime.home.path, self._runtime.config.sandbox
            check_agent(asked, home, config, os.environ)

    def _has_done(self, command: c.Command) -> bool:
        """Whether a command that requests workers was executed before."""
        match command:
            case c.SpawnWorker(cause=cause):
                return self.board.worker_by_cause(cause) is not None
            case c.CreateNode(cause=cause):
                return self.board.node_by_cause(cause) is not None
            case c.LaunchRoles(cause=cause):
                created = f"{cause}#node:"
                return any(node.cause.startswith(created) for node in self.board.nodes.values())
            case _:
                return False

    async def run_effects(self) -> None:
        try:
            await first_to_end(self._carry_out_effects(), self._hires.until_broken())
        finally:
            await self._hires.stop()

    async def _carry_out_effects(self) -> None:
        while True:
            effect = await self._effects.get()
            self._is_at_work = True
            await effect()
            self._is_at_work = False
            self._effects.task_done()

    async def settled(self) -> None:
        await self._effects.join()
        await self._hires.until_empty()
        self.pages.write(self.board)

    @property
    def has_effects(self) -> bool:
        return self._is_at_work or not self._effects.empty()

    @property
    def is_at_rest(self) -> bool:
        return not self.has_effects and self._hires.is_empty and self.pages.are_written

    def reconcile(self) -> None:
        """Request all effects again that the current board implies."""
        for worker in self.board.workers.values():
            if worker.status == "stopped":
                self._effects.put_nowait(partial(self._processes.dismiss, worker.id))
            else:
                self._effects.put_nowait(partial(self._hire, worker))
        for node in self.board.nodes.values():
            self._files.write_spec(node)
            self._files.write_status(self.board, node)
            if node.status in HELD_NODE:
                self._effects.put_nowait(partial(self._assign, node.id))
                self._effects.put_nowait(partial(self._send_update, node.id))
            if node.move is not None:
                self._effects.put_nowait(partial(self._take_back, node.id))
        if not self.board.is_running:
            self._effects.put_nowait(self._clear_worktrees)
        if self.board.run is not None and (not self.board.is_running or self.board.run.is_asleep):
            self._effects.put_nowait(self._teach)
        for node, above in notifications_due(self.board, partial(self.store.since, 0)):
            self._effects.put_nowait(partial(self._notify_of_sub_node, node, above))
        self.go_on()
        self.pages.write(self.board)

    def close(self) -> None:
        self.store.close()
        self.shared_values.close()

    # --- the effects of events -------------------------------------------------------------------

    def _follow(self, event: e.BoardEvent) -> None:
        put = self._effects.put_nowait
        self.pages.note(event)
        match event:
            case e.NodeCreated():
                put(lambda: self._write_spec(event.node))
            case e.NodeAssigned():
                put(lambda: self._assign(event.node_id))
            case e.NodeCancelled() | e.NodeFailed():
                put(lambda: self._withdraw(event.node_id))
                node = self.board.nodes[event.node_id]
                if (above := node_to_notify(self.board, node)) is not None:
                    put(partial(self._notify_of_sub_node, node, above))
            case e.NodeUpdated() | e.NodeStarted():
                put(lambda: self._send_update(event.node_id))
            case e.NodeMoved():
                put(lambda: self._take_back(event.node_id))
            case e.WorkerSpawned():
                self._send_roster_soon()
                put(lambda: self._hire(event.worker))
            case e.WorkerStopped():
                self._send_roster_soon()
                put(lambda: self._processes.dismiss(event.worker_id))
            case e.StageMet() | e.StageReconvened() | e.StagePlanned() | e.RunReopened():
                self.pages.write(self.board)
            case e.RunFinished() | e.RunStopped():
                self.pages.write(self.board)
                put(self._dismiss_all)
                put(self._clear_worktrees)
                put(self._teach)
            case e.NodeCompleted() | e.NodeRetried() | e.NodeReleased() | e.NodeSkipped():
                pass
            case e.NodeBlocked() | e.NodeUnblocked() | e.NodeReserved():
                pass
            case (
                e.NodeConditionsDecided()
                | e.NodeExpanded()
                | e.DeadlockFound()
                | e.StandstillFound()
            ):
                pass
            case e.RunStarted() | e.StageStarted() | e.StageLaunched() | e.BoardEpochBegan():
                pass
            case e.CycleEnded():
                put(self._teach)
            case e.CycleStarted():
                pass

    def _update_roster(self) -> None:
        members = tuple(TeamMember(id=mate.id, name=mate.name) for mate in self.board.team)
        self._context.roster.update(TeamRoster(version=self.store.count, members=members))

    def _send_roster_soon(self) -> None:
        """Send the roster once for all changes of the team until the effect is executed."""
        self._update_roster()
        if not self._is_roster_due:
            self._is_roster_due = True
            self._effects.put_nowait(self._send_roster)

    async def _send_roster(self) -> None:
        """Send the roster to the workers that have a process; it does not wake parked workers."""
        self._is_roster_due = False
        if self.board.is_running:
            for mate in self.board.team:
                self.send_roster_to(worker_address(self._agent.id, mate.id))

    def send_roster_to(self, address: Address) -> None:
        self._runtime.post(address, RosterChanged(roster=self._context.roster.current))

    # --- effects ---------------------------------------------------------------------------------

    async def _hire(self, worker: Worker) -> None:
        """Start the worker's process; later effects do not wait while it waits for a machine."""
        starting = self._hires.start(self._start(worker))
        await asyncio.wait({starting}, timeout=HIRE_SECONDS)

    async def _start(self, worker: Worker) -> None:
        if self.board.workers[worker.id].status == "stopped":
            return  # stopped meanwhile: a run that is stopped after a restart starts no worker
        try:
            await self._processes.start(worker)
        except Refused as error:
            self.execute(c.LoseWorker(worker.id, f"it could not be started: {error}"))
            return
        # In a large team it begins at once, without waiting for the start of all others.
        for node in list(self.board.nodes.values()):
            if node.assigned_worker == worker.id and node.status == "assigned":
                await self._assign(node.id)
            elif node.assigned_worker == worker.id and node.move is not None:
                await self._take_back(node.id)

    async def _dismiss_all(self) -> None:
        await asyncio.gather(*map(self._processes.dismiss, self.board.workers))

    async def _clear_worktrees(self) -> None:
        """Save and remove worktrees; a stop of this process leaves CLEAR_SECONDS for that."""
        clearing = asyncio.ensure_future(self.worktrees.clear(self.board))
        try:
            await asyncio.shield(clearing)
        except asyncio.CancelledError:
            await asyncio.wait([clearing], timeout=CLEAR_SECONDS)
            clearing.cancel()
            raise

    async def _teach(self) -> None:
        """Send the finished run to the knowledge database; a repeated call has no second effect."""
        run = self.board.run
        if run is None or not self._runtime.config.knowledge.learn:
            return
        roles = self._context.spec.roles
        learned = finished_run(self.board, self.store.since(0), self._agent, roles)
        try:
            body = LearnFromRun(run=learned)
            await self._runtime.send(HUMAN, body, id=self._id("lesson", lesson_key(run)))
        except TransportError as error:
            self._runtime.log.warning("the lessons of the run are not kept", reason=str(error))

    async def _write_spec(self, node: WorkNode) -> None:
        self._files.write_spec(node)

    async def _assign(self, node_id: NodeId) -> None:
        node = self.board.nodes[node_id]
        if node.has_ended or node.assigned_worker is None:
            return
        if node.assigned_worker in self._processes.starting:
            return  # it is assigned once its worker has a process
        message = self._id("assign", node.id, node.attempt)
        to = worker_address(self._agent.id, node.assigned_worker)
        if (to, message) in self._assigned:
            return
        worker = self.board.workers[node.assigned_worker]
        order = await self.worktrees.order_for(node, worker)
        more = {"worktree": order, "notes": await self._notes_for(worker)}
        assignment = self._assignment(node).model_copy(update=more)
        body = AssignNodeMessage(agent=self._agent.id, run=self._run, assignment=assignment)
        # The worker may have started before the effect of NodeCreated; on another machine it
        # fetches the node's folder once, and fails without it.
        self._files.write_spec(node)
        self._assigned.add((to, message))
        await self._runtime.send(to, body, id=message)

    async def _notes_for(self, worker: Worker) -> str:
        run = self.board.run
        model = worker.model or self._agent.worker_model
        return await self._prior_work.section_for(model, run.cycle if run else 1)

    def _assignment(self, node: WorkNode) -> Assignment:
        team = tuple(f"{worker.name} ({worker.role})" for worker in self.board.team)
        stage = self.board.stages[node.stage]
        refs = refs_of(self.board, node)
        return Assignment(
            node=node.model_copy(update={"refs": refs}),
            ref_files={name: self._files.sizes_at(path) for name, path in refs.items()},
            spec=node.task,
            contract=node_contract(self.board, node),
            attempt=node.attempt,
            team=team,
            goal=self._agent.goal,
            stage=stage.name,
            stage_goal=stage.goal,
            stage_brief=stage.brief,
            shared_keys=self.shared_values.keys[:SHARED_KEYS_NAMED],
            input_dir=self._agent.input,
            today=iso_date(self._context.now()),
            cycle_began_at=self.board.run.cycle_began_at if self.board.run else 0.0,
            roster=self._context.roster.current,
        )

    async def _send_update(self, node_id: NodeId) -> None:
        """Write the changed terms of a node, and send them to the worker that has begun with it.

        The assignment of a node that has not begun may have its old terms: the start is awaited.
        """
        node = self.board.nodes[node_id]
        if not node.update.number or node.has_ended:
            return
        self._files.write_spec(node)
        if node.status in ("running", "blocked") and node.assigned_worker and node.move is None:
            body = NodeUpdatedMessage(assignment=self._assignment(node))
            message = self._id("update", node.id, node.attempt, node.update.number)
            await self._has_sent(node.assigned_worker, body, message)

    async def _withdraw(self, node_id: NodeId) -> None:
        """Tell the worker that held an ended node to stop working on it."""
        node = self.board.nodes[node_id]
        if not node.has_ended:
            return  # it is tried again
        worker = self.board.workers.get(node.assigned_worker) if node.assigned_worker else None
        if worker is None or worker.status == "stopped":
            return
        body = CancelNodeMessage(node_id=node.id, reason=node.reason or "")
        await self._has_sent(worker.id, body, self._id("withdraw", node.id, node.attempt))

    async def _take_back(self, node_id: NodeId) -> None:
        """Ask the worker of a node that is to be moved to release it and to confirm the release."""
        node = self.board.nodes[node_id]
        if node.move is None or node.assigned_worker is None:
            return
        reason = "it is given to another worker"
        body = CancelNodeMessage(node_id=node.id, reason=reason, is_moved=True)
        message = self._id("take", node.id, node.attempt)
        if not await self._has_sent(node.assigned_worker, body, message):
            self.execute(c.ReleaseNode(node.id, node.attempt))

    async def _has_sent(self, worker: WorkerId, body: MessageBody, message: bytes) -> bool:
        """Send to a worker; return False if it has no address, as it never had a machine."""
        try:
            await self._runtime.send(worker_address(self._agent.id, worker), body, id=message)
        except Nacked as error:
            if error.reason != "unknown_recipient":
                raise
            return False
        return True

    async def _notify_of_sub_node(self, node: WorkNode, above: WorkNode) -> None:
        """Notify the worker that holds `above` that its sub-node `node` ended without a result."""
        assert above.assigned_worker is not None
        body = SubNodeEnded(
            holder=above.id,
            node_id=node.id,
            name=node.name,
            status=node.status,
            reason=node.reason or "",
        )
        to = worker_address(self._agent.id, above.assigned_worker)
        again = (node.attempt,) if node.attempt > 1 else ()
        message = self._id("word", node.id, above.id, above.attempt, *again)
        await self._runtime.send(to, body, id=message)

    def _id(self, what: str, *about: object) -> bytes:
        key = ".".join(str(part) for part in (self.board.key(self._run), what, *about))
        return self._context.message_id(key)

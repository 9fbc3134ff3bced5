"""WorkerActor: accepts a node, runs the loop until the node has ended, waits for the next node.

Its state is the fold of its conversation, so a restarted process continues with its node. The end
of a node is reported to the coordinator before it is recorded as closed: a crash between the two
reports it again, under the same message id.
"""

import asyncio
import traceback
from typing import TYPE_CHECKING

from actors.entity.args import WorkerArgs
from actors.entity.entity import Entity, toolbox_for
from actors.entity.mcp_tools import grants_for
from actors.entity.sandbox_report import guidance_of
from actors.runtime.runtime import Runtime
from actors.worker.board_messages import take_sub_node_ended, take_update
from actors.worker.checkout import Checkout
from actors.worker.context import NodeDeadline, NodeLimitReached, WorkerContext
from actors.worker.evidence import open_publishes
from actors.worker.limits import WorkerLimits
from actors.worker.reflection import reflect, still_to_know
from actors.worker.single_inference import SingleInference
from actors.worker.worker_tools import WorkerTools
from agiraph.agent.compaction import CompactionContext, SummarySection
from agiraph.agent.listing import listing, read_texts
from agiraph.agent.loop import AgentLoop, CallEffects
from agiraph.agent.prompts import (
    WORKER_REMINDER,
    assignment_turn,
    reminder,
    render,
    system_prompt,
)
from agiraph.agent.records import AssignmentTaken, InputReceived, NodeClosed, StateChanged
from agiraph.agent.transcript import RUNTIME_NAME
from agiraph.core.concurrency import BackgroundTasks, first_to_end
from agiraph.core.errors import ModelFailure, Refused
from agiraph.core.models import Assignment, WorkNode
from agiraph.core.redaction import redact
from agiraph.llm.base import failed_call
from agiraph.mcp.catalog import ServedTool
from agiraph.mcp.grants import worker_holder
from agiraph.memory import skills
from agiraph.messages.board import AskRoster, RosterChanged
from agiraph.messages.llm_proxy import ProxyBudgetLow, ProxyCallFailed
from agiraph.messages.node import (
    AssignNodeMessage,
    CancelNodeMessage,
    FailNodeMessage,
    NodeReleasedMessage,
    NodeStartedMessage,
    NodeUpdatedMessage,
    SubNodeEnded,
)
from agiraph.storage.files import make_folder, remove_tree
from agiraph.storage.walk import UnsafeFile
from agiraph.tools.approvals.policy import ActingEntity
from agiraph.tools.board import checkpoint, suggest_next
from agiraph.tools.ports import ToolContext
from agiraph.tools.scopes.publishing import files_left, put_aside
from agiraph.tools.toolbox import Toolbox
from transport.endpoint import Received

if TYPE_CHECKING:
    from actors.worker.mirror.mirror import Mirror

SILENCES_ALLOWED = 1
LEFT_NAMED = 100
TRACEBACK_LINES = 20
START_SECONDS = 0.002
"""How long the report of a node's start and the sync of its assignment wait, so that the first
model call is sent before them."""


class WorkerActor:
    """One worker."""

    def __init__(
        self,
        runtime: Runtime,
        args: WorkerArgs,
        environment: dict[str, str],
        mirror: "Mirror | None" = None,
    ) -> None:
        self.runtime = runtime
        self.context = context = WorkerContext(runtime, args, environment)
        context.may_park = self._may_park
        self._mirror = mirror
        self._resumed = context.transcript.assignment
        if mirror is not None:
            context.prepare_call = mirror.before_call
        is_single = not context.is_external and (
            args.worker.mode == "single_inference" or not context.limits.has_tools
        )
        has_no_tools = context.is_external or is_single
        toolbox = Toolbox(()) if has_no_tools else self._toolbox(args.worker.tools)
        self.entity = Entity(
            context,
            toolbox,
            who=self._acting,
            compaction_context=self._compaction_context,
        )
        self.limits = WorkerLimits(context, self.entity.compactor)
        self.checkout = Checkout(context, environment.get("PATH", ""))
        self._tools = WorkerTools(context, self.entity, self.checkout)
        self._single = SingleInference(context, self._tools) if is_single else None
        self.entity.set_prompt(self._system_prompt(toolbox), toolbox)
        self._tools_taken = args.worker.tools
        self._reports = BackgroundTasks()
        self._started: Assignment | None = None
        self._work_arrived = asyncio.Event()
        self._waiting: list[tuple[Received, AssignNodeMessage]] = []
        self._cancelled = asyncio.Event()
        self._cancel_reason = ""
        self._is_moved = False
        self._stuck = ""

    def _toolbox(self, tools: tuple[str, ...] | None) -> Toolbox:
        worker = self.context.args.worker
        toolbox = Toolbox.for_entity("worker", tools, can_lead=worker.can_lead)
        if self.runtime.config.hosts.listen:
            toolbox = toolbox.with_machines()
        if not self.context.args.has_leader:
            toolbox = toolbox.without(checkpoint.name, suggest_next.name)
        return toolbox_for(self.context.limits, toolbox)

    def _system_prompt(self, toolbox: Toolbox) -> str:
        args, worker = self.context.args, self.context.args.worker
        who = {
            "worker": worker,
            "agent_name": args.agent_name,
            "identity": f"{worker.identity}\n\n{worker.memory}".strip(),
            "today": args.today,
        }
        if self._single:
            return render("single", **who)
        return system_prompt(
            "worker_short" if self.context.limits.is_small else "worker",
            skills=skills.listing(self.context.skills),
            guidance=guidance_of(toolbox, self.context.machine),
            input_dir=args.spec.input is not None,
            has_leader=args.has_leader,
            **who,
        )

    # --- its life --------------------------------------------------------------------------------

    async def run(self) -> None:
        context = self.context
        context.begin_after_loss()
        stuck = context.stuck_step()
        self._stuck = stuck if context.transcript.assignment is not None else ""
        self.runtime.quarantine.on_set_aside = self._fail_unopened
        context.forget_closed_calls(but=open_publishes(context.transcript))
        context.replay_events()
        await self.runtime.ready()
        self.runtime.post(context.coordinator, AskRoster())  # a parked coordinator stays parked
        await first_to_end(
            self.entity.receive_messages(self._handle), self._reports.until_broken(), self._work()
        )

    async def _work(self) -> None:
        while True:
            if self.context.transcript.assignment is None:
                await self._take_node()
            await self._work_on(self.context.assignment)

    def _may_park(self) -> bool:
        is_cancelled = self._cancelled.is_set()
        is_quiet = self.context.inbox.is_empty and self._reports.is_empty
        return is_quiet and not self._waiting and not is_cancelled

    # --- messages --------------------------------------------------------------------------------

    async def _handle(self, received: Received) -> None:
        context = self.context
        match received.body:
            case AssignNodeMessage() as assign:
                self._waiting.append((received, assign))
                self._work_arrived.set()
            case CancelNodeMessage() as cancel:
                await self._on_cancel(received, cancel)
            case SubNodeEnded() as ended:
                take_sub_node_ended(context, received, ended)
            case NodeUpdatedMessage() as updated:
                if self._mirror is not None:
                    await self._mirror.renew_spec(updated.assignment.node.folder)
                take_update(context, received, updated)
            case RosterChanged(roster=roster):
                context.update_roster(roster)
            case ProxyCallFailed(shortage=shortage):
                # A reached limit of the node is final, whatever another call lacks.
                if context.shortage is None or context.shortage.budget.scope != "node":
                    context.shortage = shortage
                self.runtime.done(received)
            case ProxyBudgetLow(shortage=low):
                context.low = low
                self.runtime.done(received)
            case _:
                self.runtime.done(received)

    async def _fail_unopened(self, received: Received, reason: str) -> None:
        """Report as failed a node whose assignment message itself crashes this process."""
        if isinstance(received.body, AssignNodeMessage):
            await self._report_failed(received.body.assignment, reason)

    async def _on_cancel(self, received: Received, cancel: CancelNodeMessage) -> None:
        context, node = self.context, cancel.node_id
        unopened = [(r, a) for r, a in self._waiting if a.assignment.node.id == node]
        self._waiting = [(r, a) for r, a in self._waiting if a.assignment.node.id != node]
        if context.transcript.assignment is not None and context.assignment.node.id == node:
            self._cancel_reason, self._is_moved = cancel.reason, cancel.is_moved
            context.conversation.when_recorded(lambda: self.runtime.done(received))
            self._cancelled.set()
            return
        for _, assign in unopened:
            if cancel.is_moved:
                await self._report_released(assign.assignment)
        for dropped in (received, *(one for one, _ in unopened)):
            message = dropped.header.id.hex()
            context.conversation.append(
                StateChanged(what="dropped", message=message, ts=context.now())
            )
            self.runtime.done(dropped)

    # --- a node, from its assignment to its end --------------------------------------------------

    async def _take_node(self) -> None:
        """Wait for a node and record its assignment; `_report_started` syncs the record."""
        context = self.context
        context.show("idle", "")
        while not self._waiting:
            self._work_arrived.clear()
            await context.first_of(self._work_arrived.wait())
        received, assign = self._waiting.pop(0)
        message, now = received.header.id.hex(), context.now()
        self.runtime.take_up([message])
        self._cancelled.clear()
        context.conversation.when_recorded(lambda: self.runtime.done(received))
        context.update_roster(assign.assignment.roster)
        assignment = self._in_its_mode(assign.assignment)
        assigned = AssignmentTaken(
            content=self._shown(assignment),
            run=assign.run,
            assignment=assignment,
            message=message,
            outside=context.is_external,
            ts=now,
        )
        known, limit = "", self.runtime.config.memory.worker_limit
        if not (self._single or context.is_external):
            known = still_to_know(context.files, context.transcript, limit)
        reminders = [InputReceived(content=known, from_name=RUNTIME_NAME, ts=now)] if known else []
        context.conversation.write(assigned, *reminders)

    def _shown(self, assignment: Assignment) -> str:
        if self._single is not None:
            return self._single.assignment_turn(assignment)
        ended = None if self.context.is_external else self.context.transcript.before
        return assignment_turn(assignment, ended)

    def _in_its_mode(self, assignment: Assignment) -> Assignment:
        """Return the assignment; for a worker without tools its mode becomes `single_inference`."""
        if self._single is None:
            return assignment
        node = assignment.node.model_copy(update={"mode": "single_inference"})
        return assignment.model_copy(update={"node": node})

    async def _work_on(self, assignment: Assignment) -> None:
        """Run the loop on one node until it ends."""
        context, seconds = self.context, assignment.contract.node_timeout_seconds
        home = context.node_home(assignment.node)
        if self._mirror is not None:
            await first_to_end(self._fetch(self._mirror, assignment), self._cancelled.wait())
        if assignment.node.completed_before:
            put_aside(home, assignment.node.completed_before)
        self._started = assignment
        starting = asyncio.get_running_loop().call_later(START_SECONDS, self._report_started)
        status, reason, details = "completed", "", ""
        try:
            context.deadline = NodeDeadline.of_node(context.conversation, seconds, context.now())
            async with context.deadline:
                self._refuse_stuck_step()
                await self.checkout.make(assignment)
                await first_to_end(self._run_loop(), self._cancelled.wait())
        except (TimeoutError, ModelFailure, NodeLimitReached) as error:
            limit = context.assignment.contract.node_timeout_seconds
            status, reason, details = "failed", _why_failed(error, limit), last_lines(error)
        finally:
            context.deadline = None
            starting.cancel()
        if self._cancelled.is_set() and not context.transcript.is_published:
            status, reason = "cancelled", self._cancel_reason
        await self._close_node(assignment, status, reason, details)

    async def _fetch(self, mirror: "Mirror", assignment: Assignment) -> None:
        """Fetch the files of a node to another machine; without them the node fails."""
        self.context.files.close()
        try:
            await mirror.enter(assignment, is_resumed=assignment == self._resumed)
        except (Refused, UnsafeFile) as error:
            self._stuck = f"its files could not be fetched: {error}"

    def _refuse_stuck_step(self) -> None:
        stuck, self._stuck = self._stuck, ""
        if stuck:
            raise NodeLimitReached(stuck)

    async def _run_loop(self) -> None:
        if self._single or self.context.is_external:
            self._report_started()
        if self.context.is_external:
            from actors.worker.external.runner import ExternalAgentRunner  # few workers need it

            await ExternalAgentRunner(self.context, self.entity, self._tools, self.limits).run()
            return
        if not self._single:
            await self._take_tools()
        await AgentLoop(self, self.entity).run()

    async def _take_tools(self) -> None:
        """Set the toolbox and MCP tools for the current node; a restart gets the same ones."""
        context, worker = self.context, self.context.args.worker
        node = context.assignment.node
        tools = worker.tools if node.tools is None else node.tools
        served: tuple[ServedTool, ...] = ()
        if self.runtime.config.mcp.servers or context.spec.mcp_servers:
            about = f"{node.id}.{context.assignment.attempt}"
            holder = worker_holder(worker, node, context.spec.mcp_servers)
            path = context.files.home.mcp_tool_grants
            grants = await grants_for(self.runtime, path, about, holder)
            served = grants.tools
            grants.tell(context)
        elif tools == self._tools_taken:
            return
        self._tools_taken = tools
        toolbox = self._toolbox(tools).with_served(served)
        self.entity.set_prompt(self._system_prompt(toolbox), toolbox)

    async def _close_node(
        self, assignment: Assignment, status: str, reason: str, details: str
    ) -> None:
        context = self.context
        self._report_started()
        await self.entity.messenger.withdraw_all(f"its node has {status}")
        context.answer_open_calls(f"The node has {status} meanwhile.")
        context.forget_closed_calls()
        if status == "failed":
            await self._report_failed(assignment, reason, details)
        if status == "completed":
            await self._remember(assignment.node)
        await self.checkout.close(assignment, status)
        if status == "cancelled" and self._is_moved:
            await self._report_released(assignment)
        await asyncio.to_thread(remove_tree, context.node_home(assignment.node).temporary)
        about = {"node_id": assignment.node.id, "status": status, "reason": reason}
        context.conversation.append(NodeClosed.model_validate(about | {"ts": context.now()}))

    async def _remember(self, node: WorkNode) -> None:
        context, memory = self.context, self.runtime.config.memory
        if context.files.has_completed(node):
            return
        learned = context.transcript.progress.learned.strip()
        can_reflect = not (self._single or context.is_external)
        if not learned and can_reflect and memory.reflection == "turn":
            context.show("busy", "reflecting")
            learned = await reflect(self.entity.model_client, self.entity.request())
        context.files.note_completion(node, context.transcript.progress.summary or "", learned)

    def _report_started(self) -> None:
        """Sync the assignment, create the node's folder and report the start, once.

        This happens before any other effect or message of the node.
        """
        if (started := self._started) is None:
            return
        self.context.conversation.sync()
        home = self.context.node_home(started.node)
        make_folder(home.scratch)
        self._started = None
        self.context.prepare_node(home)
        if started != self._resumed:
            remove_tree(home.temporary)  # of an earlier attempt
            self.context.files.note_start(started.node, self.context.now())
        self._reports.start(self._send_started(started))

    async def _send_started(self, assignment: Assignment) -> None:
        node, attempt = assignment.node.id, assignment.attempt
        body = NodeStartedMessage(node_id=node, attempt=attempt)
        await self.context.send_to_coordinator(f"start.{node}.{attempt}", body)

    async def _report_released(self, assignment: Assignment) -> None:
        node, attempt = assignment.node.id, assignment.attempt
        body = NodeReleasedMessage(node_id=node, attempt=attempt)
        await self.context.send_to_coordinator(f"released.{node}.{attempt}", body)

    async def _report_failed(self, assignment: Assignment, reason: str, details: str = "") -> None:
        """Report that a node has failed, the reason, and the files in its folder."""
        node, attempt = assignment.node.id, assignment.attempt
        no_results = (*self.checkout.left_out(assignment), *self.context.unpublished)
        left = files_left(self.context.node_home(assignment.node), no_results)[:LEFT_NAMED]
        body = FailNodeMessage(
            node_id=node, attempt=attempt, reason=reason, left=left, details=details
        )
        await self.context.send_to_coordinator(f"fail.{node}.{attempt}", body)

    # --- its role in the loop --------------------------------------------------------------------

    def is_over(self) -> bool:
        self.context.park_if_leaving()
        transcript = self.context.transcript
        return transcript.is_published and not transcript.open_calls

    def is_between_works(self) -> bool:
        return self.context.transcript.progress.model_turns == 0

    def tool_context(self, key: str) -> ToolContext:
        self._report_started()
        return self._tools.tool_context(key)

    def notices(self) -> list[InputReceived]:
        """Return []: a worker gets all news as messages."""
        return []

    def take_effects(self) -> CallEffects:
        return self.entity.messenger.take_effects()

    async def on_rest(self) -> None:
        """Remind a model that calls no tool once; give the node up if it continues so."""
        if self._single:
            await self._single.conclude()
        elif self.context.transcript.mail.pending:
            await self.entity.messenger.until_message()
        elif self.context.transcript.progress.silences > SILENCES_ALLOWED:
            raise NodeLimitReached("the model answered without a tool call, also after a reminder")
        else:
            turns = self.context.transcript.turns
            self.context.add_notice(reminder(WORKER_REMINDER, turns))

    async def make_room(self, *, was_refused: bool) -> bool:
        """Shorten the conversation if necessary and allowed; return whether it was shortened."""
        if self._single or (not was_refused and self.limits.is_context_used_up()):
            return False
        return await self.entity.compactor.make_room(was_refused=was_refused)

    async def on_step_limit(self) -> bool:
        """Return whether to call the model: warns it before its last turn, then gives the node up.

        For a single inference, publish the answer as soon as it exists.
        """
        if self._single is None:
            self.limits.check()
            return True
        if self._single.has_answered:
            await self._single.conclude()
        return not self.context.transcript.is_published

    # --- callbacks for its parts -----------------------------------------------------------------

    def _compaction_context(self) -> CompactionContext:
        """Return the node's assignment, and the worker's files in summary."""
        assignment, home = self.context.assignment, self.context.files.home
        node = self.context.node_home(assignment.node)
        own = read_texts((home.identity, home.memory, home.notebook))
        files = [listing(node.scratch, ""), listing(node.published, "published/")]
        shown = "\n".join(filter(None, files)) or "(none yet)"
        return CompactionContext(
            task=assignment_turn(assignment),
            files=(
                SummarySection("Your identity, memory and notebook", own),
                SummarySection("The files of your node", shown),
            ),
        )

    def _acting(self) -> ActingEntity:
        context = self.context
        assignment = context.transcript.assignment
        node = [context.node_home(assignment.node).path] if assignment else []
        return context.acting(context.args.worker.role, context.files.home.path, *node)


def _why_failed(error: TimeoutError | ModelFailure | NodeLimitReached, seconds: float) -> str:
    match error:
        case TimeoutError():
            return f"the node's time of {seconds:g} s is over"
        case ModelFailure():
            return failed_call(error.kind, str(error))
        case _:
            return str(error)


def last_lines(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error)).splitlines()
    return str(redact("\n".join(lines[-TRACEBACK_LINES:])))

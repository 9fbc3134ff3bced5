"""WorkerRequestHandler: handles workers' requests and their reports about nodes."""

import asyncio
from collections.abc import Awaitable
from typing import Literal

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.insight_review import InsightReview
from actors.coordinator.public_events import SUMMARY_CHARACTERS
from actors.coordinator.stages import hired_worker, launched_stage
from agiraph.agent.worktime import WAIT_SECONDS
from agiraph.board import commands as c
from agiraph.board.names import find_node, find_worker
from agiraph.board.repeats import whole_spec
from agiraph.board.rules.nodes import WaitCycle
from agiraph.board.rules.workers import require_lead
from agiraph.board.view import board_view, waited_row
from agiraph.core.concurrency import BackgroundTasks
from agiraph.core.errors import IllegalTransition, Refused
from agiraph.core.ids import Address, NodeId, WorkerId
from agiraph.core.models import NodeResult, WorkNode
from agiraph.core.naming import cut
from agiraph.core.turns import JsonObject, json_in
from agiraph.mcp.grants import check_lender
from agiraph.messages.board import (
    AskRoster,
    AwaitNodes,
    BoardState,
    CancelWait,
    CreateNodeMessage,
    HireWorker,
    LaunchTeam,
    NodeCreatedReply,
    NodesEnded,
    RosterChanged,
    SuggestNode,
    TeamChanged,
    ViewBoard,
)
from agiraph.messages.body import MessageBody
from agiraph.messages.child import ChildFailed
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.node import (
    FailNodeMessage,
    NodeCheckpoint,
    NodeReleasedMessage,
    NodeStartedMessage,
    PublishNode,
)
from agiraph.messages.shared_values import (
    ChangeSharedValue,
    ListSharedValues,
    ReadSharedValue,
    SharedValueChanged,
    SharedValuesShown,
)
from transport.endpoint import Received
from transport.envelope import Flag

Request = (
    ViewBoard
    | CreateNodeMessage
    | HireWorker
    | LaunchTeam
    | ReadSharedValue
    | ListSharedValues
    | ChangeSharedValue
    | PublishNode
)


class WorkerRequestHandler:
    """Handles messages of workers and the supervisor; a refusal is answered with its reason."""

    def __init__(
        self, context: CoordinatorContext, board_service: BoardService, insights: InsightReview
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._board_service = board_service
        self._insights = insights
        self.waits = BackgroundTasks()
        self._waiting: dict[bytes, tuple[Received, asyncio.Task[None]]] = {}

    @property
    def is_at_rest(self) -> bool:
        """Whether all requests have been answered."""
        return self.waits.is_empty

    async def handle(self, received: Received) -> None:
        """Handle one message of a worker or the supervisor."""
        match received.body:
            case AskRoster():
                await self._send_roster(received)
            case AwaitNodes() as wait:
                if received.header.id not in self._waiting:
                    task = self.waits.start(self._wait(received, wait))
                    self._waiting[received.header.id] = (received, task)
            case CancelWait() as leave:
                self._cancel_wait(received, leave)
            case PublishNode() as publish if publish.commit:  # git may take long
                self.waits.start(self._publish_beside(received, publish))
            case NodeStartedMessage() as started:
                await self._report(received, self._start(received, started))
            case NodeCheckpoint() | SuggestNode() as report:
                await self._on_node_report(received, report)
            case FailNodeMessage() as failed:
                command: c.Command = c.FailNode(
                    failed.node_id, failed.attempt, failed.reason, failed.left, failed.details
                )
                await self._report(received, command, holder_of=failed.node_id)
            case NodeReleasedMessage() as let_go:
                command = c.ReleaseNode(let_go.node_id, let_go.attempt)
                await self._report(received, command, holder_of=let_go.node_id)
            case ChildFailed() as lost:
                await self._report(received, self._loss_of(lost))
            case request if isinstance(request, Request):
                await self._answer(received, self._result_of(received, request))
            case _:
                self._runtime.done(received)

    # --- requests --------------------------------------------------------------------------------

    async def _answer(self, received: Received, result: Awaitable[MessageBody]) -> None:
        """Answer a request with its result, or with the reason of its refusal."""
        try:
            answer = await result
        except Refused as error:
            answer = _refusal(error)
        await self._reply(received, answer)

    async def _reply(self, received: Received, body: MessageBody) -> None:
        await self._runtime.reply(received, body)
        self._runtime.done(received)

    async def _result_of(self, received: Received, request: Request) -> MessageBody:
        """Execute a request and return its answer. Raises Refused."""
        board, shared = self._board_service.board, self._board_service.shared_values
        match request:
            case ViewBoard(waiter=waiter, nodes=nodes):
                if waiter is None:
                    return BoardState(state=board_view(board))
                return BoardState(state={"nodes": self._rows(self._awaited(waiter, nodes))})
            case CreateNodeMessage():
                return self._create(received, request)
            case HireWorker() | LaunchTeam():
                return TeamChanged(result=self._lead(received, request))
            case ReadSharedValue(key=key):
                return SharedValuesShown(text=shared.read(key))
            case ListSharedValues():
                return SharedValuesShown(text=shared.rows())
            case ChangeSharedValue(way=way, key=key, value=value):
                cause, by = received.header.id.hex(), self._sender_name(received)
                receipt = shared.change(cause, way, key, json_in(value), by)
                return SharedValueChanged(receipt=receipt)
            case PublishNode():
                return await self._publish(received, request)

    def _create(self, received: Received, create: CreateNodeMessage) -> NodeCreatedReply:
        cause = f"{received.header.sender}#{create.cause}"
        worker = find_worker(self._board_service.board, self._sender(received))
        spec = whole_spec(self._board_service.board, create)
        check_lender(spec.tools, may_lend=worker.can_lead)
        if create.parent_node is not None:
            self._require_holder(received, create.parent_node)
        self._board_service.execute(c.CreateNode(cause, spec, parent_node=create.parent_node))
        node = self._board_service.board.node_by_cause(cause)
        assert node is not None
        return NodeCreatedReply(node_id=node.id, name=node.name, status=node.status)

    def _lead(self, received: Received, asked: HireWorker | LaunchTeam) -> JsonObject:
        """Change the team for a worker that may lead, and return the result for the worker."""
        cause, worker = f"{received.header.sender}#{asked.cause}", self._sender(received)
        node = self._require_holder(received, asked.holder)
        require_lead(self._board_service.board, worker)
        if isinstance(asked, HireWorker):
            self._board_service.execute(c.SpawnWorker(cause, asked))
            return hired_worker(self._board_service.board, cause)
        self._board_service.execute(c.LaunchRoles(cause, asked.stage, node.trigger, node.id))
        return launched_stage(self._board_service.board, cause)

    async def _publish_beside(self, received: Received, publish: PublishNode) -> None:
        async with self._runtime.handling(received):
            await self._answer(received, self._publish(received, publish))

    async def _publish(self, received: Received, publish: PublishNode) -> Ok:
        node = self._require_holder(received, publish.node_id)
        if publish.commit and not node.has_ended and node.attempt == publish.attempt:
            await self._board_service.worktrees.merge(node, publish.commit)
        value = self._context.files.result_of(node)
        insight = await self._insights.review(
            publish, self._sender_name(received), node.name, received.header.sent_at
        )
        found = {"value": value, "insight": insight}
        result = NodeResult.model_validate({**dict(publish), **found})
        self._board_service.execute(c.CompleteNode(publish.node_id, publish.attempt, result))
        await asyncio.sleep(0)  # new effects go first: they do not wait for the publisher
        return Ok()

    async def _wait(self, received: Received, wait: AwaitNodes) -> None:
        """Answer when the nodes have ended; the request is not acknowledged before."""
        board_service = self._board_service
        async with self._runtime.handling(received):
            try:
                ids = self._block(received, wait)
            except Refused as error:
                self._waiting.pop(received.header.id, None)
                if isinstance(error, WaitCycle):
                    board_service.execute(c.NoteDeadlock(error.cycle, str(error), is_refused=True))
                await self._reply(received, _refusal(error))
                return
        why = await self._end_of_wait(wait.waiter, ids)
        async with self._runtime.handling(received):
            node = board_service.board.nodes[wait.waiter]
            if node.status == "blocked":
                board_service.execute(c.UnblockNode(wait.waiter))
            self._waiting.pop(received.header.id, None)
            if node.has_ended or node.assigned_worker != self._sender(received):
                self._runtime.done(received)  # a later message is there, or the worker is gone
                return
            await self._reply(received, NodesEnded(nodes=tuple(self._rows(ids)), why=why))

    async def _end_of_wait(
        self, waiter: NodeId, ids: tuple[NodeId, ...]
    ) -> Literal["ended", "time", "standstill"]:
        """Wait until nodes have ended (`ids` empty: for a message); return what ended the wait."""
        board_service = self._board_service

        def have_ended() -> bool:
            return bool(ids) and all(board_service.board.nodes[one].has_ended for one in ids)

        def is_over() -> bool:
            return have_ended() or waiter not in board_service.board.waits

        begun = board_service.board.waits.get(waiter)
        until = begun.until if begun is not None else None
        left = None if until is None else max(0.0, until - self._context.now())
        try:
            async with asyncio.timeout(left):
                await board_service.changes.until(is_over)
        except TimeoutError:
            return "time"
        return "ended" if have_ended() else "standstill"

    def _block(self, received: Received, wait: AwaitNodes) -> tuple[NodeId, ...]:
        """Block the waiter's node unless the wait is over; return the awaited nodes.

        A wait for a message always has an end, a wait for nodes only if its worker has set one.
        """
        self._require_holder(received, wait.waiter)
        ids, board = self._awaited(wait.waiter, wait.nodes), self._board_service.board
        if ids and all(board.nodes[one].has_ended for one in ids):
            return ids
        has_end = wait.is_timer or not ids
        seconds = WAIT_SECONDS if wait.seconds is None else wait.seconds
        until = self._context.now() + seconds if has_end else None
        self._board_service.execute(c.BlockNode(wait.waiter, ids, until, wait.is_timer))
        return ids

    def _cancel_wait(self, received: Received, leave: CancelWait) -> None:
        """Remove a wait that its worker has cancelled, and unblock the worker's node."""
        left = self._waiting.get(leave.wait)
        if left is not None and left[0].header.sender == received.header.sender:
            del self._waiting[leave.wait]
            left[1].cancel()
            self._runtime.done(left[0])
        node = self._board_service.board.nodes.get(leave.waiter)
        is_its = node is not None and node.assigned_worker == self._sender(received)
        if node is not None and is_its and node.status == "blocked":
            self._board_service.execute(c.UnblockNode(node.id))
        self._runtime.done(received)

    async def _send_roster(self, received: Received) -> None:
        if received.header.flags & Flag.ASK:
            await self._reply(received, RosterChanged(roster=self._context.roster.current))
        else:
            self._board_service.send_roster_to(Address(received.header.sender))

    def _rows(self, ids: tuple[NodeId, ...]) -> list[JsonObject]:
        board = self._board_service.board
        return [waited_row(board, board.nodes[node]) for node in ids]

    def _awaited(self, waiter: NodeId, nodes: tuple[str, ...]) -> tuple[NodeId, ...]:
        board = self._board_service.board
        if nodes:
            return tuple(find_node(board, named).id for named in nodes)
        return tuple(find_node(board, waiter).children)

    # --- reports ---------------------------------------------------------------------------------

    def _start(self, received: Received, started: NodeStartedMessage) -> c.Command:
        node = find_node(self._board_service.board, started.node_id)
        return c.StartNode(node.id, self._sender(received), started.attempt)

    def _loss_of(self, lost: ChildFailed) -> c.Command:
        """Write notes about a failure into the worker's node; return the command to fail it."""
        board = self._board_service.board
        worker = board.workers.get(WorkerId(lost.address.rpartition("/")[2]))
        if worker is None or worker.node is None:
            return c.LoseWorker(lost.address.rpartition("/")[2], lost.cause)
        node = board.nodes[worker.node]
        notes = self._context.files.write_failure(node, worker.name, lost)
        details = lost.why.stderr if lost.why else ""
        return c.LoseWorker(worker.id, f"{lost.cause} (see {notes})", details)

    async def _on_node_report(
        self, received: Received, report: NodeCheckpoint | SuggestNode
    ) -> None:
        """Handle a worker's report about its current or last node."""
        worker = self._sender_name(received)
        try:
            node = self._require_holder(received, report.node_id)
        except Refused as error:
            self._runtime.log.info("report refused", sender=received.header.sender, why=str(error))
            self._runtime.done(received)
            return
        match report:
            case NodeCheckpoint(summary=text):
                event, about = "node.checkpoint", "summary"
                content = f"Checkpoint on node {node.name}"
            case SuggestNode(suggestion=text):
                event, about = "node.suggested", "suggestion"
                content = f"Suggestion from node {node.name}"
        data = {"name": node.name, "worker": worker, about: cut(text, SUMMARY_CHARACTERS)}
        key = received.header.id.hex()  # it is one event however often it arrives
        self._context.report(event, data, key, node_id=node.id)
        self._context.enqueue(received, worker, f"{content}: {text}")

    async def _report(
        self, received: Received, command: c.Command, *, holder_of: str | None = None
    ) -> None:
        """Apply a worker's report to the board; ignore stale or unauthorized reports."""
        try:
            if holder_of is not None:
                self._require_holder(received, holder_of)
            self._board_service.execute(command)
        except Refused as error:
            self._runtime.log.info("report refused", sender=received.header.sender, why=str(error))
        self._runtime.done(received)

    # --- the sender ------------------------------------------------------------------------------

    def _sender(self, received: Received) -> WorkerId:
        return WorkerId(received.header.sender.rpartition("/")[2])

    def _sender_name(self, received: Received) -> str:
        worker = self._board_service.board.workers.get(self._sender(received))
        return worker.name if worker else received.header.sender

    def _require_holder(self, received: Received, node: str) -> WorkNode:
        found = find_node(self._board_service.board, node)
        if found.assigned_worker != self._sender(received):
            raise IllegalTransition(f"node '{found.name}' is not held by {received.header.sender}")
        return found


def _refusal(error: Refused) -> RefusedReply:
    return RefusedReply(reason=str(error), kind=type(error).__name__)

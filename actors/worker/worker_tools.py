"""WorkerTools: executes a worker's tools with requests to its coordinator."""

import asyncio
import json
import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Literal

from pydantic import BaseModel

from actors.entity.entity import Entity
from actors.entity.entity_tools import EntityTools
from actors.entity.mcp_tools import require_node, require_worker
from actors.runtime.ask_again import Reply, ask_for, ask_until_answered, checked
from actors.worker.checkout import Checkout
from actors.worker.context import WorkerContext
from actors.worker.evidence import pass_checks, record_evidence, try_checks
from agiraph.agent.activity import FOR_ANSWER, waiting_for
from agiraph.agent.worktime import WAIT_SECONDS
from agiraph.board.shared_values import as_text
from agiraph.core.errors import Refused
from agiraph.core.ids import NodeId
from agiraph.core.models import Assignment
from agiraph.core.node_changes import NodeRequest
from agiraph.core.results import RESULT_FILE, CheckResult, read_result
from agiraph.core.specs import StageSpec, StageTerms, WorkerSpec
from agiraph.core.turns import JsonObject
from agiraph.messages.board import (
    AwaitNodes,
    BoardState,
    CancelWait,
    CreateNodeMessage,
    HireWorker,
    LaunchTeam,
    NodeCreatedReply,
    NodesEnded,
    SuggestNode,
    TeamChanged,
    ViewBoard,
)
from agiraph.messages.control import Ok
from agiraph.messages.node import NodeCheckpoint, PublishNode
from agiraph.messages.shared_values import (
    ChangeSharedValue,
    ListSharedValues,
    ReadSharedValue,
    SharedValueChanged,
    SharedValuesShown,
)
from agiraph.storage.files import MOST_BYTES, is_file, read_part, replace_file
from agiraph.storage.home import NodeHome
from agiraph.tools.checking import in_words
from agiraph.tools.ports import ToolContext, WaitOutcome
from agiraph.tools.scopes.named_places import link_named_places
from agiraph.tools.scopes.publishing import publish_files

NOTHING_COMES: Final = (
    "There is no node to wait for, and nothing else in the run is at work: no message will come by "
    "itself. Continue with your results, or publish them and name the missing part."
)


class WorkerTools(EntityTools):
    """The services of the team for one worker's tools, requested from its coordinator."""

    def __init__(self, worker: WorkerContext, entity: Entity, checkout: Checkout) -> None:
        super().__init__(worker, entity.messenger)
        self._entity = entity
        self._worker = worker
        self._checkout = checkout
        self._runtime = worker.runtime

    def tool_context(self, key: str) -> ToolContext:
        assignment, scope = self._worker.transcript.assignment, self._worker.scope
        began_at = assignment.cycle_began_at if assignment is not None else 0.0
        return self._entity.tool_context(key, "worker", scope, self, began_at)

    async def create_node(
        self, call_id: str, node: NodeRequest, stage: StageTerms | None = None
    ) -> JsonObject:
        self._require_shell(node.checks, "checks")
        self._require_shell(node.agent_command, "agent_command")
        lends = self._worker.args.worker.can_lead
        models = self._worker.spec.worker_models
        await require_node(self._runtime, node, models, may_lend=lends)
        asked = {**dict(node), "cause": call_id, "parent_node": self._assignment.node.id}
        body = CreateNodeMessage.model_validate(asked)
        # Its cause makes it one node however often it is requested. The reply is acknowledged at
        # once: kept until this call ends, it would wake a worker that parks in a wait for the node.
        created = await ask_for(self._runtime, self._worker.coordinator, body, NodeCreatedReply)
        return {"node_id": created.node_id, "name": created.name, "status": created.status}

    def _require_shell(self, commands: object, field: str) -> None:
        tools = self._worker.args.worker.tools
        if commands and tools is not None and "bash" not in tools:
            raise Refused(f"{field}: these are shell commands, and you have no shell: leave it out")

    async def spawn_worker(self, call_id: str, worker: WorkerSpec) -> JsonObject:
        self._require_shell(worker.agent_command, "agent_command")
        await require_worker(self._runtime, worker, self._worker.spec.worker_models)
        holder = self._assignment.node.id
        asked = {**dict(worker), "cause": call_id, "holder": holder}
        return await self._change_team(call_id, HireWorker.model_validate(asked))

    async def launch_roles(self, call_id: str, stage: StageSpec) -> JsonObject:
        for role in stage.roles:
            self._require_shell(role.checks, "checks")
            self._require_shell(role.agent_command, "agent_command")
            await require_worker(self._runtime, role, self._worker.spec.worker_models)
        holder = self._assignment.node.id
        return await self._change_team(
            call_id, LaunchTeam(cause=call_id, holder=holder, stage=stage)
        )

    async def _change_team(self, call_id: str, body: BaseModel) -> JsonObject:
        return (await self._ask(call_id, body, TeamChanged)).result

    async def wait(
        self, call_id: str, nodes: tuple[str, ...], timeout_seconds: float | None = None
    ) -> WaitOutcome:
        """Return why a wait for nodes, or for a message, has ended.

        The deadline stops during a wait for nodes, but not during a wait for a message. The
        coordinator keeps the request until the wait is over, so that this process may park
        meanwhile.
        """
        worker, waiter = self._worker, self._assignment.node.id
        if worker.transcript.has_unread:  # it may have begun this wait before it parked
            return await self._leave_wait(call_id, waiter, nodes)
        for_nodes = bool(nodes) or worker.transcript.progress.has_sub_nodes
        if worker.transcript.mail.pending and not for_nodes and timeout_seconds is None:
            await self.messenger.until_message()
            return await self._interrupted(waiter, nodes)
        seconds = timeout_seconds if for_nodes else self._within_deadline(timeout_seconds)
        is_timer = timeout_seconds is not None
        body = AwaitNodes(nodes=nodes, waiter=waiter, seconds=seconds, is_timer=is_timer)
        key, arrived = _wait_key(call_id), worker.inbox.arrived
        try:
            with self._waiting(nodes, for_nodes=for_nodes):
                asking, _ = await worker.first_of(self._ask(key, body, NodesEnded), arrived.wait())
        except asyncio.CancelledError:
            if worker.inbox.urgent.is_set():  # a message interrupts this call, which is not resumed
                await self._leave_wait(call_id, waiter, nodes)
            raise
        if not asking.cancelled():
            ended = asking.result()
            assert isinstance(ended, NodesEnded)
            return WaitOutcome(ended.nodes, note=_note(ended, timeout_seconds or WAIT_SECONDS))
        return await self._leave_wait(call_id, waiter, nodes)

    async def _leave_wait(
        self, call_id: str, waiter: NodeId, nodes: tuple[str, ...]
    ) -> WaitOutcome:
        """End a wait because a message came first; return the state of the nodes."""
        body = CancelWait(waiter=waiter, wait=self._worker.message_id(_wait_key(call_id)))
        await self._worker.send_to_coordinator(f"{call_id}.leave", body)
        return await self._interrupted(waiter, nodes)

    def _within_deadline(self, seconds: float | None) -> float:
        """Return how long to wait for a message: the node's own time passes meanwhile."""
        deadline = self._worker.deadline
        left = deadline.remaining_seconds if deadline is not None else math.inf
        return max(0.0, min(seconds or WAIT_SECONDS, left))

    def _waiting(self, nodes: tuple[str, ...], *, for_nodes: bool) -> AbstractContextManager[None]:
        """Return a context that shows the wait; in a wait for nodes the deadline stops."""
        if for_nodes:
            self._worker.show("waiting_for_nodes", waiting_for(nodes))
            return self._worker.standing_still()
        if self._worker.transcript.mail.pending:
            return self._worker.waiting_for_human(FOR_ANSWER)
        self._worker.show("waiting_for_message", "")
        return nullcontext()

    async def _interrupted(self, waiter: NodeId, nodes: tuple[str, ...]) -> WaitOutcome:
        """Return the state of the awaited nodes after a message has ended the wait."""
        body = ViewBoard(nodes=nodes, waiter=waiter)
        board = await ask_for(self._runtime, self._worker.coordinator, body, BoardState)
        return WaitOutcome(tuple(board.state["nodes"]), interrupted_by_message=True)

    async def view_board(self) -> JsonObject:
        to = self._worker.coordinator
        return (await ask_for(self._runtime, to, ViewBoard(), BoardState)).state

    async def read_shared_value(self, key: str) -> str:
        return await self._shown(ReadSharedValue(key=key))

    async def list_shared_values(self) -> str:
        return await self._shown(ListSharedValues())

    async def _shown(self, body: BaseModel) -> str:
        return (
            await ask_for(self._runtime, self._worker.coordinator, body, SharedValuesShown)
        ).text

    async def change_shared_value(
        self, call_id: str, way: Literal["write", "append"], key: str, value: Any
    ) -> JsonObject:
        body = ChangeSharedValue(way=way, key=key, value=as_text(value))
        return (await self._ask(call_id, body, SharedValueChanged)).receipt

    async def publish(
        self,
        call_id: str,
        summary: str,
        missing: str,
        insight: str,
        leaving: tuple[str, ...] = (),
        result: JsonObject | None = None,
    ) -> JsonObject:
        """Run the node's checks, publish scratch/, complete the node; return files and checks.

        A `result` is written as the node's `result.json` before. Files that match a name of
        `leaving` stay in scratch/. Raises Refused with the checks' output if one fails, or with the
        mismatch between result and schema.
        """
        if not summary.strip():
            raise Refused("summary is empty: describe your results")
        assignment, now = self._assignment, self._worker.now()
        home, checkout = self._worker.node_home(assignment.node), self._checkout
        left = (*checkout.left_out(assignment), *leaving)
        if result is not None and not is_file(home.published / RESULT_FILE):
            text = json.dumps(result, ensure_ascii=False, indent=2)
            replace_file(home.scratch / RESULT_FILE, f"{text}\n", is_synced=False)
        _require_result(assignment, home)
        context, is_partial = self.tool_context(call_id), bool(missing.strip())
        results = await pass_checks(context, assignment, home, now, left, is_partial=is_partial)
        commit = await checkout.commit(assignment, summary)
        await asyncio.to_thread(link_named_places, context.scope)
        files = publish_files(home, summary, left)
        evidence = await record_evidence(results, assignment, home, now)
        body = PublishNode(
            node_id=assignment.node.id,
            attempt=assignment.attempt,
            summary=summary,
            files=files,
            missing=missing,
            insight=insight.strip(),
            bound=self._worker.transcript.progress.bound_why,
            commit=commit,
            evidence=evidence,
        )
        try:
            await self._ask(call_id, body, Ok)
        except Refused as refusal:
            raise await checkout.why_refused(assignment, refusal) from None
        return {"published": list(files), **_checks_in_words(results)}

    async def run_checks(self, call_id: str) -> str:
        assignment = self._assignment
        if not assignment.node.checks:
            return "Your node has no checks."
        home = self._worker.node_home(assignment.node)
        context = self.tool_context(call_id)
        return in_words(await try_checks(context, assignment, home), context.config)

    async def checkpoint(self, call_id: str, summary: str) -> None:
        body = NodeCheckpoint(node_id=self._assignment.node.id, summary=summary)
        await self._worker.send_to_coordinator(call_id, body)

    async def suggest_next(self, call_id: str, suggestion: str) -> None:
        body = SuggestNode(
            node_id=self._assignment.node.id,
            worker_name=self._worker.name,
            suggestion=suggestion,
        )
        await self._worker.send_to_coordinator(call_id, body)

    @property
    def _assignment(self) -> Assignment:
        assignment = self._worker.transcript.assignment
        if assignment is None:
            raise Refused("you hold no node now")
        return assignment

    async def _ask(self, call_id: str, body: BaseModel, expect: type[Reply]) -> Reply:
        """Return the coordinator's reply, which is acknowledged once this call is recorded."""
        message = self._worker.message_id(call_id)
        received = await ask_until_answered(
            self._runtime, self._worker.coordinator, body, id=message
        )
        self._worker.conversation.when_recorded(lambda: self._runtime.done(received))
        return checked(received, expect)


def _wait_key(call_id: str) -> str:
    """Return the key of the request that the coordinator keeps while a call waits."""
    return f"{call_id}.wait"


def _note(ended: NodesEnded, seconds: float) -> str:
    """Return why a wait ended without a message; '' if the awaited nodes have ended."""
    match ended.why, bool(ended.nodes):
        case "time", True:
            return f"The nodes have not ended and no message has come in {seconds:g} s."
        case "time", False:
            return f"There is no node to wait for, and no message has come in {seconds:g} s."
        case "standstill", _:
            return NOTHING_COMES
        case _:
            return ""


def _checks_in_words(results: tuple[CheckResult, ...]) -> JsonObject:
    """Return {"checks_passed"} and {"checks_failed"}, each only if there are some."""
    passed = [one.command for one in results if one.has_passed]
    failed = [one.command for one in results if not one.has_passed]
    found = {"checks_passed": passed, "checks_failed": failed}
    return {key: commands for key, commands in found.items() if commands}


def _require_result(assignment: Assignment, home: NodeHome) -> None:
    """Refuse a result that does not match the node's schema, in scratch/ or published/."""
    schema = assignment.node.output_schema
    if schema is None:
        return
    paths = (home.scratch / RESULT_FILE, home.published / RESULT_FILE)
    found = next((path for path in paths if is_file(path)), None)
    if found is None:
        raise Refused(
            f"{RESULT_FILE} is missing in your folder: write it, as your node's schema says"
        )
    data, size = read_part(found, 0, MOST_BYTES)
    why = f"it has {size} bytes ({MOST_BYTES} are possible)"
    if size <= MOST_BYTES:
        _, why = read_result(data.decode(errors="replace"), schema)
    if why:
        raise Refused(f"{RESULT_FILE} does not fit your node's schema:\n{why}")

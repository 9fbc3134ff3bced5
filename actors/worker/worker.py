"""WorkerActor: takes up a node, runs the loop until it is published or given up, waits for more.

What it knows of itself is the fold of its conversation, so a restarted process goes on with the
node it holds. The end of a node is told to the coordinator before it is recorded as closed: a
crash between the two tells it again, under the same message id.
"""

import asyncio
from contextlib import AbstractContextManager, nullcontext

from actors.entity.args import WorkerArgs, billing
from actors.entity.budget_approval import BudgetApproval
from actors.entity.compactor import Compactor
from actors.entity.crash_loop import answer_open_calls, fatal_step
from actors.entity.deadline import NodeDeadline
from actors.entity.event_replay import tell_again
from actors.entity.idle_parking import IdleParking
from actors.entity.message_dispatcher import MessageDispatcher
from actors.entity.messenger import Messenger
from actors.entity.model_client import BrokerModelClient
from actors.entity.questions import ArrivedAnswers
from actors.entity.remote_tools import RemoteToolProcesses
from actors.entity.sandbox_report import guidance_of
from actors.runtime.ask_again import ask_until_answered
from actors.runtime.background_tasks import first_to_end
from actors.runtime.runtime import Runtime
from actors.worker.approval_rules import worker_approval_gate
from actors.worker.checkout import Checkout
from actors.worker.compaction_context import worker_belongings
from actors.worker.evidence import open_publishes
from actors.worker.files import WorkerFiles
from actors.worker.limits import WorkerLimits
from actors.worker.mcp_tools import worker_grants
from actors.worker.node_limit import NodeLimitReached
from actors.worker.node_reports import tell_failed, tell_started
from actors.worker.reflection import known_before, reflect
from actors.worker.scope_cache import ScopeCache
from actors.worker.single_inference import SingleInference
from actors.worker.sub_nodes import hear_of_sub_node
from actors.worker.worker_tools import WorkerTools
from agiraph.agent.compaction import CompactionContext
from agiraph.agent.context_window import answer_tokens
from agiraph.agent.conversation import Conversation
from agiraph.agent.inbox import EntityInbox
from agiraph.agent.loop import AgentLoop, CallEffects, PauseSwitch
from agiraph.agent.prompts import WORKER_REMINDER, assignment_turn, single_system, worker_system
from agiraph.agent.records import AssignmentTaken, InputReceived, NodeClosed, StateNoted
from agiraph.agent.transcript import RUNTIME_NAME, Transcript
from agiraph.core.errors import ModelFailure
from agiraph.core.ids import (
    Address,
    AgentId,
    coordinator_address,
    worker_address,
)
from agiraph.core.models import Assignment, Event, WorkNode
from agiraph.core.money import Shortage
from agiraph.core.turns import JsonObject, ModelRequest
from agiraph.memory.skills import find_skills, listing
from agiraph.messages import (
    AssignNodeMessage,
    BoardState,
    CancelNodeMessage,
    ProxyBudgetLow,
    ProxyCallFailed,
    SubNodeEnded,
    ViewBoard,
)
from agiraph.storage.files import make_folder
from agiraph.storage.home import NodeHome
from agiraph.tools.command import forget_commands
from agiraph.tools.ports import ToolContext
from agiraph.tools.scopes.publishing import files_left
from agiraph.tools.toolbox import Toolbox
from transport.endpoint import Received

SILENCES_ALLOWED = 1


class WorkerActor:
    """One worker."""

    def __init__(self, runtime: Runtime, args: WorkerArgs, environment: dict[str, str]) -> None:
        """Read the worker's files and put its parts together."""
        self.runtime = runtime
        self.args = args
        self.agent: AgentId = args.agent
        self.name = args.worker.name
        self.run_home = runtime.home.agent(args.agent).run(args.run)
        self.files = WorkerFiles(self.run_home.worker(args.worker.id), args.worker)
        self.reach = ScopeCache(runtime.home, args, runtime.config.sandbox)
        self.conversation = Conversation(self.files.home.conversation)
        self.inbox = EntityInbox()
        self._environment = environment
        self._answers = ArrivedAnswers()
        self.gate = PauseSwitch()
        self._work_arrived = asyncio.Event()
        self._waiting: list[tuple[Received, AssignNodeMessage]] = []
        self._cancelled: asyncio.Event = asyncio.Event()
        self._cancel_reason = ""
        self._poison = ""
        self.patience = IdleParking(runtime, self._may_park)
        self._model_client = BrokerModelClient(runtime, self.transcript)
        self._messenger = Messenger(self, self._answers)
        self.checkout = Checkout(self, environment.get("PATH", ""))
        self._tools = WorkerTools(self, self._messenger)
        self._one_shot: SingleInference | None = None
        self._is_outside = args.worker.type == "autonomous"
        self._toolbox = Toolbox.for_entity(
            "worker", args.worker.tools, can_lead=args.worker.can_lead
        )
        if self._is_outside:
            self._toolbox = Toolbox(())
        elif args.worker.mode == "single_inference":
            self._one_shot = SingleInference(self, self._tools, runtime.config.files.read_limit)
            self._toolbox = Toolbox(())
        self.approval_gate = worker_approval_gate(self, self._messenger, self.gate).of
        self.budget_approval = BudgetApproval(
            self, self._messenger, self.gate, nullcontext, args.terms
        )
        self._model_client.budget_approval = self.budget_approval
        self.shortage: Shortage | None = None
        self.low: Shortage | None = None
        self.unpublished: tuple[str, ...] = ()
        self._compactor = Compactor(self, self._model_client, self._toolbox)
        self.limits = WorkerLimits(self, self._compactor)
        self._skills = find_skills(runtime.home.path, args.input_dir)
        self._system = self._system_prompt()
        if self.transcript.is_paused:
            self.gate.shut()

    @property
    def transcript(self) -> Transcript:
        """What the worker has been through."""
        return self.conversation.transcript

    def _system_prompt(self) -> str:
        worker, name, today = self.args.worker, self.args.agent_name, self.args.today
        identity = f"{worker.identity}\n\n{worker.memory}"
        if self._one_shot:
            return single_system(worker, agent_name=name, identity=identity, today=today)
        return worker_system(
            worker,
            agent_name=name,
            identity=identity,
            skills=listing(self._skills),
            guidance=guidance_of(
                self._toolbox, self.runtime.config.sandbox, worker.name, worker.role
            ),
            today=today,
            has_input=self.args.input_dir is not None,
        )

    # --- the life of a worker --------------------------------------------------------------------

    async def live(self) -> None:
        """Work until the process is stopped."""
        poison = fatal_step(self.runtime, self.transcript)
        self._poison = poison if self.transcript.assignment is not None else ""
        self.runtime.quarantine.on_set_aside = self._fail_unopened
        message_dispatcher = MessageDispatcher(
            self, self.gate, self._model_client, self._answers, self._take
        )
        self._forget_closed_calls(but=open_publishes(self.transcript))
        tell_again(self.runtime, self.conversation, self._event)
        await self.runtime.ready()
        await first_to_end(message_dispatcher.run(), self._work())

    async def _work(self) -> None:
        while True:
            if self.transcript.assignment is None:
                await self._take_up()
            await self._work_on(self.assignment)

    async def _take(self, received: Received) -> None:
        match received.body:
            case AssignNodeMessage() as assign:
                self._waiting.append((received, assign))
                self._work_arrived.set()
            case CancelNodeMessage() as cancel:
                self._take_cancel(received, cancel)
            case SubNodeEnded() as ended:
                hear_of_sub_node(self, received, ended)
            case ProxyCallFailed(shortage=shortage):
                # A bound of the node is reached for good, whatever another call lacks.
                if self.shortage is None or self.shortage.budget.scope != "node":
                    self.shortage = shortage
                self.runtime.done(received)
            case ProxyBudgetLow(shortage=low):
                self.low = low
                self.runtime.done(received)
            case _:
                self.runtime.done(received)

    async def _fail_unopened(self, received: Received, reason: str) -> None:
        """Give up a node whose very assignment ends this process."""
        if isinstance(received.body, AssignNodeMessage):
            await self._tell_failed(received.body.assignment, reason)

    def _take_cancel(self, received: Received, cancel: CancelNodeMessage) -> None:
        holds_it = (
            self.transcript.assignment is not None and self.assignment.node.id == cancel.node_id
        )
        self._waiting = [(r, a) for r, a in self._waiting if a.assignment.node.id != cancel.node_id]
        if holds_it:
            self._cancel_reason = cancel.reason
            self.conversation.when_recorded(lambda: self.runtime.done(received))
            self._cancelled.set()
            return
        message, now = received.header.id.hex(), self.runtime.clock.now()
        self.conversation.append(StateNoted(what="dropped", message=message, ts=now))
        self.runtime.done(received)

    async def _take_up(self) -> None:
        """Wait for a node and record that it is ours."""
        self.show("idle", "")
        while not self._waiting:
            self._work_arrived.clear()
            await self.patience.first_of(self._work_arrived.wait())
        received, assign = self._waiting.pop(0)
        self.runtime.take_up([received.header.id.hex()])
        self._cancelled.clear()
        self.conversation.when_recorded(lambda: self.runtime.done(received))
        now = self.runtime.clock.now()
        assigned = AssignmentTaken(
            content=self._shown(assign.assignment),
            run=assign.run,
            assignment=assign.assignment,
            message=received.header.id.hex(),
            outside=self._is_outside,
            ts=now,
        )
        known = known_before(self.files.home, self.runtime.config.memory.worker_limit)
        reminder = (
            (InputReceived(content=known, from_name="runtime", ts=now),)
            if known and not self._one_shot and not self._is_outside
            else ()
        )
        self.conversation.append(assigned, *reminder)
        self.files.note_start(assign.assignment.node, now)

    def _shown(self, assignment: Assignment) -> str:
        """Return an assignment as the model is given it."""
        if self._one_shot:
            return self._one_shot.assignment_turn(assignment)
        return assignment_turn(assignment)

    async def _work_on(self, assignment: Assignment) -> None:
        """Run the loop on one node to its end, whichever it is."""
        make_folder(self.node_home(assignment.node).scratch)
        await tell_started(self.runtime, self.agent, assignment)
        status, reason = "completed", ""
        try:
            self.limits.deadline = deadline = self._deadline_of(assignment)
            async with deadline.timer:
                self._refuse_poison()
                await self.checkout.make(assignment)
                await first_to_end(self._do(), self._cancelled.wait())
        except TimeoutError:
            status = "failed"
            reason = f"the node's time of {assignment.contract.node_timeout_seconds:g} s is over"
        except ModelFailure as failure:
            status, reason = "failed", f"the model cannot be asked ({failure.kind}): {failure}"
        except NodeLimitReached as giving_up:
            status, reason = "failed", str(giving_up)
        finally:
            self.limits.deadline = None
        if self._cancelled.is_set() and not self.transcript.is_published:
            status, reason = "cancelled", self._cancel_reason
        await self._close(assignment, status, reason)

    def _deadline_of(self, assignment: Assignment) -> NodeDeadline:
        seconds, now = assignment.contract.node_timeout_seconds, self.runtime.clock.now()
        return NodeDeadline.of_node(self.conversation, seconds, now)

    async def _close(self, assignment: Assignment, status: str, reason: str) -> None:
        await self._messenger.withdraw_all(f"its node has {status}")
        now = self.runtime.clock.now()
        answer_open_calls(self.conversation, f"The node has {status} meanwhile.", now)
        self._forget_closed_calls()
        if status == "failed":
            await self._tell_failed(assignment, reason)
        if status == "completed":
            await self._remember(assignment.node)
        await self.checkout.close(assignment, status)
        closed = {
            "node_id": assignment.node.id,
            "status": status,
            "reason": reason,
            "ts": self.runtime.clock.now(),
        }
        self.conversation.append(NodeClosed.model_validate(closed))

    async def _remember(self, node: WorkNode) -> None:
        """Write down what was done on a node, and what was learned."""
        if self.files.has_completed(node):
            return
        learned = self.transcript.learned.strip()
        has_mind = not (self._one_shot or self._is_outside)
        if not learned and has_mind and self.runtime.config.memory.reflection == "turn":
            self.show("busy", "reflecting")
            learned = await reflect(self._model_client, self.request())
        self.files.note_completion(node, self.transcript.summary or "", learned)

    def _refuse_poison(self) -> None:
        poison, self._poison = self._poison, ""
        if poison:
            raise NodeLimitReached(poison)

    async def _tell_failed(self, assignment: Assignment, reason: str) -> None:
        home = self.node_home(assignment.node)
        left = files_left(home, (*self.checkout.left_out(assignment), *self.unpublished))
        await tell_failed(self.runtime, self.agent, assignment, reason, left)

    def _forget_closed_calls(self, but: frozenset[str] = frozenset()) -> None:
        """Let nothing run or lie about of a call that has its result, whoever gave it."""
        open_calls = {opened.key for opened in self.transcript.open_calls}
        forget_commands(self.files.home.calls, but=open_calls | but)

    async def _do(self) -> None:
        """Do the node's work to its end, in the way of this worker."""
        if self._is_outside:
            from actors.worker.external.runner import ExternalAgentRunner  # few workers need it

            await ExternalAgentRunner(self, self._messenger, self._tools).run()
        else:
            await self._equip()
            await self._loop().run()

    async def _equip(self) -> None:
        """Take up the tools that there are for this node, those of servers among them."""
        if not self.runtime.config.mcp.servers or self._one_shot:
            return
        about = (self.args.worker, self.files, self.assignment)
        mcp_tool_grants = await worker_grants(self.runtime, *about)
        own = Toolbox.for_entity(
            "worker", self.args.worker.tools, can_lead=self.args.worker.can_lead
        )
        self._toolbox = own.with_served(mcp_tool_grants.tools)
        self._compactor.prompt_changed()
        self._system = self._system_prompt()
        if mcp_tool_grants.told:
            self._tell(mcp_tool_grants.told)

    def _loop(self) -> AgentLoop:
        return AgentLoop(
            self,
            self.conversation,
            self.inbox,
            self.gate,
            self._model_client,
            self._toolbox,
            self.runtime.clock,
        )

    # --- what the loop asks ----------------------------------------------------------------------

    def is_over(self) -> bool:
        """Whether the node is published and nothing of that answer is left to do."""
        return self.transcript.is_published and not self.transcript.open_calls

    def is_between_works(self) -> bool:
        """Whether the last node is done and the next one not begun."""
        return self.transcript.model_turns == 0

    def request(self) -> ModelRequest:
        """Return the next question to the model."""
        models, node = self.runtime.config.models, self.assignment.node
        return ModelRequest(
            model=self.args.worker.model or self.args.model,
            system=self._system,
            turns=tuple(self.transcript.turns),
            tools=self._toolbox.schemas(),
            max_tokens=answer_tokens(
                self.transcript,
                override=models.context_tokens,
                share=models.compact_at,
                most=models.max_tokens,
            ),
            temperature=models.temperature,
            entity=self.runtime.address,
            node_id=node.id,
            attempt=self.assignment.attempt,
            **billing(self.args.run, self.args.terms, node.trigger),
        )

    def context(self, key: str) -> ToolContext:
        """Return what a tool is handed."""
        return ToolContext(
            kind="worker",
            call_id=key,
            scope=self.reach.of(self.assignment.node),
            config=self.runtime.config,
            team=self._tools,
            environment=self._environment | {"AGIRAPH_RUN": str(self.run_home.path)},
            calls=self.files.home.calls,
            elsewhere=RemoteToolProcesses(self.runtime),
            report=self.report,
            skills=self._skills,
        )

    def notices(self) -> list[InputReceived]:
        """Return nothing: a worker is told what it must know by message."""
        return []

    def take_effects(self) -> CallEffects:
        """Return what the last call has shown."""
        return self._messenger.take_effects()

    async def on_rest(self) -> None:
        """Remind a silent model once; give the node up if it stays silent."""
        if self._one_shot:
            await self._one_shot.publish()
            return
        if self.transcript.pending:
            await self._messenger.until_message()
            return
        if self.transcript.silences > SILENCES_ALLOWED:
            raise NodeLimitReached("the model answered without a tool call, also after a reminder")
        self._tell(WORKER_REMINDER)

    def belongings(self) -> CompactionContext:
        """Return the worker's assignment and files, for a conversation that begins anew."""
        assignment = self.assignment
        return worker_belongings(assignment, self.files.home, self.node_home(assignment.node))

    async def make_room(self, *, was_refused: bool) -> bool:
        """Keep the conversation within the model's window, as often as the contract allows."""
        if self._one_shot or (not was_refused and self.limits.is_context_used_up()):
            return False
        return await self._compactor.make_room(was_refused=was_refused)

    async def on_step_limit(self) -> bool:
        """Warn the model of a loop and before its last turn; give the node up after that."""
        if self._one_shot:
            return await self._may_answer(self._one_shot)
        self.limits.look()
        return True

    async def _may_answer(self, one_shot: SingleInference) -> bool:
        """Whether the one answer is still to be given; else it is published."""
        if one_shot.has_answered:
            await one_shot.publish()
        return not self.transcript.is_published

    def report(self, event: str, data: JsonObject, key: str = "") -> None:
        """Tell the recorder, and the node's own log."""
        record, assignment = self._event(event, data, key), self.transcript.assignment
        self.runtime.report(record)
        if assignment:
            self.files.log(self.node_home(assignment.node), record)

    def _event(self, event: str, data: JsonObject, key: str) -> Event:
        assignment = self.transcript.assignment
        return Event(
            type=event,
            agent_id=self.agent,
            ts=self.runtime.clock.now(),
            entity=self.name,
            run_id=self.args.run,
            node_id=assignment.node.id if assignment else None,
            data=data,
            key=f"{self.runtime.address}:{event}:{key}" if key else "",
        )

    def show(self, state: str, step: str) -> None:
        """Show what is being done right now."""
        assignment = self.transcript.assignment
        self.runtime.status(state, step, assignment.node.id if assignment else None)

    # --- what the talk asks ----------------------------------------------------------------------

    async def roster(self) -> dict[str, Address]:
        """Return the addresses of the team's workers by name and by id."""
        coordinator = coordinator_address(self.agent)
        received = await ask_until_answered(self.runtime, coordinator, ViewBoard())
        assert isinstance(received.body, BoardState)
        rows = [row for row in received.body.state["workers"] if row["status"] != "stopped"]
        by_id = {row["id"]: worker_address(self.agent, row["id"]) for row in rows}
        return by_id | {row["name"]: by_id[row["id"]] for row in rows}

    def standing_still(self) -> AbstractContextManager[None]:
        """Stop the node's clock inside this block."""
        deadline = self.limits.deadline
        return deadline.standing_still() if deadline else nullcontext()

    # --- small things ----------------------------------------------------------------------------

    def _may_park(self) -> bool:
        """Whether everything that came in is recorded."""
        return self.inbox.is_empty and not self._waiting and not self._cancelled.is_set()

    @property
    def assignment(self) -> Assignment:
        """Return the node that it holds."""
        assignment = self.transcript.assignment
        assert assignment is not None
        return assignment

    def node_home(self, node: WorkNode) -> NodeHome:
        """Return the folder of truth of a node."""
        return self.run_home.node(node.folder)

    def _tell(self, text: str) -> None:
        now = self.runtime.clock.now()
        self.conversation.append(InputReceived(content=text, from_name=RUNTIME_NAME, ts=now))

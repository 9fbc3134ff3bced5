"""CoordinatorActor: an agent's brain. It thinks only when something happened that needs thought.

Its mind is the fold of the agent's `conversation.jsonl`, its board the fold of the run's
`journal.jsonl`. What the board has to tell the mind (`notices`) is computed from the two, so a
crash between them loses nothing.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from actors.coordinator.approval_rules import coordinator_approval_gate
from actors.coordinator.board_notifications import BoardNotifications
from actors.coordinator.board_service import BoardService
from actors.coordinator.compaction_context import coordinator_belongings
from actors.coordinator.coordinator_tools import CoordinatorTools
from actors.coordinator.cycles import Cycles
from actors.coordinator.deadlocks import DeadlockWatch
from actors.coordinator.files import AgentFiles
from actors.coordinator.insight_review import InsightReview
from actors.coordinator.public_events import tell
from actors.coordinator.record import AgentRecord
from actors.coordinator.run_start import fill_board, start_run, task_of
from actors.coordinator.run_transition import NextRunRequested, RunTransition
from actors.coordinator.stage_timeouts import StageTimeouts
from actors.coordinator.trigger_handler import TriggerHandler
from actors.coordinator.worker_requests import WorkerRequestHandler
from actors.entity.args import CoordinatorArgs, billing
from actors.entity.budget_approval import BudgetApproval
from actors.entity.compactor import Compactor
from actors.entity.crash_loop import answer_open_calls, fatal_step
from actors.entity.event_replay import tell_again
from actors.entity.idle_parking import IdleParking
from actors.entity.mcp_tools import grants_of_coordinator, lent_in_words
from actors.entity.message_dispatcher import MessageDispatcher
from actors.entity.messenger import NOTHING, Messenger
from actors.entity.model_client import BrokerModelClient
from actors.entity.questions import ArrivedAnswers
from actors.entity.remote_tools import RemoteToolProcesses
from actors.entity.sandbox_report import tell_of_missing_wall
from actors.runtime.background_tasks import first_to_end
from actors.runtime.runtime import Runtime
from agiraph.agent.compaction import CompactionContext
from agiraph.agent.context_window import answer_tokens
from agiraph.agent.conversation import Conversation
from agiraph.agent.event_replay import circled
from agiraph.agent.inbox import EntityInbox
from agiraph.agent.loop import AgentLoop, CallEffects, PauseSwitch
from agiraph.agent.loop_detection import LoopStuck, LoopWarning, judge_loop
from agiraph.agent.prompts import (
    COORDINATOR_REMINDER,
    CYCLE_REMINDER,
    coordinator_system,
)
from agiraph.agent.records import InputReceived, StepQuarantined
from agiraph.agent.replies import ReplyReference
from agiraph.agent.transcript import RUNTIME_NAME, Transcript
from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.core.errors import ModelFailure
from agiraph.core.ids import COORDINATOR_NAME, HUMAN, Address, derived_message_id, worker_address
from agiraph.core.models import Agent, Event
from agiraph.core.turns import AssistantTurn, JsonObject, ModelRequest, UserTurn
from agiraph.memory.loading import memory_at_start
from agiraph.memory.skills import find_skills, listing
from agiraph.messages import BeginRun, TextMessage, TriggerFired
from agiraph.tools.command import forget_commands
from agiraph.tools.cycle import END_CYCLE
from agiraph.tools.ports import ToolContext
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.toolbox import Toolbox
from transport.endpoint import Received

REMINDERS = (COORDINATOR_REMINDER, CYCLE_REMINDER)
TOLD_AGAIN = 20
LOOP_PATIENCE = 2
"""How many more repeats of a call a coordinator is borne after it was told that it loops."""


class CoordinatorActor:
    """One agent's coordinator, in one run."""

    name = COORDINATOR_NAME

    def __init__(
        self,
        runtime: Runtime,
        args: CoordinatorArgs,
        environment: dict[str, str],
        inbox: EntityInbox,
    ) -> None:
        """Read the agent's files, make what is missing, and put the parts together.

        `args` are the agent's first orders: which run it is in, its conversation tells.
        """
        self.runtime = runtime
        self.agent = args.agent.id
        home = runtime.home.agent(self.agent)
        self.conversation = Conversation(home.conversation)
        self.args = args = args.of_run(self.transcript.began)
        self.files = AgentFiles(home, args.run, args.agent)
        self.record = AgentRecord(runtime, self.files, args)
        self.record.renew_goal()
        self.inbox = inbox
        self.board_service = BoardService(
            runtime,
            args.agent,
            args.run,
            self.files,
            self.record.today,
            self._on_board_event,
            environment,
            args.terms,
        )
        given = {"AGIRAPH_INPUT": args.agent.input_dir} if args.agent.input_dir else {}
        self._environment = environment | given
        self._answers = ArrivedAnswers()
        self._gate = PauseSwitch()
        self._model_client = BrokerModelClient(runtime, self.transcript)
        self._messenger = Messenger(self, self._answers)
        insights = InsightReview(runtime, self.agent, args.run, self.files, inbox)
        self._worker_requests = WorkerRequestHandler(runtime, self.board_service, inbox, insights)
        self._deadlocks = DeadlockWatch(self.board_service)
        self._poison = ""
        self._run_transition = RunTransition(
            runtime, args, self.conversation, self.board_service, self._worker_requests, self._gate
        )
        self._stage_timeouts = StageTimeouts(self.board_service, runtime.clock)
        self.patience = IdleParking(runtime, self._may_park)
        self._cycles = Cycles(self, self.board_service)
        self._trigger_handler = TriggerHandler(
            self, self.board_service, self._cycles, self._run_transition
        )
        self._tools = CoordinatorTools(self, self.board_service, self._messenger, self._cycles)
        toolbox = Toolbox.for_entity("coordinator", args.tools)
        is_infinite = args.agent.mode == "infinite"
        self._toolbox = toolbox if is_infinite else toolbox.without(END_CYCLE.name)
        self.approval_gate = coordinator_approval_gate(
            self, self.board_service, self._messenger, self._gate
        ).of
        self._model_client.budget_approval = BudgetApproval(
            self, self._messenger, self._gate, self.waiting_for_human, args.terms
        )
        self._compactor = Compactor(self, self._model_client, self._toolbox)
        self._notifications = BoardNotifications(self.board_service, self.transcript, runtime.clock)
        self._skills = find_skills(runtime.home.path, args.agent.input_dir)
        self._system = self._system_prompt()
        if self.transcript.is_paused:
            self._gate.shut()

    @property
    def orders(self) -> Agent:
        """The agent as it was created."""
        return self.args.agent

    @property
    def transcript(self) -> Transcript:
        """What the coordinator has been through."""
        return self.conversation.transcript

    def _system_prompt(self, lent: str = "") -> str:
        config, agent_home = self.runtime.config, self.runtime.home.agent(self.agent)
        guidance = self._toolbox.guidance()
        return coordinator_system(
            self.args.agent,
            soul=self.files.soul(),
            goal=self.files.goal(),
            skills=listing(self._skills),
            memory=memory_at_start(agent_home, self.args.run, config.memory.prompt_limit),
            guidance=f"{guidance}\n\n{lent}" if lent else guidance,
            today=self.record.today,
            max_concurrent=config.run.max_concurrent,
        )

    # --- the life of a coordinator ---------------------------------------------------------------

    async def live(self) -> None:
        """Lead until the process is stopped; return when another run has begun."""
        message_dispatcher = MessageDispatcher(
            self, self._gate, self._model_client, self._answers, self._take
        )
        if not self.runtime.is_ready:
            self._poison = fatal_step(self.runtime, self.transcript)
        self._tell_again()
        self._begin()
        self.board_service.reconcile()
        if not self.runtime.is_ready:
            await self.runtime.ready()
        await self._cycles.set_alarm_again()
        try:
            await first_to_end(
                message_dispatcher.run(),
                self._worker_requests.waits.until_broken(),
                self.board_service.run_effects(),
                self._deadlocks.run(),
                self._stage_timeouts.run(),
                tell_of_missing_wall(self, self.runtime.config.sandbox, self.args.run),
                self._think_for_ever(),
            )
        except NextRunRequested as next_run:
            await self._run_transition.begin(next_run)

    def close(self) -> None:
        """Close the journals."""
        self.conversation.close()
        self.board_service.close()

    async def _take(self, received: Received) -> None:
        if isinstance(received.body, BeginRun):
            await self._run_transition.take(received, received.body)
        elif isinstance(received.body, TriggerFired):
            await self._trigger_handler.take(received, received.body)
        else:
            await self._worker_requests.take(received)

    def _begin(self) -> None:
        """Start the run, unless it has been started before."""
        self.record.open()
        open_calls = {opened.key for opened in self.transcript.open_calls}
        forget_commands(self.files.home.calls, but=open_calls)
        start_run(self.board_service, self.args, self.runtime.config)
        if not self.board_service.board.is_running and not self.record.has_ended:
            last = self.board_service.count - 1
            self._on_board_event(self.board_service.since(last)[0], last)
        if refused := fill_board(self.board_service, self.args.plan):
            self._fail(refused)
        if not self.transcript.turns:
            self._tell(task_of(self.transcript, self.args))

    async def _set_aside(self, reason: str) -> None:
        """Fail the run for a step that ends this process, and be there for the human."""
        now = self.runtime.clock.now()
        answer_open_calls(self.conversation, "This call ended its process again and again.", now)
        forget_commands(self.files.home.calls, but=())
        self._fail(reason)
        await self._say_to_human(f"I had to stop: {reason}")
        self.conversation.append(StepQuarantined(reason=reason, ts=now))

    async def _think_for_ever(self) -> None:
        if self._poison:
            await self._set_aside(self._poison)
        await self._equip()
        loop = AgentLoop(
            self,
            self.conversation,
            self.inbox,
            self._gate,
            self._model_client,
            self._toolbox,
            self.runtime.clock,
        )
        while True:
            try:
                await loop.run()
            except ModelFailure as failure:
                reason = f"the model cannot be asked ({failure.kind}): {failure}"
                if not await self._cycles.outlive(failure, reason):
                    self._fail(reason)
                await self._say_to_human(reason + await self._trigger_handler.model_failed(failure))
                await self._rest()

    async def _equip(self) -> None:
        """Take the tools of servers that there are for this run, and know those to give away."""
        if not self.runtime.config.mcp.servers:
            return
        kept, run = self.runtime.home.agent(self.agent).mcp_tool_grants, self.args.run
        mcp_tool_grants = await grants_of_coordinator(
            self.runtime, kept, run, self.args.tools, self.name
        )
        self._toolbox = self._toolbox.with_served(mcp_tool_grants.tools)
        self._compactor.prompt_changed()
        self._system = self._system_prompt(lent_in_words(mcp_tool_grants))
        if mcp_tool_grants.told:
            self._tell(mcp_tool_grants.told)

    def _fail(self, reason: str) -> None:
        if self.board_service.board.is_running:
            self.board_service.execute(c.StopRun("failed", reason))

    def _on_board_event(self, event: e.BoardEvent, place: int) -> None:
        """Let the world know, and keep the agent's own record true."""
        self.runtime.report(*self._told(event, place))
        self.record.follow(self.board_service.board, event)

    def _told(self, event: e.BoardEvent, place: int) -> list[Event]:
        run, board = self.args.run, self.board_service.board
        told = tell(board, event, place, agent=self.agent, run=run, entity=self.name)
        return self._trigger_handler.marked(told)

    def _tell_again(self) -> None:
        """Report the last events once more: a report may have died with this process."""
        tell_again(self.runtime, self.conversation, self._event)
        first, events = self.board_service.lately(TOLD_AGAIN)
        for place, event in enumerate(events, start=first):
            self.runtime.report(*self._told(event, place))

    # --- what the loop asks ----------------------------------------------------------------------

    def is_over(self) -> bool:
        """Return False: a coordinator is there for its human as long as its process lives."""
        return False

    def is_between_works(self) -> bool:
        """Whether the coordinator has nothing left to think about or to do."""
        return not self.transcript.open_calls and not self.transcript.has_news

    def request(self) -> ModelRequest:
        """Return the next question to the model."""
        models, args = self.runtime.config.models, self.args
        return ModelRequest(
            model=self.args.agent.model,
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
            **billing(args.run, args.terms, self.transcript.woken_by),
        )

    def context(self, key: str) -> ToolContext:
        """Return what a tool is handed."""
        agent_home = self.runtime.home.agent(self.agent)
        input_dir = Path(self.args.agent.input_dir) if self.args.agent.input_dir else None
        has_network = self.runtime.config.sandbox.has_network(COORDINATOR_NAME)
        scope = Scope.for_coordinator(
            agent_home, self.files.run, input_dir, has_network=has_network
        )
        return ToolContext(
            kind="coordinator",
            call_id=key,
            scope=scope,
            config=self.runtime.config,
            team=self._tools,
            environment=self._environment | {"AGIRAPH_RUN": str(self.files.run.path)},
            calls=self.files.home.calls,
            elsewhere=RemoteToolProcesses(self.runtime),
            report=self.report,
            skills=self._skills,
        )

    def notices(self) -> list[InputReceived]:
        """Return what happened on the board that the mind has not been told, as one turn."""
        return self._notifications.take()

    def take_effects(self) -> CallEffects:
        """Return what the last call has shown."""
        return self._tools.take_effects()

    async def on_rest(self) -> None:
        """Pass on what was said; then wait for news, remind once, or give the run up."""
        said = self.transcript.turns[-1]
        if isinstance(said, AssistantTurn) and said.text and not said.interrupted:
            await self._say_to_human(said.text, self.transcript.spoke_to)
        is_running = self.board_service.board.is_running and not self._cycles.is_asleep
        if not is_running or self._is_work_under_way():
            self.board_service.execute(c.LaunchStage())
            await self._rest()
            return
        if self._was_reminded():
            text = said.text if isinstance(said, AssistantTurn) else None
            if self._cycles.is_infinite:
                await self._cycles.end_silent(text)
                return
            self._fail(f"the coordinator stopped without finishing: {text or 'it said nothing'}")
            return
        self._tell(CYCLE_REMINDER if self._cycles.is_infinite else COORDINATOR_REMINDER)

    def belongings(self) -> CompactionContext:
        """Return the goal, the board and the files, for a conversation that begins anew."""
        return coordinator_belongings(
            task_of(self.transcript, self.args), self.board_service.board, self.files
        )

    async def make_room(self, *, was_refused: bool) -> bool:
        """Keep the conversation within the model's window; at rest that takes no model call."""
        if not was_refused and not self._is_to_think():
            return False
        return await self._compactor.make_room(was_refused=was_refused)

    def _is_to_think(self) -> bool:
        """Whether the model may be asked: while the run runs and is awake, or when spoken to."""
        if self._cycles.may_not_think:
            return False
        if self.board_service.board.is_running or self.transcript.is_flushing:
            return True
        is_spoken_to = isinstance(self.transcript.turns[-1], UserTurn)
        return is_spoken_to and not self.transcript.is_set_aside

    async def on_step_limit(self) -> bool:
        """Keep to the run's bound on turns; once the run has ended think only when spoken to."""
        if not self._is_to_think():
            await self._rest()
            return False
        if not self.board_service.board.is_running:
            return True
        limit = self.runtime.config.run.coordinator_iterations
        if self._cycles.turns_used >= limit:
            self._fail(f"the coordinator's {limit} model turns are used up")
            return False
        return not self._gave_up_loop()

    def _gave_up_loop(self) -> bool:
        """Warn the model if it runs in a circle; fail the run if it will not leave it."""
        match judge_loop(self.transcript.streak, patience=LOOP_PATIENCE):
            case LoopStuck(reason=reason):
                self._fail(reason)
                return True
            case LoopWarning() as warn:
                seen = warn.record("the run fails", self.runtime.clock.now())
                self.conversation.append(seen)
                self.report(*circled(seen, self.transcript.place).told)
        return False

    def report(self, event: str, data: JsonObject, key: str = "") -> None:
        """Tell the recorder."""
        self.runtime.report(self._event(event, data, key))

    def _event(self, event: str, data: JsonObject, key: str) -> Event:
        return Event(
            type=event,
            agent_id=self.agent,
            ts=self.runtime.clock.now(),
            entity=self.name,
            run_id=self.args.run,
            data=data,
            key=f"{self.runtime.address}:{event}:{key}" if key else "",
        )

    def show(self, state: str, step: str) -> None:
        """Show what is being done right now."""
        self.runtime.status(state, step, run_id=self.args.run)

    # --- what the talk asks ----------------------------------------------------------------------

    async def roster(self) -> dict[str, Address]:
        """Return the addresses of the team's workers by name and by id."""
        team = self.board_service.board.team
        by_id = {str(worker.id): worker_address(self.agent, worker.id) for worker in team}
        return by_id | {worker.name: by_id[worker.id] for worker in team}

    def standing_still(self) -> AbstractContextManager[None]:
        """Return nothing to stop: a coordinator has no deadline."""
        return nullcontext()

    @contextmanager
    def waiting_for_human(self) -> Iterator[None]:
        """Let the agent's status say that it waits for the human."""
        self.record.set_status("waiting_for_human")
        try:
            yield
        finally:
            self.record.set_status("working")

    # --- small things ----------------------------------------------------------------------------

    async def _rest(self) -> None:
        """Wait, without any model call, until there is something to think about."""
        self.show("idle", self._cycles.told)
        if not self.inbox.has_followups():
            await self.patience.first_of(
                self.board_service.changes.until(self._notifications.has_news),
                self.inbox.arrived.wait(),
                at_once=self._cycles.is_asleep,
            )

    def has_alarm(self) -> bool:
        """Whether a deadlock was found that the mind has not been told of."""
        return self._notifications.has_alarm()

    def _may_park(self) -> bool:
        """Whether everything that came in is recorded and everything that follows is done."""
        is_at_rest = self.board_service.is_at_rest and self._worker_requests.is_at_rest
        is_quiet = self._deadlocks.is_at_rest and not self._stage_timeouts.is_ticking
        return is_at_rest and self.inbox.is_empty and is_quiet

    def _is_work_under_way(self) -> bool:
        return bool(self.transcript.pending) or any(
            not node.has_ended for node in self.board_service.board.nodes.values()
        )

    def _was_reminded(self) -> bool:
        last_heard = [turn for turn in self.transcript.turns if isinstance(turn, UserTurn)][-1:]
        return bool(last_heard) and last_heard[0].content in REMINDERS

    async def _say_to_human(self, text: str, link: ReplyReference = NOTHING) -> None:
        message = derived_message_id(self.runtime.address, f"say.{self.transcript.place}")
        body = TextMessage(
            content=text,
            from_name=self.name,
            to_name="human",
            in_reply_to=link.message,
            quoted=link.quoted,
        )
        await self.runtime.send(HUMAN, body, id=message)
        told = {"from": self.name, "to": "human", "content": text[:2000]}
        told |= {"in_reply_to": link.message} if link.message else {}
        self.report("message.sent", told, message.hex())

    def _tell(self, text: str) -> None:
        now = self.runtime.clock.now()
        self.conversation.append(InputReceived(content=text, from_name=RUNTIME_NAME, ts=now))

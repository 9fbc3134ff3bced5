"""CoordinatorActor: leads an agent's run. It calls its model only when there is news.

Its state is the fold of the agent's `conversation.jsonl`, and its board the fold of the run's
`journal.jsonl`. Its notifications (`notices`) are computed from the two, so a crash between them
loses nothing.
"""

from contextlib import nullcontext

from actors.coordinator.board_notifications import BoardNotifications
from actors.coordinator.board_service import BoardService
from actors.coordinator.board_watches import DeadlockWatch, StageTimeouts
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.coordinator_tools import CoordinatorTools
from actors.coordinator.files import coordinator_belongings
from actors.coordinator.human_node_commands import HumanNodeCommand, carry_out
from actors.coordinator.insight_review import InsightReview
from actors.coordinator.prior_work import PriorWorkLookup
from actors.coordinator.progress_watch import ProgressWatch
from actors.coordinator.prompt_facts import PromptFacts, facts_for
from actors.coordinator.public_events import events_of
from actors.coordinator.runs.cycles import Cycles
from actors.coordinator.runs.plan_lead import PlanLead
from actors.coordinator.runs.planner import RunPlanner
from actors.coordinator.runs.role_lead import RoleTeamLead
from actors.coordinator.runs.start import fill_board, has_unopened_stage, start_run, task_of
from actors.coordinator.runs.transition import NextRunRequested, RunTransition
from actors.coordinator.runs.triggers import TriggerHandler
from actors.coordinator.worker_requests import WorkerRequestHandler
from actors.entity.args import CoordinatorArgs
from actors.entity.entity import Entity, toolbox_for
from actors.entity.mcp_tools import grants_for, lent_in_words
from actors.entity.sandbox_report import guidance_of, report_sandbox
from actors.runtime.runtime import Runtime
from agiraph.agent.activity import FOR_ANSWER
from agiraph.agent.compaction import CompactionContext
from agiraph.agent.inbox import EntityInbox
from agiraph.agent.loop import AgentLoop, CallEffects
from agiraph.agent.prompts import (
    COORDINATOR_REMINDER,
    CYCLE_REMINDER,
    node_limits,
    reminder,
    render,
    system_prompt,
    was_reminded,
)
from agiraph.agent.records import InputReceived, StepQuarantined
from agiraph.agent.transcript import OpenCall
from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.deadlock import find_deadlocks
from agiraph.board.names import names_meant
from agiraph.board.store import LATELY
from agiraph.core.concurrency import first_to_end
from agiraph.core.errors import ModelFailure, Refused
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.models import Event, ProposedAction
from agiraph.core.turns import AssistantTurn, UserTurn
from agiraph.llm.base import failed_call
from agiraph.mcp.grants import ToolHolder
from agiraph.memory import skills
from agiraph.messages.run import BeginRun
from agiraph.messages.trigger import TriggerFired
from agiraph.tools.approvals.policy import STAGE
from agiraph.tools.command import forget_commands
from agiraph.tools.coordinator import end_cycle
from agiraph.tools.knowledge import remember
from agiraph.tools.ports import ToolContext
from agiraph.tools.toolbox import Toolbox
from transport.endpoint import Received

OPENS_A_STAGE = ("launch_roles", "create_work_node", "create_stage_node")
SHORT_MEMORY = 1200
LOOP_PATIENCE = 2
"""How often a coordinator may still repeat a call after a warning about a loop."""


class CoordinatorActor:
    """One agent's coordinator, in one run.

    `args` are the arguments of the agent's first run: the conversation determines the current run.
    """

    def __init__(
        self,
        runtime: Runtime,
        args: CoordinatorArgs,
        environment: dict[str, str],
        inbox: EntityInbox,
    ) -> None:
        self.runtime = runtime
        self.context = context = CoordinatorContext(runtime, args, environment, inbox)
        context.may_park = self._may_park
        self._prior_work = PriorWorkLookup(context)
        self.board_service = board = BoardService(
            context, environment, self._on_board_event, self._prior_work
        )
        toolbox = Toolbox.for_entity("coordinator", context.args.tools)
        if context.args.agent.mode != "infinite":
            toolbox = toolbox.without(end_cycle.name)
        if not runtime.config.knowledge.learn:
            toolbox = toolbox.without(remember.name)
        if runtime.config.hosts.listen:
            toolbox = toolbox.with_machines()
        self.entity = Entity(
            context,
            toolbox_for(context.limits, toolbox),
            who=lambda: context.acting(COORDINATOR_NAME, context.files.home.path),
            further=self._opened_stage,
            names=lambda named: names_meant(board.board, named),
            compaction_context=self._compaction_context,
        )
        self._notifications = BoardNotifications(board, context)
        self._cycles = Cycles(context, board)
        self._worker_requests = WorkerRequestHandler(context, board, InsightReview(context))
        self._run_transition = RunTransition(context, board, self._worker_requests)
        self._trigger_handler = TriggerHandler(
            context, board, self._cycles, self._run_transition, self.entity.decision_now
        )
        self._tools = CoordinatorTools(
            context, self.entity.messenger, board, self._notifications, self._cycles
        )
        self._roles = RoleTeamLead(context, board)
        self._plan = PlanLead(context, board)
        self._planner = RunPlanner(context, self.entity, board)
        self._deadlocks = DeadlockWatch(board)
        self._progress = ProgressWatch(context, board, self.entity.messenger, self._is_led)
        self._stage_timeouts = StageTimeouts(board, runtime.clock)
        self._stuck = ""
        self._lent_tools = ""
        self._prompt_period = ""

    async def _refresh_prompt(self) -> None:
        """Set the system prompt, unless it belongs to the current period (`PromptFacts`)."""
        context, run = self.context, self.board_service.board.run
        period = f"{context.run}/{run.cycle if run else 1}/{context.transcript.window.compactions}"
        if period != self._prompt_period:
            facts = await facts_for(context, period)
            notes = await self._prior_work.section_for(context.model, run.cycle if run else 1)
            self.entity.set_prompt(self._system_prompt(facts, notes), self.entity.toolbox)
            self._prompt_period = period

    def _system_prompt(self, facts: PromptFacts, notes: str) -> str:
        context = self.context
        if not context.limits.has_tools:
            return render("solo")
        guidance = guidance_of(self.entity.toolbox, lambda: facts.machine)
        is_short = context.limits.is_small
        memory = facts.memory.strip()[: SHORT_MEMORY if is_short else None]
        return system_prompt(
            "coordinator_short" if is_short else "coordinator",
            agent=context.args.agent,
            soul=context.files.soul().strip(),
            goal=context.files.goal_for_prompt(context.args.agent.goal),
            skills=skills.listing(context.skills),
            memory=memory or "(empty)",
            guidance=f"{guidance}\n\n{self._lent_tools}" if self._lent_tools else guidance,
            today=facts.today,
            input_dir=context.spec.input,
            max_concurrent=self.runtime.config.run.max_concurrent,
            limits=node_limits(self.runtime.config.run),
            models=facts.models,
            agents=facts.agents,
            notes=notes,
        )

    # --- its life --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Lead until the process is stopped; return when another run has begun."""
        context, board = self.context, self.board_service
        context.begin_after_loss()
        if not self.runtime.is_ready:
            self._stuck = context.stuck_step()
        self._replay_events()
        self._start_run()
        board.reconcile()
        if not self.runtime.is_ready:
            await self.runtime.ready()
        await self._cycles.set_alarm_again()
        try:
            await first_to_end(
                self.entity.receive_messages(self._handle),
                self._worker_requests.waits.until_broken(),
                board.run_effects(),
                board.pages.run(lambda: board.board),
                self._deadlocks.run(),
                self._progress.run(),
                self._stage_timeouts.run(),
                report_sandbox(
                    context.report, self.runtime.config.sandbox, context.run, context.scope
                ),
                self._run_loop(),
            )
        except NextRunRequested as next_run:
            await self._run_transition.begin(next_run)

    def close(self) -> None:
        self.context.conversation.close()
        self.board_service.close()

    async def _handle(self, received: Received) -> None:
        if isinstance(received.body, BeginRun):
            await self._run_transition.handle(received, received.body)
        elif isinstance(received.body, TriggerFired):
            await self._trigger_handler.handle(received, received.body)
        elif isinstance(received.body, HumanNodeCommand):
            await carry_out(self.context, self.board_service, received, received.body)
        else:
            await self._worker_requests.handle(received)

    def _start_run(self) -> None:
        context, board = self.context, self.board_service
        context.record.open()
        if context.args.began_at is None and board.store.count <= LATELY:
            agent = context.args.agent
            about = {"goal": agent.goal, "model": agent.model, "mode": agent.mode}
            context.report("agent.created", about, "created", ts=agent.created_at)
        context.forget_closed_calls()
        start_run(board, context.args, self.runtime.config)
        if not board.board.is_running and not context.record.has_ended:
            last = board.store.count - 1
            self._on_board_event(board.store.since(last)[0], last, board.board)
        refused = fill_board(board, context.spec.plan)
        if refused and all(stage.status != "completed" for stage in board.board.stages):
            self._fail(refused)
        if not context.transcript.turns:
            context.add_notice(task_of(context.transcript, context.args, self.runtime.config))

    async def _run_loop(self) -> None:
        if self._stuck:
            await self._quarantine_step(self._stuck)
        has_servers = self.runtime.config.mcp.servers or self.context.spec.mcp_servers
        if has_servers and self.context.limits.has_tools:
            await self._grant_mcp_tools()
        await self._refresh_prompt()
        loop = AgentLoop(self, self.entity)
        while True:
            try:
                if refused := await self._planner.make():
                    self._fail(refused)
                await loop.run()
            except ModelFailure as failure:
                reason, was_running = failed_call(failure.kind, str(failure)), False
                if not await self._cycles.outlive(failure, reason):
                    was_running = self.board_service.board.is_running
                    self._fail(reason)
                paused = await self._trigger_handler.model_failed(failure)
                if paused or not was_running:  # otherwise the end of the run reports it
                    await self.entity.messenger.tell_human(reason + paused)
                await self._rest()

    async def _quarantine_step(self, reason: str) -> None:
        """Fail the run because one step crashed this process repeatedly; the process continues.

        The open calls of the step are answered with an error, and the human is told the reason.
        """
        context = self.context
        context.answer_open_calls("This call ended its process again and again.")
        forget_commands(context.calls, but=())
        self._fail(reason)
        await self.entity.messenger.tell_human(f"I had to stop: {reason}")
        context.conversation.append(StepQuarantined(reason=reason, ts=context.now()))

    async def _grant_mcp_tools(self) -> None:
        """Add the tools of the MCP servers for this run, and learn which may be lent to workers."""
        context, path = self.context, self.context.files.home.mcp_tool_grants
        grants = await grants_for(
            self.runtime,
            path,
            context.run,
            ToolHolder((context.name,), context.args.tools, context.spec.mcp_servers),
            is_coordinator=True,
        )
        self.entity.toolbox = self.entity.toolbox.with_served(grants.tools)
        self._lent_tools = lent_in_words(grants)
        grants.tell(context)

    def _fail(self, reason: str) -> None:
        if self.board_service.board.is_running:
            rings = "".join(
                f"; deadlock: {found.text}" for found in find_deadlocks(self.board_service.board)
            )
            self.board_service.execute(c.StopRun("failed", f"{reason}{rings}"))

    async def _rest(self) -> None:
        """Wait, without any model call, until there is news for the model.

        If no node of the run is open but a question is, the coordinator waits for the human.
        """
        context, asks = self.context, bool(self.context.transcript.mail.pending)
        context.show("idle", self._cycles.description)
        if context.inbox.has_followups():
            return
        is_for_human = asks and self.board_service.board.is_running and not self._has_open_nodes()
        with context.waiting_for_human(FOR_ANSWER) if is_for_human else nullcontext():
            await context.first_of(
                self.board_service.changes.until(self._notifications.has_news),
                context.inbox.arrived.wait(),
                at_once=self._cycles.is_asleep,
            )

    def _may_park(self) -> bool:
        """Whether the process may exit: all input is recorded and all effects are executed."""
        is_at_rest = self.board_service.is_at_rest and self._worker_requests.is_at_rest
        is_ticking = self._stage_timeouts.is_ticking or self.context.timer is not None
        is_quiet = self._deadlocks.is_at_rest and self._progress.is_at_rest and not is_ticking
        return is_at_rest and self.context.inbox.is_empty and is_quiet

    def _is_led(self) -> bool:
        """Whether a model leads the run, and so can act at a standstill."""
        is_led = self.context.limits.has_tools and not self._roles.is_of_roles
        return is_led and not self._plan.leads

    # --- events of the board ---------------------------------------------------------------------

    def _on_board_event(self, event: e.BoardEvent, place: int, board: Board) -> None:
        """Report an event with the board after it, and update the agent's record."""
        self.runtime.report(*self._public_events(event, place, board))
        self.context.record.follow(self.board_service.board, event)

    def _public_events(self, event: e.BoardEvent, place: int, board: Board) -> list[Event]:
        context = self.context
        events = events_of(
            board, event, place, agent=context.agent, run=context.run, entity=context.name
        )
        return [*self._trigger_handler.marked(events), *self._roles.events_of(event)]

    def _replay_events(self) -> None:
        """Report the last events once more: a crash may have lost their first report."""
        self.context.replay_events()
        for place, event, board in self.board_service.store.lately:
            self.runtime.report(*self._public_events(event, place, board))

    # --- its role in the loop --------------------------------------------------------------------

    def is_over(self) -> bool:
        """Return False: a coordinator serves its human as long as its process lives."""
        return False

    def is_between_works(self) -> bool:
        transcript = self.context.transcript
        return not transcript.open_calls and not transcript.has_news

    def tool_context(self, key: str) -> ToolContext:
        run, scope = self.board_service.board.run, self.context.scope
        began_at = run.cycle_began_at if run is not None else 0.0
        return self.entity.tool_context(key, "coordinator", scope, self._tools, began_at)

    def notices(self) -> list[InputReceived]:
        """Return the events of the board that the model has not seen, as one turn.

        While the plan leads, the events are kept until the model is called. The model of a team, or
        of a plan that has ended, sees none; they are taken all the same, because news ends every
        rest.
        """
        if self._plan.leads:
            return []
        taken = self._notifications.take()
        return [] if self._roles.is_of_roles or self._plan.has_ended else taken

    def take_effects(self) -> CallEffects:
        return self._tools.take_effects()

    async def on_rest(self) -> None:
        """Pass on the model's text; then wait for news, remind it once, or give up the run."""
        if self._roles.leads:
            await self._roles.step()
            return
        transcript, cycles = self.context.transcript, self._cycles
        said = transcript.turns[-1]
        text = said.text if isinstance(said, AssistantTurn) else None
        is_said = isinstance(said, AssistantTurn) and bool(text) and not said.interrupted
        is_running = self.board_service.board.is_running and not cycles.is_asleep
        is_free = is_running and not self._is_work_under_way()
        is_result = is_said and not self.context.limits.has_tools and self._is_result(text or "")
        if is_said and not is_result:
            await self.entity.messenger.pass_on(text or "")
        if self._plan.leads:
            await self._plan.step()
            return
        if not is_free:
            self.board_service.execute(c.LaunchStage())
            await self._rest()
        elif has_unopened_stage(self.board_service.board, self.context.spec.plan):
            self._open_planned_stage(text or "")
        elif is_result:
            await self._finish_with(text or "")
        elif not was_reminded(transcript.turns):
            is_infinite = cycles.is_infinite
            whole = CYCLE_REMINDER if is_infinite else COORDINATOR_REMINDER
            self.context.add_notice(reminder(whole, transcript.turns))
        elif cycles.is_infinite:
            await cycles.end_silent(text)
        else:
            self._fail(f"the coordinator stopped without finishing: {text or 'it said nothing'}")

    async def _finish_with(self, answer: str) -> None:
        """Finish with the text of a model without tools; a refusal is shown to the model."""
        try:
            await self._tools.finish("", answer)
        except Refused as refusal:
            self.context.add_notice(f"[Runtime]: {refusal}")

    def _is_result(self, text: str) -> bool:
        """Whether the text of a model without tools is the result of the run."""
        board, run = self.board_service.board, self.board_service.board.run
        if board.is_running:
            return not self._is_work_under_way()
        return run is not None and (run.summary or "").startswith(text.rstrip())

    def _open_planned_stage(self, assessment: str) -> None:
        """Open the plan's next stage: the coordinator's turn ended without `reconvene`."""
        cause = self.context.cause(f"rest.{self.context.transcript.place}")
        self.board_service.execute(c.Reconvene(assessment, cause))
        if refused := fill_board(self.board_service, self.context.spec.plan):
            self.context.add_notice(f"[Runtime]: {refused}")

    def _is_work_under_way(self) -> bool:
        return bool(self.context.transcript.mail.pending) or self._has_open_nodes()

    def _has_open_nodes(self) -> bool:
        return any(not node.has_ended for node in self.board_service.board.nodes.values())

    async def make_room(self, *, was_refused: bool) -> bool:
        """Keep the conversation within the model's window; return whether it was shortened.

        Does nothing while the model may not be called.
        """
        if not was_refused and not self._may_think():
            return False
        has_shortened = await self.entity.compactor.make_room(was_refused=was_refused)
        await self._refresh_prompt()
        return has_shortened

    async def on_step_limit(self) -> bool:
        """Return whether the model may be called: the run goes on, or there are new messages.

        Applies the run's limit on turns. While the roles of a team or the nodes of a plan work,
        only they continue.
        """
        if self._roles.leads:
            await self._roles.step()
            return False
        if self._plan.leads:
            await self._plan.step()
            return False
        if not self._may_think():
            if self._leaves_it_to_workers():
                self.board_service.execute(c.LaunchStage())
            await self._rest()
            return False
        if not self.board_service.board.is_running:
            return True
        limit = self.runtime.config.run.coordinator_iterations
        if self._cycles.turns_used >= limit:
            self._fail(f"the coordinator's {limit} model turns are used up")
            return False
        if reason := self.context.warn_of_loop("the run fails", LOOP_PATIENCE):
            self._fail(reason)
        return not reason

    def _may_think(self) -> bool:
        """Whether the model may be called: the run goes on and is awake, or a message is new."""
        transcript = self.context.transcript
        if self._roles.leads or self._plan.leads or self._cycles.may_not_think:
            return False
        if self._leaves_it_to_workers():
            return False
        if self.board_service.board.is_running or transcript.is_flushing:
            return True
        is_spoken_to = isinstance(transcript.turns[-1], UserTurn)
        return is_spoken_to and not transcript.is_set_aside

    def _leaves_it_to_workers(self) -> bool:
        """Whether a model without tools has nothing to do until the nodes have ended."""
        is_open = self.board_service.board.is_running and self._is_work_under_way()
        return is_open and not self.context.limits.has_tools

    # --- callbacks for its parts -----------------------------------------------------------------

    def _compaction_context(self) -> CompactionContext:
        task = task_of(self.context.transcript, self.context.args, self.runtime.config)
        return coordinator_belongings(task, self.board_service.board, self.context.files)

    def _opened_stage(self, opened: OpenCall) -> list[ProposedAction]:
        """Return the further actions of a call: the first node of a stage starts that stage."""
        call, board = opened.call, self.board_service.board
        if call.name not in OPENS_A_STAGE or board.open_stage is not None:
            return []
        named = call.arguments.get("stage_name") or call.arguments.get("stage")
        if isinstance(named, dict):
            named = named.get("name")
        shown = named if isinstance(named, str) else f"Stage {len(board.stages) + 1}"
        return [ProposedAction(tool=STAGE, subject=shown)]

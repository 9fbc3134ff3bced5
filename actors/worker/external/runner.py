"""ExternalAgentRunner: a node of an external agent: its starts, its failures, its result.

The next step follows from the conversation alone, so a restarted worker continues: an agent that
was running is gone by then (its process guard kills it), and its session is resumed if the agent
supports that. Otherwise it begins a new session, with its files and its `_checkpoint.md`.
"""

import asyncio
import json
import os
import shlex

from actors.entity.entity import Entity
from actors.worker.context import NodeLimitReached, WorkerContext
from actors.worker.evidence import outside_key
from actors.worker.external.launcher import AgentLauncher
from actors.worker.external.permission_requests import PermissionRequests
from actors.worker.external.process import until_gone
from actors.worker.external.session import AgentSession, AgentSessionResult
from actors.worker.external.team_bridge import TeamBridge
from actors.worker.limits import WorkerLimits
from actors.worker.worker_tools import WorkerTools
from agiraph.agent.external_agent import ExternalAgentState
from agiraph.agent.node_limits import refused_at_door
from agiraph.agent.records import (
    AnswerPublished,
    ExternalAgentEnded,
    ExternalAgentStarted,
    LimitReached,
)
from agiraph.board.commands import author_of
from agiraph.core.errors import InvalidInput, ModelFailure, Refused
from agiraph.core.ids import derived_id
from agiraph.core.models import Assignment
from agiraph.core.money import Shortage
from agiraph.core.results import RESULT_FILE, json_in
from agiraph.external.agent_prompts import summary_of
from agiraph.external.drivers import driver_for
from agiraph.external.exchange_files import NOT_PUBLISHED, RESULT, ExchangeFolder, failure_in
from agiraph.external.launching import environment_of
from agiraph.external.preflight import require_rules, warnings_about
from agiraph.external.preset import ExternalAgent, load_agents, meant_by
from agiraph.messages.llm_proxy import ProxyCostsSettled
from agiraph.storage.files import is_file, replace_file
from agiraph.tools.approvals.policy import ActingEntity
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.sandbox.input_news import report_input_news, reported_if_cancelled
from agiraph.tools.table import tool_names

PAUSE_SECONDS = 0.5
STOPPED = "it was stopped at a limit: its _result.md names any remaining work"
NO_RESULT = "it ended without a result: it wrote no _result.md, and no last message"
NO_FILES = "it ended without a result: it wrote no _result.md, and left no file"
PRINTED_CHARACTERS = 300
MARK = "AGIRAPH_RUN"


class ExternalAgentRunner:
    """Executes one node with an external agent."""

    def __init__(
        self,
        worker: WorkerContext,
        entity: Entity,
        worker_tools: WorkerTools,
        limits: WorkerLimits,
    ) -> None:
        self._worker = worker
        self._messenger = messenger = entity.messenger
        self._budget_approval = entity.budget_approval
        self._limits = limits
        self._tools = worker_tools
        self._assignment: Assignment = worker.assignment
        self._home = worker.node_home(self._assignment.node)
        self._exchange = ExchangeFolder(self._home.scratch)
        key = f"{self._assignment.node.id}.{self._assignment.attempt}"
        self._bridge = TeamBridge(worker, messenger, worker_tools, self._exchange, key)
        self._permissions = PermissionRequests(worker, entity.approval_for, key)
        self._agent = self._find_agent()
        worker.unpublished = (*NOT_PUBLISHED, *self._agent.preset.leaves)
        self._launcher = AgentLauncher(worker, self._assignment, self._agent, self._exchange)
        self._policy_file = ApprovalPolicyFile(worker.runtime.home.path, tool_names())

    async def run(self) -> None:
        """Work until the node is published. Raises NodeLimitReached if that is impossible."""
        await until_gone(self._worker.files.home.process_guard)
        await report_input_news(self._launcher.sandbox, self._worker.scope, self._worker.report)
        await self._permissions.withdraw_all()
        self._count_crash()
        try:
            while not self._worker.transcript.is_published:
                await self._next()
        finally:
            await self._permissions.withdraw_all()
            await self._launcher.close_proxy()

    def _count_crash(self) -> None:
        """Count the last start as failed if this worker's process crashed during it.

        The output of the agent may have caused the crash. A process that was killed from outside
        has not crashed.
        """
        worker, cause = self._worker, self._worker.runtime.attempts.last_end
        if self._state.is_running and cause:
            ended = ExternalAgentEnded(
                number=self._state.starts,
                problem=f"its worker's process has crashed: {cause}",
                has_spoken=True,  # its session is not lost
                ts=worker.now(),
            )
            worker.conversation.append(ended)
            self._report_ended(ended, None)

    @property
    def _state(self) -> ExternalAgentState:
        return self._worker.transcript.outside

    def _find_agent(self) -> ExternalAgent:
        worker = self._worker.args.worker
        command = worker.agent_command or ""
        try:
            presets = load_agents(self._worker.runtime.home.path)
            return meant_by(command, presets, dict(os.environ), author_of(worker.cause))
        except Refused as error:
            raise NodeLimitReached(str(error)) from None

    def _check_rules(self) -> None:
        """Report the rules that cannot be enforced for the agent, each once a run.

        Raises NodeLimitReached if such rules exist and the agent is not exempt from them.
        """
        worker, agent = self._worker, self._agent
        policy = self._policy_file.current()
        is_sandboxed = self._launcher.sandbox.is_up
        who = ActingEntity(worker.name, worker.args.worker.role, is_sandboxed=is_sandboxed)
        try:
            require_rules(agent, policy, who)
        except Refused as error:
            raise NodeLimitReached(str(error)) from None
        for text in warnings_about(agent, policy, who):
            about = {"agent": agent.name, "rules": agent.preset.rules, "text": text}
            worker.report("outside.warning", about, f"{worker.args.run}:{derived_id(text)}")

    async def _next(self) -> None:
        """Execute the next step: publish, give up, wait for an answer, or start the agent."""
        state = self._state
        if state.result is not None:
            await self._publish(state.result)
        elif (why := self._worker.transcript.progress.bound_why) and not state.is_running:
            has_more = state.problem not in ("", why)
            raise NodeLimitReached(f"{why}; {state.problem}" if has_more else why)
        elif state.failures >= self._agent.preset.attempts:
            times = f"{state.failures} times" if state.failures > 1 else "once"
            raise NodeLimitReached(f"{self._agent.name} failed {times}; at last: {state.problem}")
        elif state.goes_on and not state.undelivered:
            if self._worker.inbox.is_empty:
                await self._until_message()
            self._bridge.receive()
        else:
            if state.problem:
                await asyncio.sleep(PAUSE_SECONDS * state.failures)
            await self._worker.pause_switch.until_resumed()
            await self._start()

    async def _until_message(self) -> None:
        """Wait for a message to the agent. Raises NodeLimitReached if none can come."""
        if self._worker.transcript.mail.pending:
            await self._messenger.until_message()
            return
        outcome = await self._tools.wait(f"outside.{self._worker.transcript.place}", ())
        if not outcome.interrupted_by_message:
            raise NodeLimitReached(f"{self._agent.name} waits for a message. {outcome.note}")

    async def _start(self) -> None:
        """Start the agent once, and record its end."""
        worker = self._worker
        self._check_rules()
        self._bridge.receive(with_followups=self._state.starts == 0)
        launch = await self._launcher.prepare()
        command = await asyncio.to_thread(self._launcher.command, launch)
        mark = {MARK: str(worker.run_home.path)}
        environment = environment_of(launch, {**os.environ, "PATH": command.path}, mark)
        started = ExternalAgentStarted(
            number=self._state.starts + 1,
            agent=self._agent.name,
            session=launch.session,
            ts=worker.runtime.clock.now(),
        )
        worker.conversation.append(started)
        worker.shortage = worker.low = None
        session = AgentSession(
            worker,
            self._limits,
            launch,
            driver_for(launch),
            self._exchange,
            self._bridge,
            self._permissions,
        )
        sandbox = self._launcher.sandbox
        failure = f"{shlex.join(command.words[:1])} cannot be started"
        try:
            async with reported_if_cancelled(sandbox, worker.scope, worker.report):
                await session.start(command, environment, worker.files.home.process_guard)
                failure = f"{self._agent.name} was ended"
                ended = await session.run()
        except (OSError, ValueError) as error:
            raise NodeLimitReached(f"{failure}: {error}") from None
        await self._permissions.withdraw_all()
        await report_input_news(sandbox, worker.scope, worker.report)
        self._record_end(ended, await self._launcher.settle_costs())
        if ended.is_final:
            raise NodeLimitReached(f"{self._agent.name} was ended: {ended.problem}")
        await self._ask_for_budget()

    async def _ask_for_budget(self) -> None:
        """Ask the human if the agent failed for lack of money. Raises ModelFailure if refused.

        A worker that is killed meanwhile starts its agent again: the start is refused as before,
        costs nothing, and leads to the same question, which may be answered by then.
        """
        shortage, is_over = (
            self._worker.shortage,
            self._worker.transcript.progress.bound is not None,
        )
        if shortage is None or is_over or not self._state.problem:
            return
        if not await self._budget_approval.has_raised(shortage):
            raise ModelFailure("out_of_budget", shortage.in_words())

    # --- the end of a start ----------------------------------------------------------------------

    def _record_end(self, ended: AgentSessionResult, metered: ProxyCostsSettled | None) -> None:
        """Record and report the end of a start; a start without money does not count as failed."""
        worker, shortage = self._worker, self._worker.shortage
        now = worker.runtime.clock.now()
        limit = _limit_of(shortage, now)
        result, problem, goes_on = self._judge(ended, limit)
        record = ExternalAgentEnded(
            number=self._state.starts,
            problem="" if result else problem,
            result=result,
            goes_on=goes_on,
            told=ended.received,
            has_spoken=ended.has_spoken,
            usage=metered.usage if metered else ended.usage,
            is_excused=shortage is not None,
            ts=now,
        )
        worker.conversation.append(*([limit] if limit else []), record)
        self._report_ended(record, metered)

    def _report_ended(self, record: ExternalAgentEnded, metered: ProxyCostsSettled | None) -> None:
        about = {"agent": self._agent.name, "number": record.number, "problem": record.problem}
        about |= {"goes_on": record.goes_on, "account": "door" if metered else "own"}
        about |= {"calls": metered.calls if metered else None, **record.usage.model_dump()}
        self._worker.report("outside.ended", about, self._state.began_at)

    def _judge(
        self, ended: AgentSessionResult, limit: LimitReached | None
    ) -> tuple[str | None, str, bool]:
        """Return (result or None, problem or '', whether messages let the agent continue)."""
        result = self._exchange.text(RESULT) or None
        can_resume = bool(self._agent.preset.resume)
        if ended.is_final:
            return None, ended.problem, False  # in any case: its other actions are unknown
        if limit is not None:  # there is no other turn: its results count
            if not (result or ended.problem or ended.was_interrupted):
                result, _ = self._last_message(ended.last_message)
            return result, limit.why, False
        if ended.was_interrupted:
            return None, ended.problem, True
        if can_resume and self._state.session and self._state.needs_delivery(ended.received):
            return None, "", True
        if result or ended.problem:
            return result, ended.problem, False
        if can_resume and self._worker.transcript.mail.pending:
            return None, "", True  # it waits for an answer
        result, problem = self._last_message(ended.last_message)
        return result, problem, False

    def _last_message(self, text: str) -> tuple[str | None, str]:
        """Return (the last message as the result, ''), otherwise (None, the problem).

        The last output of an agent that prints a log is a result only if the agent has left files
        too.
        """
        preset, text = self._agent.preset, text.strip()
        if preset.stdout == "word":
            return text or None, "" if text else NO_RESULT
        if text and self._exchange.has_work(preset.leaves):
            return text, ""
        printed = f"; it printed: {text[-PRINTED_CHARACTERS:]}" if text else ""
        return None, NO_FILES + printed

    async def _publish(self, result: str) -> None:
        """Publish the agent's files and result. If that is refused, the start counts as failed."""
        if reason := failure_in(result):
            raise NodeLimitReached(f"{self._agent.name} says that it could not do it: {reason}")
        written = self._exchange.text(RESULT) or ExchangeFolder(self._home.published).text(RESULT)
        if written != result:
            self._exchange.write(RESULT, f"{result}\n")
        self._write_result(result)
        self._exchange.move_beside(self._home.path)
        now = self._worker.runtime.clock.now
        try:
            summary = summary_of(result, self._state.lost_at)
            key = outside_key(self._assignment, self._state.began_at)
            missing = STOPPED if self._worker.transcript.progress.bound is not None else ""
            await self._tools.publish(key, summary, missing, "", self._agent.preset.leaves)
        except Refused as error:
            self._exchange.move_back(self._home.path)
            problem = f"its files were refused: {error}"
            number = self._state.starts
            refused = ExternalAgentEnded(number=number, problem=problem, ts=now())
            self._worker.conversation.append(refused)
            return
        self._worker.conversation.append(AnswerPublished(summary=summary, ts=now()))

    def _write_result(self, said: str) -> None:
        """Write the node's `result.json` from the agent's text, if the agent left none."""
        schema, path = self._assignment.node.output_schema, self._home.scratch / RESULT_FILE
        if schema is None or is_file(path) or is_file(self._home.published / RESULT_FILE):
            return
        try:
            value = json_in(said, schema)
        except InvalidInput:
            return  # publishing reports the missing file
        replace_file(path, f"{json.dumps(value, ensure_ascii=False)}\n")


def _limit_of(shortage: Shortage | None, now: float) -> LimitReached | None:
    """Return the record of a node's limit that calls have reached, None for another shortage."""
    if shortage is None or shortage.budget.scope != "node":
        return None
    return refused_at_door(shortage, now)

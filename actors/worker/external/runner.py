"""ExternalAgentRunner: a node done by an outside agent: its starts, its failures, its result.

What comes next follows from the conversation alone, so a worker that was killed goes on: an agent
that was running is gone by then (its warden sees to that), and its conversation is taken up again
where the agent can do that. Else it begins anew, with its files and its own `_checkpoint.md`.
"""

import asyncio
import os
import shlex
from pathlib import Path

from actors.entity.entity import Entity
from actors.worker.context import NodeLimitReached, WorkerContext
from actors.worker.evidence import outside_key
from actors.worker.external.llm_proxy import close_door, open_door, settle_door
from actors.worker.external.permission_requests import PermissionRequests
from actors.worker.external.process import until_gone
from actors.worker.external.session import AgentSession, AgentSessionResult
from actors.worker.external.team_bridge import TeamBridge
from actors.worker.limits import WorkerLimits
from actors.worker.reflection import known_before
from actors.worker.worker_tools import WorkerTools
from agiraph.agent.external_agent import ExternalAgentState
from agiraph.agent.node_limits import refused_at_door
from agiraph.agent.records import AnswerPublished, ExternalAgentEnded, ExternalAgentStarted
from agiraph.core.errors import ModelFailure, Refused
from agiraph.core.ids import derived_id
from agiraph.core.models import Assignment
from agiraph.core.money import Shortage
from agiraph.core.turns import Usage
from agiraph.external.agent_prompts import (
    context_of,
    headline,
    prompt_again,
    prompt_for,
    task_in_words,
)
from agiraph.external.drivers import driver_for
from agiraph.external.exchange_files import (
    CHECKPOINT,
    LAID_BESIDE,
    RESULT,
    TASK,
    ExchangeFolder,
    failure_in,
)
from agiraph.external.holding import warnings_about
from agiraph.external.launching import (
    TEMPORARY,
    AgentLaunch,
    ProxyEndpoint,
    argv_of,
    environment_of,
    files_of,
    shown_of,
    writable_of,
)
from agiraph.external.preset import ExternalAgent, load_agents, meant_by
from agiraph.external.trial import require_shut_in
from agiraph.messages import ProxyCostsSettled
from agiraph.storage.files import (
    UnsafeFile,
    entries,
    is_folder,
    make_folder,
    remove_tree,
    replace_file,
)
from agiraph.tools.approvals.policy import ActingEntity
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.sandbox.sandbox import standing_wall
from agiraph.tools.table import tool_names

PAUSE_SECONDS = 0.5
DIED_WITH_US = "your worker's process was ended"
STOPPED = "it was stopped at a bound: what is left to do, if anything, stands in its _result.md"
NO_RESULT = "it ended without a result: it wrote no _result.md, and said no last word"
NO_FILES = "it ended without a result: it wrote no _result.md, and left no file"
PRINTED_CHARACTERS = 300
MARK = "AGIRAPH_RUN"


class ExternalAgentRunner:
    """One node in the hands of an outside agent."""

    def __init__(
        self,
        worker: WorkerContext,
        entity: Entity,
        worker_tools: WorkerTools,
        limits: WorkerLimits,
    ) -> None:
        """Work for `worker` on the node that it holds."""
        self._worker = worker
        self._messenger = messenger = entity.messenger
        self._budget_approval = entity.budget_approval
        self._limits = limits
        self._tools = worker_tools
        self._assignment: Assignment = worker.assignment
        self._home = worker.node_home(self._assignment.node)
        self._exchange = ExchangeFolder(self._home.scratch)
        self._bridge = TeamBridge(worker, messenger, worker_tools, self._exchange, self._assignment)
        key = f"{self._assignment.node.id}.{self._assignment.attempt}"
        self._permissions = PermissionRequests(worker, entity.approval_for, key)
        self._agent = self._known_agent()
        worker.unpublished = (*LAID_BESIDE, *self._agent.preset.leaves)
        self._wall = standing_wall(worker.runtime.config.sandbox)
        self._door: ProxyEndpoint | None = None

    async def run(self) -> None:
        """Go on until the node is published. Raises NodeLimitReached with the reason if it cannot
        be."""
        await until_gone(self._worker.files.home.warden)
        await self._permissions.withdraw_all()
        self._tell_what_holds_it()
        try:
            while not self._worker.transcript.is_published:
                await self._next()
        finally:
            await self._permissions.withdraw_all()
            if self._door is not None:
                await close_door(self._worker, self._door)

    @property
    def _outside(self) -> ExternalAgentState:
        return self._worker.transcript.outside

    def _tell_what_holds_it(self) -> None:
        """Report, before it first starts, which rules do not hold it; once each for a run."""
        worker, agent = self._worker, self._agent
        policy = ApprovalPolicyFile(worker.runtime.home.path, tool_names()).current()
        who = ActingEntity(worker.name, worker.args.worker.role, is_sandboxed=self._wall.is_up)
        for text in warnings_about(agent, policy, who):
            about = {"agent": agent.name, "rules": agent.preset.rules, "text": text}
            worker.report("outside.warning", about, f"{worker.args.run}:{derived_id(text)}")

    async def _next(self) -> None:
        """Do what follows: publish, give up, wait for an answer, or start the agent."""
        outside = self._outside
        if outside.result is not None:
            await self._publish(outside.result)
        elif (why := self._worker.transcript.bound_why) and not outside.is_running:
            raise NodeLimitReached(
                why if outside.problem in ("", why) else f"{why}; {outside.problem}"
            )
        elif outside.failures >= self._agent.preset.attempts:
            times = f"{outside.failures} times" if outside.failures > 1 else "once"
            raise NodeLimitReached(f"{self._agent.name} failed {times}; at last: {outside.problem}")
        elif outside.goes_on and not outside.untold:
            if self._worker.inbox.is_empty:
                await self._messenger.until_message()
            self._bridge.take_in()
        else:
            if outside.problem:
                await asyncio.sleep(PAUSE_SECONDS * outside.failures)
            await self._worker.pause_switch.until_resumed()
            await self._start()

    # --- one start -------------------------------------------------------------------------------

    async def _start(self) -> None:
        self._bridge.take_in(with_followups=self._outside.starts == 0)
        job = await self._job()
        try:
            environ = dict(os.environ)
            await asyncio.to_thread(require_shut_in, job.agent, self._wall, environ)
            for path, text in files_of(job).items():
                replace_file(path, text)
            command, driver = self._walled(argv_of(job), job), driver_for(job)
        except (Refused, UnsafeFile) as error:
            raise NodeLimitReached(str(error)) from None
        session = job.session if job.takes_up else ""
        now = self._worker.runtime.clock.now
        number = self._outside.starts + 1
        began = ExternalAgentStarted(number=number, agent=job.agent.name, session=session, ts=now())
        self._worker.conversation.append(began)
        mark = {MARK: str(self._worker.run_home.path)}
        environment = environment_of(job, environ, mark)
        self._worker.shortage = self._worker.low = None
        sitting = AgentSession(
            self._worker,
            self._limits,
            job,
            driver,
            self._exchange,
            self._bridge,
            self._permissions,
        )
        try:
            ending = await sitting.run(command, environment, self._worker.files.home.warden)
        except (OSError, ValueError) as error:
            raise NodeLimitReached(
                f"{shlex.join(command[:1])} cannot be started: {error}"
            ) from None
        await self._permissions.withdraw_all()
        metered = await self._metered()
        shortage = self._worker.shortage
        self._record(number, ending, metered, shortage)
        if ending.is_final:
            raise NodeLimitReached(f"{self._agent.name} was ended: {ending.problem}")
        is_over = self._worker.transcript.bound is not None
        if shortage is not None and self._outside.problem and not is_over:
            await self._ask_for_more(shortage)

    async def _metered(self) -> ProxyCostsSettled | None:
        """Return what this start has used at the door, which is closed then; None without one."""
        door, self._door = self._door, None
        return await settle_door(self._worker, door) if door is not None else None

    async def _ask_for_more(self, shortage: Shortage) -> None:
        """Ask the human for money; ModelFailure if there is no more.

        A worker that is killed meanwhile starts its agent again, which is refused as before and
        costs nothing, and asks the same question: it finds the answer.
        """
        if not await self._budget_approval.has_raised(shortage):
            raise ModelFailure("out_of_budget", shortage.told())

    async def _job(self) -> AgentLaunch:
        """Return what the agent is started with now, and put its files in order."""
        outside, agent, home = self._outside, self._agent, self._worker.files.home
        task = self._write_files()
        takes_up = bool(outside.session and agent.preset.resume)
        if agent.preset.account == "door" and agent.preset.wire != "none":
            self._door = await self._opened_door()
        for folder in (home.outside, *(home.outside / name for name in agent.preset.folders)):
            make_folder(folder, 0o700)
        remove_tree(home.outside / TEMPORARY)
        make_folder(home.outside / TEMPORARY, 0o700)
        prompt = prompt_for(task)
        if outside.starts or outside.untold:
            prompt = self._prompt_again("" if takes_up else task)
        model = self._worker.args.worker.model or self._worker.args.model
        return AgentLaunch(
            agent=agent,
            prompt=prompt,
            folder=self._home.scratch,
            home=home.outside,
            model=model.removeprefix("text:").partition("/")[2] if self._door else "",
            session=outside.session if takes_up else "",
            anew=self._prompt_again(task),
            door=self._door,
            is_walled=self._wall.is_up,
            readable=self._readable(),
            spent=outside.usage if takes_up else Usage(),
            handed_over=self._handed_over(),
        )

    def _prompt_again(self, task: str) -> str:
        return prompt_again(
            task,
            why=self._why_again(),
            messages=self._outside.untold,
            checkpoint=bool(self._exchange.text(CHECKPOINT)),
        )

    def _walled(self, command: list[str], job: AgentLaunch) -> list[str]:
        """Return the command as it runs behind the wall; as it is where none stands."""
        path = os.environ.get("PATH", os.defpath)
        return self._wall.around(
            command,
            self._worker.scope,
            path=path,
            writable=writable_of(job),
            readable=shown_of(job.agent, path),
            has_network=True if job.door else None,
            cwd=job.folder,
        )

    def _readable(self) -> tuple[Path, ...]:
        """Return the folders beyond its own that it may read: the input, what was published."""
        given = self._worker.args.input_dir
        nodes = self._worker.run_home.nodes
        published = (nodes / one.name / "published" for one in entries(nodes))
        return (*([Path(given)] if given else []), *filter(is_folder, published))

    def _handed_over(self) -> tuple[str, ...]:
        """Return the same as patterns, which match what is published later, too."""
        given = self._worker.args.input_dir
        return (*([given] if given else []), f"{self._worker.run_home.nodes}/*/published")

    def _why_again(self) -> str:
        if self._outside.is_running:
            return DIED_WITH_US
        return self._outside.problem

    async def _opened_door(self) -> ProxyEndpoint:
        try:
            return await open_door(self._worker, self._assignment)
        except Refused as error:
            raise NodeLimitReached(f"{self._agent.name} can ask no model: {error}") from None

    def _write_files(self) -> str:
        """Write what the agent reads; return its task."""
        worker, assignment = self._worker, self._assignment
        run, args = worker.run_home.path, worker.args
        if self._outside.starts == 0:
            self._exchange.begin()
        task = task_in_words(
            assignment,
            args.worker,
            run=run,
            known=known_before(worker.files.home, worker.runtime.config.memory.worker_limit),
            input_dir=args.input_dir,
        )
        self._exchange.write(TASK, f"{task}\n")
        about = context_of(
            assignment, args.worker, run=run, agent=args.agent_name, input_dir=args.input_dir
        )
        self._exchange.write_context(about)
        self._bridge.show_inbox()
        return task

    # --- its end ---------------------------------------------------------------------------------

    def _record(
        self,
        number: int,
        ending: AgentSessionResult,
        metered: ProxyCostsSettled | None,
        shortage: Shortage | None,
    ) -> None:
        """Judge how it ended, and write that down; one without money is excused for failing.

        At a bound of its node it has no other turn: what it has for a result counts.
        """
        now = self._worker.runtime.clock.now()
        result = self._exchange.text(RESULT) or None
        problem, goes_on = ending.problem, False
        told = ending.told
        is_bound = shortage is not None and shortage.budget.scope == "node"
        bound = refused_at_door(shortage, now) if shortage is not None and is_bound else None
        if ending.is_final:
            result = None  # whatever it wrote: nobody knows what else it has done
        elif bound is not None:
            problem = bound.why
            if not (result or ending.problem or ending.was_interrupted):
                result, _ = self._last_word(ending.word.strip())  # it ended though refused a call
        elif ending.was_interrupted:
            result, goes_on = None, True
        elif self._has_more_to_hear(told):
            result, goes_on, problem = None, True, ""
        elif result is None and not problem:
            if self._worker.transcript.pending and self._agent.preset.resume:
                goes_on = True
            else:
                result, problem = self._last_word(ending.word.strip())
        ended = ExternalAgentEnded(
            number=number,
            problem="" if result else problem,
            result=result,
            goes_on=goes_on,
            told=told,
            has_spoken=ending.has_spoken,
            usage=metered.usage if metered else ending.usage,
            is_excused=shortage is not None,
            ts=now,
        )
        self._worker.conversation.append(*([bound] if bound else []), ended)
        about = {"agent": self._agent.name, "number": number, "problem": ended.problem}
        about |= {"goes_on": goes_on, "account": "door" if metered else "own"}
        about |= {"calls": metered.calls if metered else None, **ended.usage.model_dump()}
        self._worker.report("outside.ended", about, self._outside.began_at)

    def _has_more_to_hear(self, told: int) -> bool:
        """Whether messages came that it has not seen, and it can be told them."""
        outside = self._outside
        can_hear = bool(outside.session and self._agent.preset.resume)
        return can_hear and outside.owes(told)

    def _last_word(self, word: str) -> tuple[str | None, str]:
        """Return its last word as the result that it did not write; else None and what is missing.

        Of an agent that prints a log, that is one only beside files that it has left.
        """
        preset = self._agent.preset
        if preset.stdout == "word":
            return word or None, "" if word else NO_RESULT
        if word and self._exchange.has_work(preset.leaves):
            return word, ""
        printed = f"; it printed: {word[-PRINTED_CHARACTERS:]}" if word else ""
        return None, NO_FILES + printed

    async def _publish(self, result: str) -> None:
        """Publish what it has left. A result that is refused is told to it, as any failure."""
        if reason := failure_in(result):
            raise NodeLimitReached(f"{self._agent.name} says that it could not do it: {reason}")
        stands = self._exchange.text(RESULT) or ExchangeFolder(self._home.published).text(RESULT)
        if stands != result:
            self._exchange.write(RESULT, f"{result}\n")
        self._exchange.lay_beside(self._home.path)
        now = self._worker.runtime.clock.now
        try:
            summary = headline(result, self._outside.lost_at)
            key = outside_key(self._assignment, self._outside.began_at)
            missing = STOPPED if self._worker.transcript.bound is not None else ""
            await self._tools.publish(key, summary, missing, "", self._agent.preset.leaves)
        except Refused as error:
            self._exchange.take_back(self._home.path)
            problem = f"what it left was refused: {error}"
            number = self._outside.starts
            refused = ExternalAgentEnded(number=number, problem=problem, ts=now())
            self._worker.conversation.append(refused)
            return
        self._worker.conversation.append(AnswerPublished(summary=summary, ts=now()))

    def _known_agent(self) -> ExternalAgent:
        command = self._worker.args.worker.agent_command or ""
        try:
            presets = load_agents(self._worker.runtime.home.path)
            return meant_by(command, presets, dict(os.environ))
        except Refused as error:
            raise NodeLimitReached(str(error)) from None

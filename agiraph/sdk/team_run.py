"""TeamRun: one task on a supervisor: begin the run, follow its events, collect the result."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import ValidationError

from agiraph.board.failure_class import failure_class, suspended_by
from agiraph.core.errors import AgiraphError, InvalidInput
from agiraph.core.ids import AgentId, RunId, agent_id_for, new_run_id
from agiraph.core.models import ENDED_AGENT, ServiceOutage
from agiraph.core.record import misfit_in_words
from agiraph.core.titles import title_of
from agiraph.core.turns import Usage
from agiraph.http.api.agents import AgentView, CreateAgentRequest
from agiraph.http.api.work import BoardView, EventView
from agiraph.http.client.sync import Client
from agiraph.http.errors import ApiError, NotReachable
from agiraph.readmodel.thread import Thread
from agiraph.sdk.errors import DeadlockError, RunFailed, RunTimeout
from agiraph.sdk.events import DeadlockNoticed, RunEnd, RunEvent, RunStart, told
from agiraph.sdk.result import NodeFailure, Result, RunLog
from agiraph.sdk.task import Task
from agiraph.storage.file_names import found_below
from agiraph.storage.home import Home
from agiraph.storage.run_lease import RunLease
from agiraph.storage.supervisor_note import belongs_to_users

POLL_SECONDS: Final = 0.2
REFRESH_SECONDS: Final = 1.0
RECORD_SECONDS: Final = 3.0
UNPROCESSABLE: Final = 422
ENDINGS: Final = {f"agent.{status}": status for status in ENDED_AGENT}
Out = TypeVar("Out")


class RunCancelled(AgiraphError):
    """The caller stopped following the run; the team was stopped."""


class TeamRun(Generic[Out]):
    """One run of `task` in a home on which a supervisor runs. To be used once, in one thread.

    `terms` are further fields of the request that creates the agent. `is_cancelled` is called
    several times a second; `timeout` (seconds) applies if the task has none.
    """

    def __init__(
        self,
        home: Path,
        task: Task[Out],
        terms: Mapping[str, Any],
        is_cancelled: Callable[[], bool] = lambda: False,
        timeout: float | None = None,
    ) -> None:
        self._home = home
        self._task = task
        self._is_cancelled = is_cancelled
        self._timeout = timeout if task.timeout is None else task.timeout
        self._run = new_run_id(time.time())
        self._request = _request(task, terms, self._run)
        self._log: list[EventView] = []
        self._thread = Thread()
        self._cycle: DeadlockNoticed | None = None
        self._ended_as = ""
        self._is_suspended = False

    def check(self) -> None:
        """Raise RunCancelled if the caller that follows the run has left it."""
        if self._is_cancelled():
            raise RunCancelled("the run was left by its caller and is stopped")

    def events(self, servers: tuple[str, ...] = ()) -> Iterator[RunEvent]:
        """Yield the run's events, RunEnd last; any exit from this generator ends the team's work.

        `servers` are further servers of tools that all its entities have.

        Raises InvalidInput for an invalid request, RunTimeout, DeadlockError, RunCancelled,
        NotReachable, ApiError, OutputInvalid.
        """
        agent_id = agent_id_for(self._task.name or title_of(self._task.prompt), self._run)
        lease = RunLease(self._home, agent_id)
        lease.begin()
        with Client.for_home(self._home) as client:
            try:
                named = (*self._request.mcp_servers, *servers)
                request = self._request.model_copy(update={"mcp_servers": named})
                agent = _created(client, request)
                yield RunStart(agent_id=agent.id, agent_name=agent.name, run_id=self._run)
                yield from self._follow(client, agent.id)
                agent = self._ended(client, agent.id)
                result = self._result(client, agent)
                yield RunEnd(status=agent.status, reason=self._reason(agent), result=result)
            except BaseException as error:
                self._stop(agent_id)
                lease.detach()
                if isinstance(error, RunFailed) and error.result is None:
                    raise self._given_up(client, agent_id, error) from None
                raise
        if belongs_to_users(self._home):
            self._stop(agent_id)
        lease.detach()

    def failure(self, end: RunEnd) -> RunFailed:
        """Return the error of a run that did not reach its goal."""
        reason = end.reason or "no reason was given"
        if self._cycle is not None and failure_class(reason) == DeadlockError.failure_class:
            return DeadlockError(self._cycle.cycle, self._cycle.text, end.result)
        failed = RunFailed(f"the run {end.status}: {reason}", end.result)
        failed.failure_class = failure_class(reason)
        return failed

    def _given_up(self, client: Client, agent_id: AgentId, error: RunFailed) -> RunFailed:
        """Return `error` with the partial results of a run that was stopped."""
        with suppress(AgiraphError):
            error.result = self._result(client, client.agent(agent_id))
        return error

    def _follow(self, client: Client, agent: AgentId) -> Iterator[RunEvent]:
        """Yield the run's events until it has ended. Raises RunTimeout, RunFailed."""
        limit = self._timeout
        give_up_at = None if limit is None else time.monotonic() + limit
        look_at = time.monotonic() + REFRESH_SECONDS
        with client.follow_events(agent) as follower:
            while not self._ended_as:
                event = follower.next(POLL_SECONDS)
                if event is not None:
                    yield from self._see(event)
                self.check()
                now = time.monotonic()
                if give_up_at is not None and now >= give_up_at:
                    raise RunTimeout(f"not finished within {limit:g} seconds")
                if event is None and now >= look_at:
                    look_at = now + REFRESH_SECONDS
                    self._look(client, agent)
            # The agent's record may have the end before all events have arrived.
            while not self._has_told_end and (event := follower.next(REFRESH_SECONDS)) is not None:
                yield from self._see(event)

    @property
    def _has_told_end(self) -> bool:
        return bool(self._log) and self._log[-1].type in ENDINGS

    def _see(self, event: EventView) -> Iterator[RunEvent]:
        if event.run_id not in (None, self._run):
            return
        self._log.append(event)
        if event.type == "agent.reopened":
            self._ended_as = ""
        self._ended_as = ENDINGS.get(event.type, self._ended_as)
        told_before = self._thread.entries.get(str(event.data.get("id")))
        self._thread.add(event)
        if told_before is not None and told_before.kind == "said":
            return  # the text is this message, and was yielded when the model wrote it
        shown = told(event, self._answer)
        if isinstance(shown, DeadlockNoticed):
            self._cycle = shown
        if shown is not None:
            yield shown

    def _look(self, client: Client, agent: AgentId) -> None:
        """Read the status from the agent's record, which may be newer than the events.

        Raises RunFailed for a run that a failed service suspends.
        """
        with suppress(NotReachable):
            found = client.agent(agent)
            if found.status in ENDED_AGENT:
                self._ended_as = found.status
            elif found.outage is not None and found.outage.is_lasting:
                self._is_suspended = True
                raise _suspended(found.outage)

    def _ended(self, client: Client, agent: AgentId) -> AgentView:
        """Return the agent in its final state; its record may arrive a moment after the event."""
        give_up_at = time.monotonic() + RECORD_SECONDS
        while (found := client.agent(agent)).status not in ENDED_AGENT:
            if time.monotonic() >= give_up_at:
                return found.model_copy(update={"status": self._ended_as})
            time.sleep(POLL_SECONDS / 4)
        return found

    def _result(self, client: Client, agent: AgentView) -> Result[Any]:
        """Return the result of the run; its output is None if it did not reach its goal."""
        board = client.board(agent.id, run=self._run)
        text = self._answer_text(client, agent)
        usage = Usage()
        if not self._is_suspended:  # the broker itself may be the failed service
            with suppress(ApiError, NotReachable):
                usage = client.usage(agent=agent.id, run=self._run).total
        result: Result[Any] = Result(
            output=None,
            text=text,
            status=agent.status,
            agent_id=agent.id,
            run_id=self._run,
            logs=RunLog(self._log),
            usage=usage,
            files=self._files(agent.id, board),
            board=board,
            failures=_failures(client, agent.id, board),
            incomplete=agent.incomplete,
        )
        if agent.status != "completed":
            return result
        return _with_output(result, self._task.read(text, result))

    def _answer_text(self, client: Client, agent: AgentView) -> str:
        with suppress(ApiError):
            found = client.raw_file(agent.id, "_output.md", run=self._run)
            if found is not None:
                return found.content.decode("utf-8", "replace").rstrip("\n")
        return agent.result or ""

    def _files(self, agent: AgentId, board: BoardView) -> dict[str, Path]:
        nodes = Home(self._home).agent(agent).run(RunId(self._run)).path / "nodes"
        return {
            f"{node.name}/{name}": found_below(nodes / node.name / "published", name)
            for node in board.nodes
            for name in node.published
        }

    def _reason(self, agent: AgentView) -> str:
        told_last = (e.data.get("reason") for e in reversed(self._log) if e.type in ENDINGS)
        return agent.reason or str(next(told_last, "") or "")

    def _answer(self, question: str, text: str) -> None:
        with Client.for_home(self._home) as client:  # possibly in another thread than ours
            client.answer(question, text)

    def _stop(self, agent: AgentId) -> None:
        """Stop the team; errors are ignored, for example if the team no longer exists."""
        with suppress(AgiraphError), Client.for_home(self._home) as client:
            client.stop(agent)


def _created(client: Client, request: CreateAgentRequest) -> AgentView:
    """Create the agent of a run and return it. Raises InvalidInput for a refused request."""
    try:
        return client.create_agent(request)
    except ApiError as error:
        if error.status == UNPROCESSABLE:
            raise InvalidInput(error.detail) from None
        raise


def _request(task: Task[Any], terms: Mapping[str, Any], run: RunId) -> CreateAgentRequest:
    given = {
        **terms,
        **task.terms,
        "goal": task.prompt,
        "name": task.name,
        "input": None if task.input is None else str(task.input),
        "plan": task.plan,
        "output_schema": task.schema,
        "run": run,
    }
    if task.plan is not None:
        given |= {"planning": None, "approve_plan": None}
    if task.model is not None:
        given["model"] = task.model
    if task.budget != (None, None):
        given |= {"budget_usd": task.budget.usd, "budget_tokens": task.budget.tokens}
    if task.input is not None and not task.input.is_dir():
        raise InvalidInput(f"the input {task.input} is no folder")
    try:
        return CreateAgentRequest.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        wrong = error.errors()[0]
        field, why = wrong["loc"][0], misfit_in_words(wrong)
        raise InvalidInput(f"{field}: {why} (got {wrong['input']!r:.80})") from None


def _failures(client: Client, agent: AgentId, board: BoardView) -> tuple[NodeFailure, ...]:
    details = [client.node(agent, n.id, run=board.run) for n in board.nodes if n.status == "failed"]
    return tuple(
        NodeFailure(node.name, node.reason or "", node.details, node.attempt) for node in details
    )


def _with_output(result: Result[Any], output: Out) -> Result[Out]:
    return replace(result, output=output)


def _suspended(outage: ServiceOutage) -> RunFailed:
    """Return the error of a run that is stopped because a service cannot be kept running."""
    failed = RunFailed(suspended_by(outage))
    failed.failure_class = failure_class(str(failed))
    return failed

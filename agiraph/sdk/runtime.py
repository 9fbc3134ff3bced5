"""Runtime: runs tasks from a script, a notebook, or inside an event loop."""

import asyncio
import inspect
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack, aclosing, closing
from pathlib import Path
from typing import Any, TypedDict, TypeVar, get_args
from weakref import finalize, ref

from agiraph.core.errors import InvalidInput
from agiraph.core.specs import PlanningMode
from agiraph.mcp.grants import granted_to_all
from agiraph.mcp.registered import with_registered
from agiraph.sdk.events import QuestionAsked, RunEnd, RunEvent
from agiraph.sdk.functions import check_tools, served
from agiraph.sdk.result import Result
from agiraph.sdk.supervision import supervised
from agiraph.sdk.task import Task, limit_of, seconds_of
from agiraph.sdk.team_run import TeamRun
from agiraph.settings.config import load_config
from agiraph.storage.files import is_file
from agiraph.storage.home import Home, home_at
from agiraph.storage.project_file import chosen_home

OnQuestion = Callable[[QuestionAsked], str | Awaitable[str | None] | None]
Out = TypeVar("Out")


class RuntimeOptions(TypedDict, total=False):
    """The arguments of `Runtime` besides its model, for functions that create a runtime."""

    planning_mode: PlanningMode | None
    mcp_servers: Sequence[str]
    worker_model: str | None
    home: str | os.PathLike[str] | None
    budget: float | str | None
    timeout: float | None
    on_question: OnQuestion | None
    tools: Sequence[Callable[..., Any]]
    approve_plan: bool


class Runtime:
    """Runs tasks, with its models, its budget, and the home in which its teams work.

    `model_provider` is provider/model, `planning_mode` says when nodes are planned ("dynamic":
    during the run, "static": all before the first step, "hybrid": a skeleton before it); the
    settings are the default of both. With `approve_plan` a plan is a question first. `home` is a
    folder, by default the home of the command line. If a supervisor runs on it, that supervisor is
    used, else one is started for each run; `with Runtime(...)` (or `async with`) keeps it over
    several runs. `budget` (US dollars, or a text such as "500k-tokens") and `timeout` (seconds)
    apply to each run. `tools` are functions marked with `@agiraph.tool`, which all entities of its
    runs may call. `on_question` gets each question of a team and returns the answer, or None to
    leave it to the other channels; in the asynchronous calls it may be a coroutine. Raises
    InvalidInput for invalid arguments.
    """

    def __init__(
        self,
        model_provider: str | None = None,
        planning_mode: PlanningMode | None = None,
        mcp_servers: Sequence[str] = (),
        *,
        worker_model: str | None = None,
        home: str | os.PathLike[str] | None = None,
        budget: float | str | None = None,
        timeout: float | None = None,
        on_question: OnQuestion | None = None,
        tools: Sequence[Callable[..., Any]] = (),
        approve_plan: bool = False,
    ) -> None:
        if planning_mode not in (None, *get_args(PlanningMode)):
            possible = ", ".join(get_args(PlanningMode))
            raise InvalidInput(f"unknown planning_mode '{planning_mode}' (possible: {possible})")
        if isinstance(mcp_servers, str):
            raise InvalidInput(f"mcp_servers are a list of names, not the text '{mcp_servers}'")
        if on_question is not None and not callable(on_question):
            raise InvalidInput(f"on_question is called with each question, not {on_question!r:.80}")
        self.home: Path = home_at(home) if home is not None else chosen_home()
        if mcp_servers:
            _check_servers(self.home, mcp_servers)
        self._timeout = seconds_of(timeout)
        self._on_question = on_question
        self._tools = check_tools(tools)
        self._kept = ExitStack()
        limit = limit_of(budget)
        self._terms: dict[str, Any] = {
            "model": model_provider,
            "worker_model": worker_model,
            "budget_usd": limit.usd,
            "budget_tokens": limit.tokens,
            "mcp_servers": tuple(mcp_servers),
            "planning": planning_mode,
            "approve_plan": approve_plan,
        }

    def run(self, task: Task[Out]) -> Result[Out]:
        """Run a task and return its result.

        Raises RunFailed (RunTimeout, DeadlockError, OutputInvalid), NotReachable, ApiError,
        SupervisorFailed. Ctrl-C and every other exception stop the team.
        """
        run = self._begin(task)
        with closing(self._stream(run)) as stream:
            for event in stream:
                if isinstance(event, RunEnd):
                    return _result_of(run, event)
        raise AssertionError("a stream ends with RunEnd")

    def run_stream(self, task: Task[Any]) -> Generator[RunEvent, None, None]:
        """Run a task and yield its events, `RunEnd` last; closing the stream stops the team."""
        stream = self._stream(self._begin(task))
        # A half-read stream can no longer be closed when the program has ended.
        finalize(stream, _close, ref(stream))
        return stream

    async def arun(self, task: Task[Out]) -> Result[Out]:
        """Run a task from an event loop, return the result; a cancellation stops the team.

        Raises as `run`.
        """
        left = threading.Event()
        run = self._begin(task, left)
        async with aclosing(self._astream(run, left)) as stream:
            async for event in stream:
                if isinstance(event, RunEnd):
                    return _result_of(run, event)
        raise AssertionError("a stream ends with RunEnd")

    async def arun_stream(self, task: Task[Any]) -> AsyncGenerator[RunEvent, None]:
        """Run a task and yield its events, as `run_stream`, in an event loop."""
        left = threading.Event()
        async with aclosing(self._astream(self._begin(task, left), left)) as stream:
            async for event in stream:
                yield event

    def _begin(self, task: Task[Out], left: threading.Event | None = None) -> TeamRun[Out]:
        if not isinstance(task, Task):
            raise InvalidInput(f"{task!r:.80} is no task (possible: Task('the work'))")
        is_cancelled = (lambda: False) if left is None else left.is_set
        return TeamRun(self.home, task, self._terms, is_cancelled, self._timeout)

    def _stream(self, run: TeamRun[Any]) -> Generator[RunEvent, None, None]:
        with closing(self._events(run)) as events:
            for event in events:
                if isinstance(event, QuestionAsked) and self._on_question is not None:
                    answer = self._on_question(event)
                    if inspect.isawaitable(answer):
                        raise InvalidInput("on_question is a coroutine: use `arun`, `arun_stream`")
                    if answer is not None:
                        event.answer(answer)
                yield event

    def _events(self, run: TeamRun[Any]) -> Generator[RunEvent, None, None]:
        with (
            supervised(self.home, run.check),
            served(self.home, self._tools) as servers,
        ):
            run.check()
            yield from run.events(servers)

    async def _astream(
        self, run: TeamRun[Any], left: threading.Event
    ) -> AsyncGenerator[RunEvent, None]:
        async with aclosing(_in_thread(lambda: self._events(run), left)) as events:
            async for event in events:
                if isinstance(event, QuestionAsked) and self._on_question is not None:
                    answer = self._on_question(event)
                    if inspect.isawaitable(answer):
                        answer = await answer
                    if answer is not None:
                        await event.aanswer(answer)
                yield event

    def __enter__(self) -> "Runtime":
        """Find or start a supervisor for the block; return this runtime."""
        self._kept.enter_context(supervised(self.home))
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop the supervisor, unless it is used by others."""
        self._kept.close()

    async def __aenter__(self) -> "Runtime":
        """Find or start a supervisor for the block; return this runtime."""
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *exc: object) -> None:
        """Stop the supervisor, unless it is used by others."""
        await asyncio.to_thread(self._kept.close)


def _check_servers(home: Path, named: Sequence[str]) -> None:
    """Raise InvalidInput for a server of tools that is not set up in a home, or not granted."""
    own = Home(home).config
    config = load_config(*([own] if is_file(own) else []))
    granted_to_all(with_registered(Home(home), config.mcp.servers, named), named)


def _result_of(run: TeamRun[Out], end: RunEnd) -> Result[Out]:
    if end.status != "completed":
        raise run.failure(end)
    return end.result


def _close(stream: "ref[Generator[RunEvent, None, None]]") -> None:
    if (open_stream := stream()) is not None:
        open_stream.close()


async def _in_thread(
    make: Callable[[], Generator[RunEvent, None, None]], left: threading.Event
) -> AsyncGenerator[RunEvent, None]:
    """Yield the items of a generator that runs in its own thread.

    `left` is set when we stop early.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[RunEvent | BaseException | None] = asyncio.Queue()

    def work() -> None:
        end: BaseException | None = None
        try:
            with closing(make()) as events:
                for event in events:
                    loop.call_soon_threadsafe(found.put_nowait, event)
        except BaseException as error:
            end = error
        finally:
            loop.call_soon_threadsafe(found.put_nowait, end)

    thread = threading.Thread(target=work, name="agiraph-run")
    thread.start()
    try:
        while (item := await found.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        await _joined(thread)


async def _joined(thread: threading.Thread) -> None:
    """Wait until a thread has ended; a cancellation takes effect only afterwards."""
    joining = asyncio.ensure_future(asyncio.to_thread(thread.join))
    cancelled = False
    while not joining.done():
        try:
            await asyncio.shield(joining)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError

"""SimulatedHome: a home whose processes are tasks of one event loop, in virtual time.

Coordinators, workers and the scheduler are the real ones, on the loopback bus with the real router
core, with real files. Simulated are the supervisor (it starts a task instead of a process), the
broker (it answers with `model`), the person (answers at most `answers` questions), and shell
commands (they run nothing). So a whole run of an agent takes milliseconds, and is determined by its
model and the seed of `simulate_machine`.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from actors.coordinator.main import serve as serve_coordinator
from actors.entity.args import CoordinatorArgs
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import CODEC, EXIT_PARKED, Runtime, _serve_until_told
from actors.scheduler.scheduler import TimeSource
from actors.scheduler.scheduler import serve as serve_scheduler
from actors.worker.main import serve as serve_worker
from agiraph.board.board import Board
from agiraph.core.ids import (
    BROKER,
    CLOCK,
    HUMAN,
    RECORDER,
    SUPERVISOR,
    AgentId,
    RunId,
    coordinator_address,
)
from agiraph.core.models import ENDED_AGENT, Agent, EntityState, Event
from agiraph.core.turns import ModelRequest, ModelResponse, Usage
from agiraph.llm.packing import Unpacker
from agiraph.messages.child import (
    ChildHeartbeat,
    ChildInfo,
    ChildReady,
    ChildSpec,
    ChildStarted,
    ChildStopped,
    ChildTable,
    ListChildren,
    StartChild,
    StopChild,
    WakeChild,
)
from agiraph.messages.control import AddressTable, Ok, RefusedReply
from agiraph.messages.event import ReportEvents
from agiraph.messages.knowledge import EarlierWorkFound, FindEarlierWork, RememberThis
from agiraph.messages.model import AskUsage, CallModel, CheckModel, ModelAnswer, UsageTable
from agiraph.messages.question import AskQuestion, QuestionAnswered, WithdrawQuestion
from agiraph.messages.text import TextMessage
from agiraph.readmodel.boards import BoardReader
from agiraph.settings.config import Config, load_config
from agiraph.storage.files import make_folder, read_bytes
from agiraph.storage.home import Home
from agiraph.tools.command import CommandResult
from agiraph.tools.search_lines import lines_of
from tests.fakes.virtual_time import EPOCH, VirtualClock, VirtualTimeLoop
from transport.endpoint import Endpoint, Received
from transport.envelope import Flag
from transport.errors import TransportError
from transport.peers import Topology
from transport.testing.loopback import LoopbackRouter

AGENT = AgentId("sim")
RUN = RunId("run-1")
TOPOLOGY = Topology(
    controller=SUPERVISOR, known=frozenset({SUPERVISOR, RECORDER, BROKER, HUMAN, CLOCK})
)
THINK_SECONDS = 2.0
RESTART_SECONDS = 0.5
BEAT_SECONDS = 600.0
"""Heartbeats have no effect here; each costs as much as in real time."""
MOST_RESTARTS = 5

Model = Callable[[ModelRequest], ModelResponse]


@dataclass(slots=True)
class SimulatedRun:
    """The course of a run: its end, and all unexpected events."""

    status: str = "working"
    reason: str | None = None
    open_questions: int = 0
    told_human: list[str] = field(default_factory=list)
    calls: int = 0
    seconds: float = 0.0
    events: list[Event] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    wakes: int = 0
    has_cycled: bool = False
    board: Board = field(default_factory=Board)

    @property
    def has_end(self) -> bool:
        """Whether the run ended, has had its cycles, or waits for the person."""
        return self.status in ENDED_AGENT or self.open_questions > 0 or self.has_cycled


class SimulatedHome:
    """One agent in one home, from its goal to its end. Use once.

    A run in infinite mode is over after `cycles` cycles.
    """

    def __init__(
        self,
        folder: Path,
        model: Model,
        *,
        seed: int = 0,
        answers: int = 3,
        settings: dict[str, Any] | None = None,
        cycles: int = 2,
    ) -> None:
        self._home = Home(folder)
        self._model = model
        self._random = random.Random(f"human/{seed}")
        self._answers = answers
        self._cycles = cycles
        self._boards = BoardReader()
        self._config = _config(settings or {})
        self._endpoints: dict[str, Endpoint] = {}
        self._incarnations: dict[str, int] = {}
        self._specs: dict[str, ChildSpec] = {}
        self._running: dict[str, asyncio.Task[int]] = {}
        self._restarts: dict[str, int] = {}
        self._doing: dict[str, EntityState] = {}
        self._stopping: set[str] = set()
        self._questions: dict[str, AskQuestion] = {}
        self._unpacker = Unpacker()
        self._background: set[asyncio.Task[Any]] = set()
        self.run = SimulatedRun()

    def play(self, args: CoordinatorArgs, *, most_seconds: float, most_calls: int) -> SimulatedRun:
        """Play the run until it ends, waits for the person, or exceeds a limit; return it."""
        loop = VirtualTimeLoop()
        self._clock = VirtualClock(loop)
        asyncio.set_event_loop(loop)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time", self._clock.now)
            try:
                loop.run_until_complete(self._play(loop, args, most_seconds, most_calls))
            finally:
                for task in asyncio.all_tasks(loop):
                    task.cancel()
                loop.run_until_complete(asyncio.sleep(0.1))
                loop.run_until_complete(loop.shutdown_asyncgens())
                asyncio.set_event_loop(None)
                loop.close()
        return self.run

    async def _play(
        self, loop: VirtualTimeLoop, args: CoordinatorArgs, most_seconds: float, most_calls: int
    ) -> None:
        make_folder(self._home.system.attempts)
        self._router = LoopbackRouter(topology=TOPOLOGY)
        services = (
            (SUPERVISOR, self._supervise),
            (BROKER, self._broke),
            (HUMAN, self._be_human),
            (RECORDER, self._record),
        )
        for service, handle in services:
            endpoint = self._router.endpoint(service, codec=CODEC)
            await endpoint.start()
            self._endpoints[service] = endpoint
            self._spawn(self._serve(endpoint, handle))
        self._announce()
        self._start(ChildSpec(address=CLOCK, kind="scheduler"))
        coordinator = coordinator_address(args.agent.id)
        spec = ChildSpec(address=coordinator, kind="coordinator", args=args.model_dump(mode="json"))
        self._start(spec)
        while loop.time() < most_seconds and self.run.calls < most_calls:
            await asyncio.sleep(5.0)
            self._read_record(args.agent.id)
            if self.run.has_end and not self._is_busy():
                break
        self.run.seconds = loop.time()
        for address in list(self._running):
            await self._stop(address)
        self.run.board = self._boards.get(self._home.agent(args.agent.id).run(RUN))

    def _is_busy(self) -> bool:
        """Whether the person will still answer."""
        will_answer = any(task.get_name() == "answer" for task in self._background)
        return will_answer and self.run.status not in ENDED_AGENT

    def _read_record(self, agent: AgentId) -> None:
        with suppress(FileNotFoundError):
            files = self._home.agent(agent)
            record = Agent.model_validate_json(read_bytes(files.record))
            self.run.status, self.run.reason = record.status, record.reason
            run = self._boards.get(files.run(RUN)).run
            self.run.has_cycled = run is not None and run.cycle > self._cycles
        self.run.open_questions = len(self._questions)

    # --- processes ------------------------------------------------------------------------------

    def _spawn(self, work: Awaitable[Any], name: str = "") -> None:
        task = asyncio.ensure_future(work)
        if name:
            task.set_name(name)
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.run.crashes.append(f"the simulation: {error!r}")

    def _start(self, spec: ChildSpec) -> int:
        address = spec.address
        self._specs[address] = spec
        if address not in self._running:
            self._incarnations[address] = self._incarnations.get(address, 0) + 1
            self._doing.pop(address, None)
            self._announce()
            self._running[address] = asyncio.ensure_future(self._live(spec))
        return self._incarnations[address]

    def _announce(self) -> None:
        known = (*self._specs, *TOPOLOGY.known)
        self._endpoints[SUPERVISOR].post("router", AddressTable(known=known))

    async def _live(self, spec: ChildSpec) -> int:
        """Run one incarnation of a child; then act like its supervisor."""
        address = spec.address
        incarnation = self._incarnations[address]
        endpoint = self._router.endpoint(address, incarnation, codec=CODEC)
        launch = ActorLaunch(
            address=address,
            kind=spec.kind,
            incarnation=incarnation,
            ticket=b"",
            router_url="",
            home=self._home.path,
            args=spec.args,
            config=self._config.model_dump(mode="json"),
        )
        await endpoint.start()
        runtime = Runtime(launch, self._config, endpoint)
        runtime.clock = self._clock
        serve: dict[str, Callable[[Runtime], Awaitable[None]]] = {
            "coordinator": serve_coordinator,
            "worker": serve_worker,
            "scheduler": self._schedule,
        }
        errors: list[BaseException] = []

        async def watched(runtime: Runtime) -> None:
            try:
                await serve[spec.kind](runtime)
            except Exception as error:
                errors.append(error)
                raise

        code = await _serve_until_told(runtime, watched, asyncio.Event())
        del self._running[address]
        if code not in (0, EXIT_PARKED):
            self.run.crashes.append(f"{address} exited with {code}: {errors}")
        self._after(address, code)
        return code

    def _after(self, address: str, code: int) -> None:
        if address in self._stopping or address not in self._specs:
            return
        if code == EXIT_PARKED:
            if self._router.mailboxes.undone(address, 1):
                self._wake(address)
        elif code:
            self._restarts[address] = self._restarts.get(address, 0) + 1
            if self._restarts[address] <= MOST_RESTARTS:
                loop = asyncio.get_running_loop()
                loop.call_later(RESTART_SECONDS, self._start, self._specs[address])

    def _wake(self, address: str) -> None:
        if address in self._specs and address not in self._running:
            self.run.wakes += 1
            self._start(self._specs[address])

    async def _stop(self, address: str) -> None:
        self._stopping.add(address)
        task = self._running.get(address)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            self._running.pop(address, None)
        self._stopping.discard(address)

    async def _schedule(self, runtime: Runtime) -> None:
        await serve_scheduler(runtime, _VirtualTimeSource(self._clock))

    # --- services -------------------------------------------------------------------------------

    async def _serve(
        self, endpoint: Endpoint, handle: Callable[[Endpoint, Received], Awaitable[None]]
    ) -> None:
        while True:
            received = await endpoint.receive()
            await handle(endpoint, received)
            endpoint.done(received)

    async def _supervise(self, endpoint: Endpoint, received: Received) -> None:
        match received.body:
            case StartChild(spec=spec):
                incarnation = self._start(spec)
                body = ChildStarted(address=spec.address, incarnation=incarnation)
                await endpoint.reply(received, body)
            case StopChild(address=address, how=how):
                self._spawn(self._stop_and_reply(endpoint, received, address, how))
            case ChildReady():
                await endpoint.reply(received, Ok())
            case WakeChild(address=address):
                self._wake(address)
            case ChildHeartbeat(doing=doing):
                self._doing[received.header.sender] = doing
            case ListChildren():
                await endpoint.reply(received, self._table())
            case _:
                pass

    def _table(self) -> ChildTable:
        return ChildTable(
            children=tuple(
                ChildInfo(
                    address=spec.address,
                    kind=spec.kind,
                    state="ready" if address in self._running else "parked",
                    doing=self._doing.get(address, EntityState()),
                )
                for address, spec in self._specs.items()
            )
        )

    async def _stop_and_reply(
        self, endpoint: Endpoint, received: Received, address: str, how: str
    ) -> None:
        await self._stop(address)
        if how == "forget":
            self._specs.pop(address, None)
            self._announce()
        with suppress(TransportError):
            await endpoint.reply(received, ChildStopped(address=address, state="stopped"))

    async def _broke(self, endpoint: Endpoint, received: Received) -> None:
        match received.body:
            case CallModel() as call:
                self.run.calls += 1
                self._spawn(self._answer_call(endpoint, received, call))
            case CheckModel():
                await endpoint.reply(received, Ok())
            case AskUsage():
                await endpoint.reply(received, UsageTable(by_entity={}, total=Usage()))
            case _ if received.header.flags & Flag.ASK:
                await endpoint.reply(received, RefusedReply(reason="not simulated"))

    async def _answer_call(self, endpoint: Endpoint, received: Received, call: CallModel) -> None:
        turns, tools = self._unpacker.unpack(call.turns), self._unpacker.unpack_tools(call.tools)
        request = call.request.model_copy(update={"turns": turns, "tools": tools})
        await asyncio.sleep(THINK_SECONDS)
        with suppress(TransportError):
            await endpoint.reply(received, ModelAnswer(response=self._model(request)))

    async def _be_human(self, endpoint: Endpoint, received: Received) -> None:
        match received.body:
            case AskQuestion() as question:
                self._questions[question.question_id] = question
                if self._answers > 0:
                    self._answers -= 1
                    answering = self._answer_question(endpoint, received.header.sender, question)
                    self._spawn(answering, "answer")
            case WithdrawQuestion(question_id=question_id):
                self._questions.pop(question_id, None)
            case TextMessage(content=content):
                self.run.told_human.append(content)
            case FindEarlierWork():
                await endpoint.reply(received, EarlierWorkFound())
            case RememberThis():
                await endpoint.reply(received, Ok())
            case _ if received.header.flags & Flag.ASK:
                await endpoint.reply(received, RefusedReply(reason="not simulated"))

    async def _answer_question(self, endpoint: Endpoint, asker: str, question: AskQuestion) -> None:
        await asyncio.sleep(self._random.choice((1.0, 60.0, 3600.0)))
        if self._questions.pop(question.question_id, None) is None:
            return
        answer = self._random.choice((*question.options, "yes", "no", "decide yourself"))
        body = QuestionAnswered(
            question_id=question.question_id,
            answer=answer,
            by="human",
            at=self._clock.now(),
            question=question.question,
            kind=question.kind,
            about=question.about,
        )
        with suppress(TransportError):
            await endpoint.send(asker, body)

    async def _record(self, endpoint: Endpoint, received: Received) -> None:
        if isinstance(received.body, ReportEvents):
            self.run.events.extend(received.body.events)


class _VirtualTimeSource(TimeSource):
    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.now()


def coordinator_args(goal: str = "Do the work", **changes: Any) -> CoordinatorArgs:
    """Return the arguments of the simulated agent's coordinator."""
    agent = Agent(
        id=AGENT,
        name="sim",
        goal=goal,
        model="script/survey",
        worker_model="script/survey",
        run=RUN,
        created_at=EPOCH,
        updated_at=EPOCH,
    )
    return CoordinatorArgs(agent=agent.model_copy(update=changes), run=RUN)


def simulate_machine(monkeypatch: pytest.MonkeyPatch, seed: int = 0) -> None:
    """Let commands end at once without running anything, and links tick rarely.

    Searches run in this process, whose clock is simulated. Random ids are drawn from the seed.
    """
    draw = random.Random(f"ids/{seed}")

    async def ended(command: str, **_: Any) -> CommandResult:
        return CommandResult("output", 3 if command == "exit 3" else 0)

    async def matching_lines(
        pattern: str, places: list[Path], shown: list[str]
    ) -> tuple[list[str], bool, bool]:
        named = zip(places, shown, strict=True)
        found = [f"{name}:{n}: {text}" for at, name in named for n, text in lines_of(pattern, at)]
        return found[:10], len(found) > 10, False

    def token_bytes(size: int = 32) -> bytes:
        return draw.randbytes(size)

    def token_hex(size: int = 32) -> str:
        return draw.randbytes(size).hex()

    monkeypatch.setattr("secrets.token_bytes", token_bytes)
    monkeypatch.setattr("secrets.token_hex", token_hex)
    monkeypatch.setattr("transport.endpoint.TICK_SECONDS", 600.0)
    monkeypatch.setattr("agiraph.tools.shell.run_command", ended)
    monkeypatch.setattr("agiraph.tools.checking.run_command", ended)
    monkeypatch.setattr("agiraph.tools.searching.matching_lines", matching_lines)


def _config(settings: dict[str, Any]) -> Config:
    found = load_config().model_dump(mode="json")
    found["sandbox"]["mode"] = "none"
    found["supervisor"]["beat_seconds"] = BEAT_SECONDS
    for section, values in settings.items():
        found[section] |= values
    return Config.model_validate(found)

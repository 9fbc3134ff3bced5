"""Runtime: the shell around every actor: bus, settings, log, orderly end and exit code.

    exit code   0 done or asked to stop   75 fenced: a newer incarnation lives
                64 refused at start, or found a file of the home damaged
                76 no router              74 no space left on the disk
                77 parked: nothing to do until a message comes
                1 crashed (the traceback is in the log)

`serve` is cancelled by `control.stop` or SIGTERM; it records its state in its own `finally`. The
bus is read in the background, so a stop is seen whatever `serve` waits for.
"""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError

from actors.runtime.child import rotate_output
from actors.runtime.crash_counter import CrashCounter, file_name
from actors.runtime.event_reporter import EventReporter
from actors.runtime.heartbeat import HeartbeatSender
from actors.runtime.launch import ActorLaunch
from actors.runtime.message_queue import MessageQueue, is_durable
from actors.runtime.quarantine import Quarantine
from agiraph.core.clock import Clock, SystemClock
from agiraph.core.errors import Corrupt, Refused
from agiraph.core.ids import SUPERVISOR, NodeId, RunId, agent_of
from agiraph.core.models import EntityState, Event
from agiraph.logs.log import bind, bound, logger, set_up_logging
from agiraph.logs.log_file import LogFile
from agiraph.messages.authorization import MESSAGES, refusal
from agiraph.messages.child import ChildReady
from agiraph.messages.control import RefusedReply, Stop
from agiraph.settings.config import Config
from agiraph.storage.disk_space import WAITS, is_full_disk, waiting
from agiraph.storage.home import Home
from agiraph.storage.walk import UnsafeFile
from agiraph.tracing.spans import trace_id
from transport.codec import Codec
from transport.endpoint import Endpoint, Received
from transport.envelope import Flag
from transport.errors import Fenced, Nacked, TransportError
from transport.tickets import routing_id
from transport.wire import Wire, ZmqWire

EXIT_DONE = 0
EXIT_CRASHED = 1
EXIT_BAD_CONFIG = 64
EXIT_NO_SPACE = 74
EXIT_FENCED = 75
EXIT_NO_ROUTER = 76
EXIT_PARKED = 77

HELLO_SECONDS = 10.0
CANCEL_SECONDS = 2.0
FLUSH_SECONDS = 1.0
ANNOUNCE_SECONDS = 2.0
RETRY_SECONDS = 0.2
MOST_REFUSALS = 100
CODEC = Codec(MESSAGES)  # of all messages; forked processes share it

Serve = Callable[["Runtime"], Awaitable[None]]
Result = TypeVar("Result")


class Parking(Exception):
    """Raised by `serve` to park: the process ends, and the next message starts it again."""


class Runtime:
    """The argument of an actor's `serve`: its started endpoint on the bus, and its services.

    `send`, `post`, `ask` and `reply` are the endpoint's own.
    """

    def __init__(self, launch: ActorLaunch, config: Config, endpoint: Endpoint) -> None:
        self._run, self._step, self._state = launch.args.get("run"), "", EntityState()
        self.launch, self.endpoint = launch, endpoint
        self.send, self.post = endpoint.send, endpoint.post
        self.ask, self.reply = endpoint.ask, endpoint.reply
        self._trace_run()
        self.config, self.home = config, Home(launch.home)
        self.clock: Clock = SystemClock()
        self.log = logger()
        self.stopping = asyncio.Event()
        self.on_leaving: Callable[[], None] = lambda: None
        """Called when this process must park after its current step, because it is moved."""
        self.is_ready = self.is_announced = False
        self._inbox = MessageQueue()
        self.on_message: Callable[[Received], bool] | None = None
        """Handles a message without waiting, before any queue; returns False to queue it."""
        self._background: list[asyncio.Task[None]] = []
        self._refusals: set[asyncio.Task[None]] = set()
        self._reporter = EventReporter(endpoint, self.log)
        self.attempts = CrashCounter(
            self.home.system.attempts,
            file_name(launch.address),
            launch.incarnation,
            launch.last_end,
        )
        self.attempts.doing("")  # while there may be room: a note that exists can be replaced
        self._in_hand = ""
        self.quarantine = Quarantine(endpoint, self.attempts, launch.incarnation, self.log)
        self.heartbeat = HeartbeatSender(
            endpoint, config.supervisor.beat_seconds, self._note_step, self._log_status
        )

    def _trace_run(self) -> None:
        """Add the trace of the current run to every message."""
        agent, run = agent_of(self.launch.address), self._run
        self.endpoint.trace = trace_id(agent, run) if agent and isinstance(run, str) else None

    @property
    def address(self) -> str:
        """This actor's address."""
        return self.launch.address

    async def ready(self) -> None:
        """Report to the supervisor that this actor has read its state and accepts messages."""
        self.is_ready = True
        self.attempts.ready()
        self.attempts.doing(self._step)  # on a full disk the note has its place then
        self.log.note("ready", pid=os.getpid())
        self._background.append(asyncio.create_task(self._announce()))

    async def _announce(self) -> None:
        """Send `child.ready` until the supervisor answers: the router may be restarting."""
        body = ChildReady(
            address=self.launch.address, incarnation=self.launch.incarnation, pid=os.getpid()
        )
        while True:
            try:
                asked = self.endpoint.ask(SUPERVISOR, body, within_seconds=ANNOUNCE_SECONDS)
                self.endpoint.done(await asked)
                self.is_announced = True
                return
            except TransportError as error:
                self.log.warning("the supervisor does not answer", reason=str(error))
                await asyncio.sleep(RETRY_SECONDS)

    async def receive(self) -> Received:
        """Return the next message that is no reply to an `ask` and no order to stop.

        It counts as being handled until the next call; a handler that runs longer, or concurrently,
        marks it again.
        """
        self.attempts.end(self._in_hand)
        received = await self._inbox.get()
        if is_durable(received):
            self._in_hand = received.header.id.hex()
            try:
                await self.attempts.turn_of(self._in_hand)
            except asyncio.CancelledError:
                self._inbox.put_back(received)
                raise
            self.attempts.begin(self._in_hand)
        return received

    async def receive_ahead(self) -> Received:
        """Return the next message for later handling, which begins with `take_up`."""
        return await self._inbox.get()

    def take_up(self, ids: Sequence[str]) -> int:
        """Record that messages (their ids in hex) are being handled, until they are done.

        Returns how many of them, from the first on, may be handled together now: at least one, and
        a message over which this actor has crashed before only alone.
        """
        most = self.attempts.together(ids)
        for id in ids[:most]:
            self.attempts.begin(id)
        return most

    @asynccontextmanager
    async def handling(self, received: Received) -> AsyncIterator[None]:
        """Count a message as being handled in the block, beside others.

        After an error it still counts: the process that dies of the error died over this message.
        """
        id = received.header.id.hex()
        if is_durable(received):
            await self.attempts.turn_of(id)
            self.attempts.begin(id)
        try:
            yield
        except asyncio.CancelledError:
            self.attempts.end(id)
            raise
        self.attempts.end(id)

    def done(self, received: Received) -> None:
        """Report to the router that a durable message and its effect are recorded here."""
        self.endpoint.done(received)
        self.attempts.done(received.header.id.hex())
        carrier = self.quarantine.carrier_of(received)
        if carrier is not None:
            self.endpoint.done(carrier)

    @property
    def has_unread(self) -> bool:
        """Whether a message has arrived that was not handled yet."""
        return self.endpoint.has_unread or not self._inbox.is_idle

    def park(self) -> NoReturn:
        """End this process until a message comes; raises Parking.

        An answer to a dead incarnation's question would wake the next one at once, repeatedly. Such
        answers are acknowledged here: a parked entity never asks these questions again.
        """
        self.endpoint.put_away_unclaimed()
        raise Parking

    def report(self, *events: Event) -> None:
        """Send events to the recorder, in order, in the background."""
        self._reporter.report(*events)

    async def flush(self, within_seconds: float | None = None) -> None:
        """Wait until the router has accepted all reported events; raises TimeoutError."""
        await self._reporter.flush(within_seconds)

    def status(
        self, doing: EntityState, node_id: NodeId | None = None, run_id: RunId | None = None
    ) -> None:
        """Report the actor's activity, and log it once it lasts; the latest call counts."""
        bind(node=node_id)
        if run_id is not None and run_id != self._run:
            self._run = run_id
            bind(run=run_id)
            self._trace_run()
        self._state = doing.after(self._state, self.clock.now())
        self.heartbeat.show(self._state)

    def _log_status(self, doing: EntityState) -> None:
        self.log.note(doing.state, step=doing.step or None)

    def _note_step(self, doing: EntityState) -> None:
        self._step = str(doing)
        self.attempts.doing(self._step)

    def waits_for_room(self, is_waiting: bool) -> None:
        """Record that this process waits for room on the disk, or that it continues.

        The supervisor reads in the note that it does not hang.
        """
        if is_waiting:
            self.attempts.doing(WAITS)
            self.log.warning(f"the disk is full: {WAITS}")
        else:
            self.attempts.doing(self._step)
            self.log.info("there is room on the disk again")

    async def pump(self) -> None:
        """Read the bus forever: execute an order to stop, put all other messages into the inbox.

        A message that its sender is not authorized to send has no effect.
        """
        while True:
            received = await self.quarantine.opened(await self.endpoint.receive())
            header = received.header
            if (reason := refusal(header.sender, header.to, received.body)) is not None:
                if header.to == self.address:
                    self._refuse(received, reason)
                else:
                    self.done(received)  # a copy for the recorder: its receiver refuses it
            elif isinstance(received.body, Stop):
                self.endpoint.done(received)
                self._obey(received.body)
            else:
                self._take_in(received)

    def _obey(self, order: Stop) -> None:
        if order.after_step:
            self.on_leaving()
        else:
            self.stopping.set()

    def _refuse(self, received: Received, reason: str) -> None:
        """Drop a message; reply with the reason to a request, unless there are too many."""
        self.log.warning("not authorized", reason=reason)
        self.done(received)
        if received.header.flags & Flag.ASK and len(self._refusals) < MOST_REFUSALS:
            task = asyncio.create_task(self._reply_refused(received, reason))
            self._refusals.add(task)
            task.add_done_callback(self._refusals.discard)

    async def _reply_refused(self, received: Received, reason: str) -> None:
        with suppress(TransportError):
            await self.reply(received, RefusedReply(reason=reason))

    def _take_in(self, received: Received) -> None:
        if self.quarantine.wants(received):
            self._background.append(asyncio.create_task(self._set_aside(received)))
        elif not self._accept_at_once(received):
            self._inbox.put(received)

    def _accept_at_once(self, received: Received) -> bool:
        """Pass a message to `on_message`, if none waits before it; return whether it was accepted.

        Meanwhile the message counts as being handled. A suspect waits in the queue to be handled
        alone.
        """
        id = received.header.id.hex()
        if self.on_message is None or not self._inbox.is_idle or self.attempts.is_suspect(id):
            return False
        if not is_durable(received):
            return self.on_message(received)
        self.attempts.begin(id)
        is_accepted = self.on_message(received)
        self.attempts.end(id)
        return is_accepted

    async def _set_aside(self, received: Received) -> None:
        try:
            await self.quarantine.add(received)
        except TransportError as error:  # it is delivered again to the next incarnation
            self.log.error("could not be set aside", type=received.header.type, reason=str(error))
            return
        self.done(received)

    def start_background(self) -> list[asyncio.Task[None]]:
        """Start and return the tasks without which `serve` cannot continue."""
        works = (self.pump(), self._reporter.run(), self.heartbeat.run())
        tasks = [asyncio.create_task(work) for work in works]
        self._background.extend(tasks)
        return tasks

    def cancel_background(self) -> None:
        """Stop everything that runs beside `serve`."""
        for task in (*self._background, *self._refusals):
            task.cancel()
        self.attempts.close()


def run_actor(launch: ActorLaunch, serve: Serve, *, waits_for_room: bool = True) -> int:
    """Run an actor to its end and return its exit code (table at the top of this file).

    On a full disk its writes and durable messages wait for room; without `waits_for_room` they
    raise, for an actor that must answer meanwhile.
    """
    try:
        config = Config.model_validate(launch.config)
    except ValidationError as error:
        _say_refused(error)
        return EXIT_BAD_CONFIG
    system = Home(launch.home).system
    file = LogFile(system.log(launch.address), config.log.file_bytes, config.log.files)
    rotate = partial(rotate_output, system.errors(launch.address))
    set_up_logging(config.log.level, config.log.format, file=file, rotate=rotate)
    run = launch.args.get("run")
    with bound(entity=launch.address, incarnation=launch.incarnation, run=run):
        return run_loop(_run(launch, config, serve, waits_for_room))


def run_loop(main: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of `main` on a fresh loop; never waits for threads that hang."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(main)
    finally:
        leftovers = asyncio.all_tasks(loop)
        for task in leftovers:
            task.cancel()
        if leftovers:
            loop.run_until_complete(asyncio.wait(leftovers, timeout=1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()


def _wire(launch: ActorLaunch, noise: float) -> Wire:
    """Return the connection to the router; `noise` injects faults for a chaos test."""
    wire = ZmqWire(launch.router_url, routing_id(launch.ticket))
    if not noise:
        return wire
    from transport.testing.fault_injecting_wire import FaultInjectingWire  # for `agiraph chaos`

    return FaultInjectingWire(wire, noise, random.Random(f"{launch.address}#{launch.incarnation}"))


def _endpoint_class(launch: ActorLaunch) -> type[Endpoint]:
    if not launch.host:
        return Endpoint
    from actors.runtime.gated_endpoint import GatedEndpoint  # for other machines only

    return GatedEndpoint


async def _run(launch: ActorLaunch, config: Config, serve: Serve, waits_for_room: bool) -> int:
    endpoint = _endpoint_class(launch)(
        url=launch.router_url,
        address=launch.address,
        incarnation=launch.incarnation,
        ticket=launch.ticket,
        codec=CODEC,
        wire=_wire(launch, config.bus.noise),
        waits_for_room=waits_for_room,
    )
    stop_signal = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop_signal.set)
    code = await _say_hello(launch, endpoint, stop_signal)
    if code is not None:
        return code
    runtime = Runtime(launch, config, endpoint)
    with waiting(runtime.waits_for_room if waits_for_room else None):
        return await _serve_until_told(runtime, serve, stop_signal)


async def _say_hello(
    launch: ActorLaunch, endpoint: Endpoint, stop_signal: asyncio.Event
) -> int | None:
    """Connect to the router; return an exit code if the process must end, else None."""
    log = logger()
    hello = asyncio.create_task(endpoint.start(within_seconds=HELLO_SECONDS))
    stopped = asyncio.create_task(stop_signal.wait())
    await asyncio.wait([hello, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not hello.done():
        hello.cancel()
        return EXIT_DONE
    try:
        await hello
    except (Fenced, Nacked) as error:
        log.error("the router refuses this process", reason=str(error))
        return EXIT_FENCED
    except TransportError as error:
        log.error("no router", reason=str(error))
        return EXIT_NO_ROUTER
    return None


async def _serve_until_told(runtime: Runtime, serve: Serve, stop_signal: asyncio.Event) -> int:
    """Run `serve` until it ends, a stop is ordered or this process is fenced; return the code."""
    background = runtime.start_background()
    serving = asyncio.ensure_future(serve(runtime))
    fenced = asyncio.create_task(runtime.endpoint.fenced.wait())
    orders = [
        fenced,
        asyncio.create_task(stop_signal.wait()),
        asyncio.create_task(runtime.stopping.wait()),
    ]
    try:
        await asyncio.wait([serving, *background, *orders], return_when=asyncio.FIRST_COMPLETED)
        if fenced.done():
            return EXIT_FENCED
        code = await _end_of(runtime, serving, background)
        await _last_words(runtime)
        return code
    finally:
        for task in (serving, *orders):
            task.cancel()
        runtime.cancel_background()
        await runtime.endpoint.close()


async def _end_of(
    runtime: Runtime, serving: "asyncio.Future[None]", background: list[asyncio.Task[None]]
) -> int:
    """Cancel `serve` if it still runs, wait for its `finally`, and return the exit code."""
    serving.cancel()
    await asyncio.wait([serving], timeout=CANCEL_SECONDS)
    broken = [task for task in (serving, *background) if task.done() and not task.cancelled()]
    errors = [error for task in broken if (error := task.exception()) is not None]
    for error in errors:
        if isinstance(error, Parking):
            return EXIT_PARKED
        if isinstance(error, UnsafeFile):
            _say_refused(error.with_advice())
            return EXIT_CRASHED if runtime.is_ready else EXIT_BAD_CONFIG
        if isinstance(error, Corrupt) or (isinstance(error, Refused) and not runtime.is_ready):
            runtime.log.error("cannot continue", reason=str(error))
            _say_refused(error)
            return EXIT_BAD_CONFIG
        if not isinstance(error, Exception):
            raise error
        runtime.log.error("crashed", exc_info=error)
    if any(map(is_full_disk, errors)):
        return EXIT_NO_SPACE
    return EXIT_CRASHED if errors else EXIT_DONE


def _say_refused(error: object) -> None:
    """Print the cause as the last line of the log, from which the supervisor reads it."""
    with suppress(OSError):
        print(" ".join(str(error).split()), file=sys.stderr, flush=True)


async def _last_words(runtime: Runtime) -> None:
    try:
        await runtime.flush(FLUSH_SECONDS)
    except TimeoutError:
        runtime.log.warning("stopped before every event was reported")

"""The gateway: all of its parts in one object, which every endpoint and the bus loop are given."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from actors.gateway.context.database import ContextDatabase
from actors.gateway.context.scans import ProjectScans
from actors.gateway.doctor import Doctor
from actors.gateway.event_reporter import GatewayEventReporter
from actors.gateway.live.changes import HomeChanges
from actors.gateway.live.event_feed import LogSignals
from actors.gateway.live.streams import TextStreams
from actors.gateway.notifications.dispatcher import NotificationDispatcher
from actors.gateway.questions.answer_delivery import AnswerDelivery
from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.database import GatewayDatabase
from actors.gateway.state.dead_letters import DeadLetterStore
from actors.gateway.state.idempotency_store import IdempotencyStore
from actors.gateway.state.message_history import MessageHistory
from actors.runtime.ask_again import Reply, ask_for
from agiraph.api.problems import INSUFFICIENT_STORAGE
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import SUPERVISOR, agent_of
from agiraph.http.errors import ApiError
from agiraph.messages.child import ChildInfo, ChildTable, ListChildren
from agiraph.messages.host import HostRefused
from agiraph.readmodel.activities import EntityActivities, GatewayCounters
from agiraph.readmodel.agents import AgentDirectory
from agiraph.readmodel.boards import BoardReader
from agiraph.readmodel.log_folds import LogFolds, add_to_timeline, add_to_traffic
from agiraph.readmodel.statuses import StatusReader
from agiraph.storage.uploads import Uploads
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.table import tool_names
from transport.errors import DeadlineExceeded, Nacked, NotStored, TransportError

if TYPE_CHECKING:
    from actors.runtime.runtime import Runtime

ANSWER_SECONDS = 10.0
FAILED_AFTER_SECONDS = 1.0
"""An entity that has not answered for so long may have been given up."""

CONFLICT = 409
UNPROCESSABLE = 422
UNAVAILABLE = 503
TOO_LATE = 504

NOTHING: Mapping[str, str] = MappingProxyType({})


class Gateway:
    """Stores, readers and the bus of one home's gateway. `close` closes the files.

    `environ` holds the variables that its channels name. Raises Corrupt, OSError.
    """

    def __init__(self, bus: "Runtime", environ: Mapping[str, str] = NOTHING) -> None:
        self.bus, self.home, self.config = bus, bus.home, bus.config
        self.clock, self.log = bus.clock, bus.log
        self.agents, self.boards = AgentDirectory(bus.home), BoardReader()
        self.signals, self.counters = LogSignals(), GatewayCounters()
        self.changes, self.streams = HomeChanges(), TextStreams(bus)
        self.activities = EntityActivities()
        self.timelines, self.traffic = LogFolds(add_to_timeline), LogFolds(add_to_traffic)
        self.cpu: dict[tuple[str, int], tuple[float, float, float]] = {}
        self.reporter = GatewayEventReporter(bus, self.agents)
        self.doctor, self.settings_turn = Doctor(bus.home.path, self.clock), asyncio.Lock()
        http = bus.config.http
        self.uploads = Uploads(bus.home.inputs, http.input_files, http.input_bytes)
        self.uploads_turn = asyncio.Lock()
        database = GatewayDatabase(bus.home.human.book)
        self.policies = ApprovalPolicyFile(bus.home.path, tool_names())
        self.questions, self.messages = QuestionStore(database), MessageHistory(database)
        self.dead_letters = DeadLetterStore(database)
        self.idempotency = IdempotencyStore(bus.home.human.repeats, self.clock.now())
        self.context = ContextDatabase(bus.home.context)
        self.scans = ProjectScans(bus, self.context)
        self.dispatcher = NotificationDispatcher(
            bus, environ, self.agents, self.messages, self.questions, self.reporter
        )
        self.answer_delivery = AnswerDelivery(
            bus, self.questions, self.messages, self.reporter, self.agents, self.boards
        )
        self.messages.when_changed = self._on_message
        self.questions.when_changed = lambda id: self.changes.note("question", id)
        self.signals.on_notify = self.dispatcher.on_event
        self.when_refused: Callable[[HostRefused, str], None] = lambda refusal, id: None
        """Audits somebody who was refused over the uplink, with the id of the message."""
        self.dispatcher.when_delivered = self.counters.delivered
        self.answer_delivery.absence = lambda: self.dispatcher.queue.absence_at(self.clock.now())

    @property
    def followers(self) -> int:
        """How many follow events, changes or texts."""
        return self.signals.followers + self.changes.followers + self.streams.followers

    def check_follower(self) -> None:
        """Raise ApiError 503 if no more may follow."""
        if self.followers >= self.config.http.followers:
            words = f"{self.followers} follow already, no more can (http.followers)"
            raise ApiError(UNAVAILABLE, words)

    def end_feeds(self) -> None:
        """Say goodbye to all who follow: the gateway stops."""
        self.signals.close()
        self.changes.close()
        self.streams.close()

    def _on_message(self, agent: str) -> None:
        self.dispatcher.on_message()
        self.changes.note("inbox", agent)

    def statuses(self, table: Iterable[ChildInfo]) -> StatusReader:
        """Return how all stand by the supervisor's table as it is now: for one request."""
        asking = self.questions.asking()
        most_faults = self.config.supervisor.intensity
        return StatusReader(self.agents, self.boards, self.activities, asking, table, most_faults)

    async def ask(
        self,
        to: str,
        body: BaseModel,
        expect: type[Reply],
        *,
        within_seconds: float = ANSWER_SECONDS,
        refused: int = CONFLICT,
        id: bytes | None = None,
    ) -> Reply:
        """Ask `to` and return its reply, an `expect`. `id` is that of the request.

        If `to` is being restarted it is asked again within that time. Raises ApiError with the
        reason: 422 if a name or value was wrong, `refused` if it was refused otherwise, 409 if it
        was given up, 504 if no reply came in time, 503 if it cannot be reached now.
        """
        asking = ask_for(self.bus, to, body, expect, within_seconds=within_seconds, id=id)
        try:
            return await (asking if agent_of(to) is None else self._unless_failed(to, asking))
        except InvalidInput as error:
            raise ApiError(UNPROCESSABLE, str(error)) from None
        except Refused as error:
            raise ApiError(refused, str(error)) from None
        except DeadlineExceeded as error:
            raise ApiError(TOO_LATE, f"{to} did not answer in time{await self._why(to)}") from error
        except TransportError as error:
            raise _as_api_error(error, to) from error

    async def _why(self, service: str) -> str:
        """Return the cause for which a service does not run, to end an error; '' if it runs."""
        row = await self._child(service) if service != SUPERVISOR else None
        is_away = row is not None and row.state in ("starting", "backing_off")
        return f": it is restarted after {row.cause}" if row and is_away and row.cause else ""

    async def _unless_failed(self, to: str, asking: Coroutine[Any, Any, Reply]) -> Reply:
        """Return the reply of an entity; ApiError 409 with the cause if it has been given up."""
        task = asyncio.create_task(asking)
        try:
            while True:
                await asyncio.wait([task], timeout=FAILED_AFTER_SECONDS)
                if task.done():
                    return task.result()
                if (cause := await self._failed_for(to)) is not None:
                    raise ApiError(CONFLICT, f"{to} does not run: {cause}")
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _failed_for(self, address: str) -> str | None:
        """Return why the supervisor has given up a process; None if it has not, or is silent."""
        row = await self._child(address)
        return row.cause or "" if row is not None and row.state == "failed" else None

    async def _child(self, address: str) -> ChildInfo | None:
        """Return a process's row of the supervisor's table, None if it has none or is silent."""
        try:
            table = await self.ask(SUPERVISOR, ListChildren(), ChildTable)
        except ApiError:
            return None
        return next((one for one in table.children if one.address == address), None)

    async def send(self, to: str, body: BaseModel, *, id: bytes) -> None:
        """Send a durable message and wait until the router has stored it; raises ApiError."""
        try:
            await self.bus.send(to, body, id=id)
        except TransportError as error:
            raise _as_api_error(error, to) from error

    def close(self) -> None:
        """Close the databases and the journals."""
        self.context.close()
        self.messages.database.close()
        self.dispatcher.close()
        self.idempotency.close()


def _as_api_error(error: TransportError, to: str) -> ApiError:
    """Return a failure of the bus as a refusal of the API."""
    match error:
        case NotStored():
            return ApiError(INSUFFICIENT_STORAGE, f"the disk is full: nothing was sent to {to}")
        case Nacked(reason="mailbox_full"):
            return ApiError(UNAVAILABLE, f"the mailbox of {to} is full")
        case Nacked(reason="too_large"):
            return ApiError(413, f"the message to {to} is too large")
        case Nacked():
            return ApiError(CONFLICT, f"{to} cannot be reached ({error})")
        case _:
            return ApiError(UNAVAILABLE, f"{to} cannot be reached now ({error})")

"""The gateway object: its stores, readers, feeds and bus, passed to each endpoint."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from agiraph.api.doctor import Doctor
from agiraph.api.live.changes import HomeChanges
from agiraph.api.live.event_feed import LogSignals
from agiraph.api.live.streams import TextStreams
from agiraph.http.errors import UNAVAILABLE, ApiError
from agiraph.inbox.answer_delivery import AnswerDelivery
from agiraph.inbox.bus import Bus
from agiraph.inbox.channels.dispatcher import NotificationDispatcher
from agiraph.inbox.database import GatewayDatabase
from agiraph.inbox.dead_letters import DeadLetterStore
from agiraph.inbox.event_reporter import GatewayEventReporter
from agiraph.inbox.idempotency_store import IdempotencyStore
from agiraph.inbox.message_history import MessageHistory
from agiraph.inbox.questions import QuestionStore
from agiraph.knowledge.database import KnowledgeDatabase
from agiraph.knowledge.project_scans import ProjectScans
from agiraph.messages.child import ChildInfo
from agiraph.messages.host import HostRefused
from agiraph.readmodel.activities import EntityActivities, GatewayCounters
from agiraph.readmodel.agents import AgentDirectory
from agiraph.readmodel.boards import BoardReader
from agiraph.readmodel.log_folds import LogFolds, add_to_timeline, add_to_traffic
from agiraph.readmodel.statuses import StatusReader
from agiraph.storage.uploads import Uploads
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.table import tool_names

NOTHING: Mapping[str, str] = MappingProxyType({})


class Gateway:
    """Stores, readers, feeds and bus of one home. `close` closes the files.

    `environ` contains the variables that the settings of channels name. Raises Corrupt, OSError.
    """

    def __init__(
        self, bus: Bus, knowledge: KnowledgeDatabase, environ: Mapping[str, str] = NOTHING
    ) -> None:
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
        self.knowledge = knowledge
        self.scans = ProjectScans(bus.config.knowledge, bus.clock, bus.log, knowledge)
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
        """Records a refusal of the uplink in the audit log, with the id of its message."""
        self.dispatcher.when_delivered = self.counters.delivered
        self.answer_delivery.absence = lambda: self.dispatcher.queue.absence_at(self.clock.now())

    @property
    def followers(self) -> int:
        """The number of open feeds: of events, of changes and of texts."""
        return self.signals.followers + self.changes.followers + self.streams.followers

    def check_follower(self) -> None:
        """Raise ApiError 503 if the limit of followers is reached."""
        if self.followers >= self.config.http.followers:
            words = f"{self.followers} follow already, no more can (http.followers)"
            raise ApiError(UNAVAILABLE, words)

    def end_feeds(self) -> None:
        """End all feeds because the gateway stops."""
        self.signals.close()
        self.changes.close()
        self.streams.close()

    def _on_message(self, agent: str) -> None:
        self.dispatcher.on_message()
        self.changes.note("inbox", agent)

    def statuses(self, table: Iterable[ChildInfo]) -> StatusReader:
        """Return a reader of all statuses, by the supervisor's current table; for one request."""
        asking = self.questions.asking()
        most_faults = self.config.supervisor.intensity
        return StatusReader(self.agents, self.boards, self.activities, asking, table, most_faults)

    def close(self) -> None:
        """Close the databases and the journals."""
        self.knowledge.close()
        self.messages.database.close()
        self.dispatcher.close()
        self.idempotency.close()

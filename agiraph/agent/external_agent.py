"""ExternalAgentState: the known state of the external agent on the current node; pure.

It is a part of the transcript: the fold of the records `outside.*`, and of received messages.
"""

from dataclasses import dataclass, field

from agiraph.agent.records import (
    ExternalAgentEnded,
    ExternalAgentRecord,
    ExternalAgentStarted,
    ExternalMessageSent,
    ExternalPermissionAsked,
    ExternalPermissionDecided,
    ExternalSessionKnown,
)
from agiraph.core.turns import Usage


@dataclass(slots=True)
class ExternalAgentState:
    """The external agent of one node.

    - `is_here`: whether the node has an external agent; `agent` is its name.
    - `starts`, `failures`: the numbers of its starts and of its failed starts.
    - `session`: the id by which its conversation can be resumed, '' if it cannot.
    - `took_up`: the session that the last start should resume, '' if it began a new one.
    - `lost_at`: the number of the last start that found its conversation lost, 0 if none did.
    - `sent`: the keys of the messages it sent; `asking`: the keys of open permission requests.
    - `messages`: all messages to it, as shown; those from `delivered` on may not have reached it.
    - `warnings`: the indexes in `messages` of warnings of a limit; `warned`: the names of the
      limits.
    - `usage`: the usage of its conversation.
    - `is_running`: it was started and its end is not known.
    - `result`: its result; `problem`: the reason of its last failure.
    """

    is_here: bool = False
    agent: str = ""
    starts: int = 0
    began_at: str = "0"
    failures: int = 0
    session: str = ""
    took_up: str = ""
    lost_at: int = 0
    sent: set[str] = field(default_factory=set)
    asking: set[str] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)
    delivered: int = 0
    warnings: set[int] = field(default_factory=set)
    warned: set[str] = field(default_factory=set)
    usage: Usage = field(default_factory=Usage)
    has_spoken: bool = False
    is_running: bool = False
    goes_on: bool = False
    result: str | None = None
    problem: str = ""

    @property
    def undelivered(self) -> list[str]:
        """The messages that may not have reached the external agent."""
        return self.messages[self.delivered :]

    def needs_delivery(self, delivered: int) -> bool:
        """Whether messages other than warnings follow the first `delivered` ones."""
        return any(place not in self.warnings for place in range(delivered, len(self.messages)))

    def add_message(self, shown: str, *, warns_of: str = "") -> None:
        """Add a message for the external agent, if the node has one; `warns_of` names a limit."""
        if not self.is_here:
            return
        if warns_of:
            self.warnings.add(len(self.messages))
            self.warned.add(warns_of)
        self.messages.append(shown)

    def apply(self, record: ExternalAgentRecord) -> None:
        match record:
            case ExternalAgentStarted():
                self.starts, self.agent = record.number, record.agent
                if not record.session:
                    self.usage = Usage()
                self.session = self.took_up = record.session
                self.is_running, self.has_spoken, self.goes_on = True, False, False
                self.delivered = len(self.messages)
                self.asking.clear()
            case ExternalSessionKnown():
                self.session = record.session
                if record.is_anew:
                    self.lost_at = self.starts
            case ExternalMessageSent():
                self.sent.add(record.key)
                self.has_spoken = True
            case ExternalPermissionAsked():
                self.asking.add(record.key)
                self.has_spoken = True
            case ExternalPermissionDecided():
                self.asking.discard(record.key)
            case ExternalAgentEnded():
                self._end(record)

    def _end(self, record: ExternalAgentEnded) -> None:
        self.is_running = False
        self.usage = self.usage + record.usage
        self.delivered = max(self.delivered, record.told)
        self.problem, self.result, self.goes_on = record.problem, record.result, record.goes_on
        if record.problem:
            self.failures += not record.is_excused
            # A conversation that could not be resumed is not tried again.
            if not (self.has_spoken or record.has_spoken):
                self.session = ""
                self.lost_at = self.starts if self.took_up else self.lost_at

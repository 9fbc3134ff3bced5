"""ExternalAgentState: what is known of the outside agent that works on the node in hand; pure.

A part of the transcript: the fold of the records `outside.*`, and of what was heard.
"""

from dataclasses import dataclass, field

from agiraph.agent.records import (
    ExternalAgentEnded,
    ExternalAgentStarted,
    ExternalMessageSent,
    ExternalPermissionAsked,
    ExternalPermissionDecided,
    ExternalSessionKnown,
)
from agiraph.core.turns import Usage

OutsideRecord = (
    ExternalAgentStarted
    | ExternalSessionKnown
    | ExternalMessageSent
    | ExternalPermissionAsked
    | ExternalPermissionDecided
    | ExternalAgentEnded
)


@dataclass(slots=True)
class ExternalAgentState:
    """The outside agent of one node.

    `is_here`: there is one, `agent` by name. `starts`: how often it was started, `failures`: how
    often in vain; `session`: under which id its conversation is taken up, '' if it cannot be;
    `took_up`: that which the last start was to take up, '' if it began one; `lost_at`: the number
    of the last start that found the conversation lost, 0 if none did. `sent`: the keys of the
    messages that it sent; `asking`: the keys of what it waits for leave to do. `heard`: every
    message to it as it is shown, of which those from `told` on may not have reached its mind;
    `warnings` are the places in it of those that only say that a bound is near, `warned` what they
    said it of. `usage` is what its conversation has used.
    `is_running`: it was started and is not known to have ended; `result`: what it has done;
    `problem`: why it failed the last time.
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
    heard: list[str] = field(default_factory=list)
    told: int = 0
    warnings: set[int] = field(default_factory=set)
    warned: set[str] = field(default_factory=set)
    usage: Usage = field(default_factory=Usage)
    has_spoken: bool = False
    is_running: bool = False
    goes_on: bool = False
    result: str | None = None
    problem: str = ""

    @property
    def untold(self) -> list[str]:
        """The messages that may not have reached its mind."""
        return self.heard[self.told :]

    def owes(self, told: int) -> bool:
        """Whether it has to be told more than the first `told` messages, warnings aside."""
        return any(place not in self.warnings for place in range(told, len(self.heard)))

    def hear(self, shown: str, *, warns_of: str = "") -> None:
        """Keep what it is to be told."""
        if not self.is_here:
            return
        if warns_of:
            self.warnings.add(len(self.heard))
            self.warned.add(warns_of)
        self.heard.append(shown)

    def apply(self, record: OutsideRecord) -> None:
        """Take one record into the state."""
        match record:
            case ExternalAgentStarted():
                self.starts, self.agent = record.number, record.agent
                if not record.session:
                    self.usage = Usage()
                self.session = self.took_up = record.session
                self.is_running, self.has_spoken, self.goes_on = True, False, False
                self.told = len(self.heard)
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
        self.told = max(self.told, record.told)
        self.problem, self.result, self.goes_on = record.problem, record.result, record.goes_on
        if record.problem:
            self.failures += not record.is_excused
            # A conversation that could not be taken up is left alone.
            if not (self.has_spoken or record.has_spoken):
                self.session = ""
                self.lost_at = self.starts if self.took_up else self.lost_at

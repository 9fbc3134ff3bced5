"""DeliveryQueue: the person's notices, their deliveries, and the person's absence. Pure. //
Its state is the fold of records; a decision method returns the record to store, `apply` applies it:

    opened     the channels, and the positions from which their sources are read
    noticed    a notice, its channels, and the read position of its source: one record
    passed     the read position of a source without a new notice
    tried      a delivery failed and is tried again at `next_at`
    delivered  the receiver has it
    dead       it was given up; a person may retry it (`again`)
    dropped    it is no longer needed: its question is no longer open
    away, back the person left, and returned

A delivery's id follows from its notice and channel, so a receiver recognizes a repeated delivery.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from hashlib import sha256
from typing import Any, Literal

from agiraph.core.clock import iso
from agiraph.notifications.notice import Notice, wants
from agiraph.settings.channels import ChannelConfig, channels_named

JsonObject = dict[str, Any]

MOST_WAITING = 1000
"""The maximum of waiting deliveries per channel; a channel with a long outage loses the newest."""
MOST_DEAD = 200
REMEMBERED = 5000
CROWDED = f"{MOST_WAITING} deliveries wait for this channel already"


@dataclass(frozen=True, slots=True)
class DoNotDisturb:
    """The person's absence, `until` a Unix time, or (None) until the person returns."""

    since: float
    until: float | None = None
    channel: str | None = None

    def holds_at(self, now: float) -> bool:
        """Whether the person is still away."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Delivery:
    """One notice on its way to one channel."""

    notice: Notice
    channel: str
    attempts: int = 0
    next_at: float = 0.0
    error: str = ""
    status: Literal["waiting", "dead"] = "waiting"
    at: float = 0.0

    @property
    def id(self) -> str:
        """Return the id by which the receiver recognizes a repeated delivery."""
        return delivery_id(self.notice.id, self.channel)


def delivery_id(notice: str, channel: str) -> str:
    """Return the id of a notice's delivery to a channel."""
    digest = sha256(f"{notice}\x1f{channel}".encode()).hexdigest()
    return f"dlv_{digest[:24]}"


@dataclass(slots=True)
class ChannelStats:
    """The statistics of a channel's deliveries, and its last error."""

    delivered: int = 0
    dropped: int = 0
    last_at: float | None = None
    last_error: str = ""


@dataclass(slots=True)
class DeliveryQueue:
    """The queue of deliveries. `thread` and `events` are the read positions of the sources.

    `reads_events`: some channel wants notices that are made from events.
    """

    channels: tuple[str, ...] = ()
    reads_events: bool = False
    thread: int = 0
    events: dict[str, int] = field(default_factory=dict)
    deliveries: "OrderedDict[str, Delivery]" = field(default_factory=OrderedDict)
    tallies: dict[str, ChannelStats] = field(default_factory=dict)
    away: DoNotDisturb | None = None
    _known: "OrderedDict[str, None]" = field(default_factory=OrderedDict)

    # --- decisions ---

    def opening(
        self,
        channels: Iterable[str],
        thread: int,
        events: Mapping[str, int] | None,
    ) -> JsonObject | None:
        """Return the record for an opening with these channels, None if nothing changes.

        `thread` and `events` are the ends of the sources now; no `events`: no channel wants them. A
        source that was not read before is read from here on.
        """
        names, reads_events = sorted(channels), events is not None
        if names == list(self.channels) and reads_events == self.reads_events:
            return None
        record: JsonObject = {"type": "opened", "channels": names, "reads_events": reads_events}
        if names and not self.channels:
            record["thread"] = thread
        if events is not None and not self.reads_events:
            record["events"] = dict(events)
        return record

    def noticing(
        self,
        notice: Notice,
        channels: Mapping[str, ChannelConfig],
        now: float,
        read: Mapping[str, Any],
    ) -> JsonObject | None:
        """Return the record of a notice and of the new position of its source, `read`.

        None if the notice is known, or if no channel wants it.
        """
        if notice.id in self._known:
            return None
        receivers = self._receivers(notice, channels, now)
        if not receivers:
            return None
        return {
            "type": "noticed",
            "notice": notice.model_dump(mode="json", exclude_defaults=True),
            "to": receivers,
            "at": now,
            **read,
        }

    def _receivers(
        self, notice: Notice, channels: Mapping[str, ChannelConfig], now: float
    ) -> list[str]:
        """Return the channels for a notice.

        They are the channel that the person named for urgent notices during an absence, else the
        channels that its question named, else all channels that want such notices.
        """
        away = self.away_at(now)
        if away is not None and notice.is_urgent and away.channel in channels:
            return [str(away.channel)]
        named = channels_named(notice.channel, channels)
        return named or [name for name, settings in channels.items() if wants(settings, notice)]

    def away_at(self, now: float) -> DoNotDisturb | None:
        """Return the absence at `now`, None if the person is present."""
        return self.away if self.away is not None and self.away.holds_at(now) else None

    def absence_at(self, now: float) -> str:
        """Return a text that the person is away and until when, '' if present."""
        away = self.away_at(now)
        if away is None:
            return ""
        return f"the human is away{f' until {iso(away.until)}' if away.until else ''}"

    def due(self, channel: str, now: float, *, holds: bool) -> list[Delivery]:
        """Return the deliveries that are due for a channel, oldest first.

        With `holds`, deliveries that are not urgent wait while the person is away.
        """
        is_held = holds and self.away_at(now) is not None
        return [
            delivery
            for delivery in self.waiting(channel)
            if delivery.next_at <= now and (delivery.notice.is_urgent or not is_held)
        ]

    def next_due(self, channel: str, now: float) -> float | None:
        """Return the next time at which a delivery may become due, None if there is none."""
        times = [delivery.next_at for delivery in self.waiting(channel)]
        if times and self.away is not None and self.away.until is not None:
            times.append(self.away.until)
        return min((time for time in times if time > now), default=None)

    def waiting(self, channel: str | None = None) -> list[Delivery]:
        """Return the waiting deliveries of one channel or of all, oldest first."""
        return [
            delivery
            for delivery in self.deliveries.values()
            if delivery.status == "waiting" and channel in (None, delivery.channel)
        ]

    def dead(self) -> list[Delivery]:
        """Return the abandoned deliveries, oldest first."""
        return [one for one in self.deliveries.values() if one.status == "dead"]

    # --- records ---

    def apply(self, record: JsonObject) -> None:
        """Apply one record to the state."""
        match record["type"]:
            case "opened":
                self.channels = tuple(record["channels"])
                self.reads_events = record.get("reads_events", False)
                for delivery in list(self.deliveries.values()):
                    if delivery.channel not in self.channels:
                        del self.deliveries[delivery.id]
                self._move(record)
            case "passed":
                self._move(record)
            case "noticed":
                self._notice(record)
                self._move(record)
            case "tried":
                changed = ("attempts", "next_at", "error", "at")
                self._change(record, **{name: record[name] for name in changed})
                self._tally(record["id"]).last_error = record["error"]
            case "delivered":
                tally = self._tally(record["id"])
                tally.delivered += 1
                tally.last_at, tally.last_error = record["at"], ""
                self.deliveries.pop(record["id"], None)
            case "dead":
                self._change(record, status="dead", error=record["error"], at=record["at"])
                self._tally(record["id"]).last_error = record["error"]
                self._bound_dead()
            case "again":
                self._change(record, status="waiting", attempts=0, next_at=0.0)
            case "dropped":
                self._tally(record["id"]).dropped += 1
                self.deliveries.pop(record["id"], None)
            case "away":
                self.away = DoNotDisturb(record["at"], record.get("until"), record.get("channel"))
            case "back":
                self.away = None
            case "state":
                self._restore(record)
            case other:
                raise ValueError(f"unknown record '{other}'")

    def _move(self, record: JsonObject) -> None:
        self.thread = max(self.thread, record.get("thread", 0))
        for agent, seq in record.get("events", {}).items():
            self.events[agent] = max(self.events.get(agent, 0), seq)

    def _notice(self, record: JsonObject) -> None:
        notice = Notice.model_validate(record["notice"])
        self._known[notice.id] = None
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        crowds = Counter(delivery.channel for delivery in self.waiting())
        for channel in record["to"]:
            delivery = Delivery(notice, channel, at=record["at"])
            if crowds[channel] >= MOST_WAITING:
                delivery = replace(delivery, status="dead", error=CROWDED)
            self.deliveries[delivery.id] = delivery
        self._bound_dead()

    def _change(self, record: JsonObject, **changes: Any) -> None:
        known = self.deliveries.get(record["id"])
        if known is not None:
            self.deliveries[record["id"]] = replace(known, **changes)

    def _tally(self, id: str) -> ChannelStats:
        known = self.deliveries.get(id)
        return self.tallies.setdefault(known.channel if known else "", ChannelStats())

    def _bound_dead(self) -> None:
        for delivery in self.dead()[:-MOST_DEAD]:
            del self.deliveries[delivery.id]

    # --- compaction: the journal becomes one record ---

    def state(self) -> JsonObject:
        """Return the whole state as one record, which `apply` accepts for an empty queue."""
        return {
            "type": "state",
            "channels": list(self.channels),
            "reads_events": self.reads_events,
            "thread": self.thread,
            "events": dict(self.events),
            "known": list(self._known),
            "deliveries": [
                asdict(one) | {"notice": one.notice.model_dump(mode="json", exclude_defaults=True)}
                for one in self.deliveries.values()
            ],
            "tallies": {name: astuple(tally) for name, tally in self.tallies.items()},
            "away": astuple(self.away) if self.away else None,
        }

    def _restore(self, record: JsonObject) -> None:
        self.channels = tuple(record["channels"])
        self.reads_events = record.get("reads_events", False)
        self._move(record)
        self._known = OrderedDict.fromkeys(record["known"])
        for stored in record["deliveries"]:
            one = Delivery(**stored | {"notice": Notice.model_validate(stored["notice"])})
            self.deliveries[one.id] = one
        self.tallies = {name: ChannelStats(*facts) for name, facts in record["tallies"].items()}
        self.away = DoNotDisturb(*record["away"]) if record["away"] else None


def backoff(attempt: int, first_seconds: float, most_seconds: float) -> float:
    """Return the seconds to wait after the `attempt`-th failure (counted from 1)."""
    return float(min(most_seconds, first_seconds * 2 ** min(attempt - 1, 30)))

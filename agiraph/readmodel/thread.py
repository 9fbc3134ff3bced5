"""The thread with an agent: one sequence of messages and steps, made of its event log.

Several events may concern the same entry: a model's answer, the message that it becomes, and its
arrival have the id of that message; a tool call and its end have the id of their step. They are one
entry, with the `seq` of the first of them, so that an entry keeps its id and its place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from agiraph.core.ids import COORDINATOR_NAME, HUMAN_NAME
from agiraph.core.models import Event
from agiraph.core.naming import short_name
from agiraph.http.api import EventView, ThreadCallView, ThreadEntryView, ThreadKind, ThreadPageView
from agiraph.logs.event_log import EventLog
from agiraph.logs.event_text import is_for, sentence_of

EVERYONE: Final = "*"
STRETCH: Final = 500
LOOKED_AROUND: Final = 500
"""Events before and after a page in which the rest of its entries is searched."""

MOST_STRETCHES: Final = 20
"""The maximum number of log sections read for one page: a filter may match few entries."""

SHOWN_ELSEWHERE: Final = frozenset({"send_message", "ask_human", "check_messages", "finish"})
"""Tools whose effect is an entry of its own, unless the call fails."""


@dataclass(frozen=True, slots=True)
class ThreadFilter:
    """Selects entries: the conversation with `entity`, of `kinds`, with `search` in the text."""

    entity: str | None = None
    kinds: frozenset[ThreadKind] = frozenset()
    search: str = ""

    def takes(self, entry: ThreadEntryView) -> bool:
        """Whether the filter selects an entry."""
        if self.kinds and entry.kind not in self.kinds:
            return False
        if self.entity is not None and not _is_with(entry, self.entity.casefold()):
            return False
        return self.search.casefold() in _words(entry) if self.search else True


@dataclass(slots=True)
class Thread:
    """Entries by their ids, made of events in the order of the log."""

    entries: dict[str, ThreadEntryView] = field(default_factory=dict)
    _calls: dict[str, Event] = field(default_factory=dict)
    _retrying: dict[str, str] = field(default_factory=dict)

    def add_all(self, events: Iterable[Event]) -> list[ThreadEntryView]:
        """Add events; return the created and changed entries in their new state."""
        changed = {entry.id: entry for event in events if (entry := self.add(event)) is not None}
        return list(changed.values())

    def add(self, event: Event) -> ThreadEntryView | None:
        """Add an event; return the created or changed entry."""
        entry = self._entry(event)
        if entry is None:
            return None
        known = self.entries.get(entry.id)
        if known is not None:
            entry = entry.model_copy(update={"seq": known.seq, "ts": known.ts})
        if entry.kind != "retry":
            self._retrying.pop(event.entity, None)
        self.entries[entry.id] = entry
        return entry

    def _entry(self, event: Event) -> ThreadEntryView | None:
        match event.type:
            case "message.received" if event.entity == HUMAN_NAME:
                return self._message(event)
            case "message.sent" | "human.nudge":
                return self._message(event)
            case "human.question":
                asker = _name(_text(event, "from") or event.entity)
                about = _names(asker, event.entity, HUMAN_NAME)
                return _made(event, "question", f"question:{_text(event, 'question_id')}", asker,
                             to=(HUMAN_NAME,), content=_text(event, "question"), about=about,
                             question_id=_text(event, "question_id"))  # fmt: skip
            case "human.response":
                to = _name(_text(event, "to"))
                by = _text(event, "by") or HUMAN_NAME
                return _made(event, "answer", f"answer:{_text(event, 'question_id')}", by,
                             to=(to,), content=_text(event, "answer"),
                             about=_names(HUMAN_NAME, to),
                             question_id=_text(event, "question_id"))  # fmt: skip
            case "model.answered":
                return self._answer(event)
            case "tool.called" | "tool.result":
                return self._tool(event)
            case "model.retry":
                id = self._retrying.setdefault(event.entity, _own_id(event))
                return _noted(event, "retry", id)
            case _ if not is_for("entity", event):
                return None
            case "human.expired" | "human.withdrawn":
                id = f"{event.type.partition('.')[2]}:{_text(event, 'question_id')}"
                return _noted(event, "note", id)
            case _:
                kind: ThreadKind = "result" if is_for("everyone", event) else "note"
                return _noted(event, kind, _own_id(event))

    def _message(self, event: Event) -> ThreadEntryView:
        """Return a message; all copies of a text to several receivers are one entry."""
        id = _text(event, "copy_of", "id") or _own_id(event)
        known = self.entries.get(id)
        sender = _text(event, "from")
        to: tuple[str, ...] = (_text(event, "to"),)
        if known is not None and known.to:
            to = tuple(dict.fromkeys((*known.to, *to)))
        kind: ThreadKind = "nudge" if event.type == "human.nudge" else "message"
        return _made(event, kind, id, sender, to=to, content=_text(event, "content"),
                     about=_names(sender, *to), in_reply_to=_text(event, "in_reply_to") or None,
                     answer=known.answer if known else None)  # fmt: skip

    def _answer(self, event: Event) -> ThreadEntryView | None:
        """Return a model's answer; an answer that is already a message stays this message."""
        text, call = _text(event, "text"), _text(event, "call") or None
        id = _text(event, "message") or _own_id(event)
        known = self.entries.get(id)
        if known is not None and known.kind != "said":
            return known.model_copy(update={"answer": call, "changed": event.seq})
        if not text.strip():
            return None
        return _made(event, "said", id, _name(event.entity), content=text, answer=call,
                     is_interrupted=bool(event.data.get("interrupted")))  # fmt: skip

    def _tool(self, event: Event) -> ThreadEntryView | None:
        address, _, place = (*event.key.split(":", 2), "", "")[:3]
        id = f"call:{address}:{place}" if place else _own_id(event)
        has_ended, name = event.type == "tool.result", _text(event, "tool")
        if not has_ended:
            self._calls[id] = event
        called = self._calls.get(id)
        is_failed = has_ended and _has_failed(event)
        if name in SHOWN_ELSEWHERE and not is_failed:
            return None
        arguments = called.data.get("arguments") if called else None
        call = ThreadCallView(
            step=place,
            name=name,
            title=sentence_of(called) if called else name,
            arguments=arguments if isinstance(arguments, dict) else None,
            malformed=(_text(called, "malformed") or None) if called else None,
            outcome="failed" if is_failed else "done" if has_ended else "running",
            output=_text(event, "preview"),
            characters=_number(event, "characters"),
            exit_code=_number(event, "exit_code"),
            ended_at=event.ts if has_ended else None,
        )
        return _made(event, "tool", id, _name(event.entity), call=call)


def thread_page(
    log: EventLog, after: int, limit: int, before: int | None, wanted: ThreadFilter
) -> ThreadPageView:
    """Return the entries that changed after event `after`.

    With `before`, instead the last entries that began before that event. Raises Corrupt, OSError.
    """
    if before is not None:
        return _page_before(log, before, limit, wanted)
    thread = thread_before(log, after + 1)
    events, seen = log.pick(after, limit)
    entries = tuple(filter(wanted.takes, thread.add_all(events)))
    return ThreadPageView(entries=entries, next=seen, previous=after + 1 if after else None)


def thread_before(log: EventLog, before: int) -> Thread:
    """Return the thread of the events before `before`, limited to recent events."""
    thread = Thread()
    thread.add_all(log.pick_before(before, LOOKED_AROUND)[0])
    return thread


def numbered(
    entries: Iterable[ThreadEntryView], numbers: Mapping[str, int]
) -> list[ThreadEntryView]:
    """Return entries with `number` set: their position in the person's inbox, by entry id."""
    return [
        entry.model_copy(update={"number": numbers[entry.id]}) if entry.id in numbers else entry
        for entry in entries
    ]


def _page_before(log: EventLog, before: int, limit: int, wanted: ThreadFilter) -> ThreadPageView:
    found: list[ThreadEntryView] = []
    end, start = None, before - 1
    for _ in range(MOST_STRETCHES):
        events, start, to = log.pick_before(start + 1, STRETCH)
        end = to if end is None else end
        thread = thread_before(log, start + 1)
        thread.add_all([*events, *log.pick(to, LOOKED_AROUND)[0]])
        here = (entry for entry in thread.entries.values() if start < entry.seq <= to)
        found[:0] = sorted(filter(wanted.takes, here), key=lambda entry: entry.seq)
        if start <= 0 or len(found) >= limit:
            break
    if len(found) > limit:
        found = found[-limit:]
        start = found[0].seq - 1
    return ThreadPageView(
        entries=tuple(found), next=end or 0, previous=start + 1 if start > 0 else None
    )


def _made(
    of: Event,
    kind: ThreadKind,
    id: str,
    sender: str,
    *,
    about: tuple[str, ...] = (),
    **facts: object,
) -> ThreadEntryView:
    return ThreadEntryView.model_validate(
        {
            "id": id,
            "seq": of.seq,
            "changed": of.seq,
            "ts": of.ts,
            "kind": kind,
            "from": sender,
            "about": about or _names(sender, of.entity),
            "run": of.run_id,
            **facts,
        }
    )


def _noted(event: Event, kind: ThreadKind, id: str) -> ThreadEntryView:
    """Return an entry that shows the event itself."""
    sender = _name(event.entity)
    named = (_text(event, "worker"), _text(event, "name"))
    return _made(event, kind, id, sender, about=_names(sender, event.entity, *named),
                 event=EventView.of(event))  # fmt: skip


def _is_with(entry: ThreadEntryView, entity: str) -> bool:
    """Whether an entry belongs to the conversation with the entity of this name.

    News of the coordinator's team belong to the conversation with the coordinator, too.
    """
    match entry.kind:
        case "said" | "tool":
            return entry.sender.casefold() == entity
        case "note" | "result" | "retry":
            is_news = entry.event is None or entry.event.audience != "entity"
            return (is_news and entity == COORDINATOR_NAME) or entity in entry.about
        case _:
            return entity in entry.about or EVERYONE in entry.to


def _words(entry: ThreadEntryView) -> str:
    parts = [entry.content]
    if (call := entry.call) is not None:
        parts += [call.name, str(call.arguments), call.malformed or "", call.output]
    if (event := entry.event) is not None:
        parts += [event.text, str(event.data.get(event.detail, ""))]
    return " ".join(parts).casefold()


def _own_id(event: Event) -> str:
    return f"event:{event.seq}"


def _has_failed(event: Event) -> bool:
    return bool(event.data.get("is_error") or event.data.get("exit_code"))


def _text(event: Event, *keys: str) -> str:
    """Return the first non-empty text among the values `keys` of an event's data, else ''."""
    return next((v for key in keys if isinstance(v := event.data.get(key), str) and v), "")


def _number(event: Event, key: str) -> int | None:
    value = event.data.get(key)
    return value if isinstance(value, int) else None


def _name(named: str) -> str:
    """Return `ada` for `shop-1/ada-7f3a91`, and for `ada`."""
    return short_name(named.rpartition("/")[2])


def _names(*named: str) -> tuple[str, ...]:
    """Return the names in an event in lower case, with and without their number."""
    last = [one.rpartition("/")[2].casefold() for one in named if one]
    return tuple(dict.fromkeys((*last, *map(_name, last))))

"""Requests to the scheduler: create, list, pause, resume, cancel and fire triggers.

Only an agent's own entities and the human may change its triggers, a worker only its own.
"""

from collections.abc import Callable

from actors.scheduler.trigger_store import TriggerStore
from agiraph.core.errors import AgiraphError, Refused
from agiraph.core.models import Event
from agiraph.messages.authorization import is_name_of, is_worker, shown_name
from agiraph.messages.body import MessageBody
from agiraph.messages.control import RefusedReply
from agiraph.messages.trigger import (
    ChangeTrigger,
    CreateTrigger,
    ListTriggers,
    TriggerFailed,
    TriggerState,
    TriggerTable,
)
from agiraph.settings.config import Config
from agiraph.triggers.parsing import parse_trigger
from agiraph.triggers.records import Trigger, trigger_id, trigger_view
from agiraph.triggers.timetable import machine_zone
from agiraph.triggers.trigger_set import TriggerSet
from transport.endpoint import Received
from transport.envelope import Header

EVENTS = {"pause": "trigger.paused", "resume": "trigger.resumed", "cancel": "trigger.cancelled"}
Report = Callable[[Event], None]


class TriggerRequests:
    """Executes requests about triggers; their effects are on disk before the reply."""

    def __init__(self, store: TriggerStore, config: Config, report: Report) -> None:
        self._store = store
        self._callbacks = tuple(config.callbacks)
        self._time_zone = config.triggers.time_zone or machine_zone()
        self._send_event = report

    def answer(self, received: Received, now: float) -> MessageBody | None:
        """Execute a request and return the reply; None for other messages."""
        body = received.body
        if not isinstance(body, CreateTrigger | ChangeTrigger | ListTriggers | TriggerFailed):
            return None
        try:
            book = self._store.book(body.agent)
            match body:
                case CreateTrigger():
                    return self._create(book, body, received.header, now)
                case ChangeTrigger():
                    _check_maker(received.header.sender, book.find(body.trigger_id))
                    return self._change(book, body, received.header.id.hex(), now)
                case ListTriggers():
                    views = (trigger_view(trigger) for trigger in book.triggers.values())
                    return TriggerTable(triggers=tuple(views))
                case TriggerFailed():
                    self._pause(book, body, received.header.id.hex(), now)
                    return None
        except AgiraphError as error:
            return RefusedReply(reason=str(error), kind=type(error).__name__)

    def _create(
        self, book: TriggerSet, body: CreateTrigger, header: Header, now: float
    ) -> TriggerState:
        id, sender = trigger_id(header.id), header.sender
        by = shown_name(sender, body.created_by) if is_worker(sender) else body.created_by
        if id not in book.triggers:
            new = parse_trigger(
                body.type,
                body.config,
                body.action,
                now=now,
                time_zone=self._time_zone,
                callbacks=self._callbacks,
                name=body.name,
                created_by=by,
            )
            if book.is_watching:
                self._store.catch_up(book, now)
            else:
                self._store.start_watching(book)
            trigger = book.add(id, new, now)
            self._store.save(book)
            self._report(trigger, "trigger.created", now, by=by)
        return TriggerState(trigger=trigger_view(book.triggers[id]))

    def _change(
        self, book: TriggerSet, body: ChangeTrigger, cause: str, now: float
    ) -> TriggerState:
        id = book.find(body.trigger_id).id
        if body.act == "resume" and not book.is_watching:
            self._store.start_watching(book)
        trigger = book.act(id, body.act, now, cause=cause, reason=body.reason)
        self._store.save(book)
        if body.act in EVENTS:
            self._report(trigger, EVENTS[body.act], now, reason=body.reason)
        return TriggerState(trigger=trigger_view(trigger))

    def _pause(self, book: TriggerSet, body: TriggerFailed, cause: str, now: float) -> None:
        trigger = book.triggers.get(body.trigger_id)
        if trigger is not None and trigger.is_active:
            paused = book.act(trigger.id, "pause", now, cause=cause, reason=body.reason)
            self._store.save(book)
            self._report(paused, "trigger.paused", now, reason=body.reason)

    def _report(self, trigger: Trigger, kind: str, now: float, **about: str) -> None:
        data = {"trigger_id": trigger.id, "name": trigger.name, "type": trigger.schedule.type}
        data |= {key: value for key, value in about.items() if value}
        event = Event(type=kind, agent_id=trigger.agent_id, ts=now, entity="clock", data=data)
        self._send_event(event)


def _check_maker(sender: str, trigger: Trigger) -> None:
    """Raise Refused if a worker would change a trigger that it has not created."""
    by = trigger.created_by
    if is_worker(sender) and by != sender and not is_name_of(sender, by):
        raise Refused(f"{sender} has not made trigger '{trigger.id}': '{by}' or a person may")

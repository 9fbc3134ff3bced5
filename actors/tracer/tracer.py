"""The tracer: reads each agent's log from a cursor and sends its spans to a collector.

A page of events is applied to a copy of the builder's state; the copy replaces the state, on disk
too, once the collector has the spans. So an unavailable collector delays spans and loses none, and
a tracer that is killed sends at most one page again: the same spans, with the same ids.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.tracer.export import SpanExporter
from agiraph.core.concurrency import Signal, first_to_end
from agiraph.core.errors import Corrupt, Refused
from agiraph.core.json_text import parse_json
from agiraph.core.models import Agent, Event
from agiraph.logs.event_log import EventLog
from agiraph.messages.event import EventsGrew
from agiraph.storage.agent_folders import AgentFolders
from agiraph.storage.files import read_bytes, replace_file
from agiraph.storage.home import Home
from agiraph.storage.walk import UnsafeFile
from agiraph.tracing.span_builder import SpanBuilder, SpanBuilderState, last_ended_before
from agiraph.tracing.spans import Span

LAST_SECONDS = 1.0
PAGE = 500
GATHER_SECONDS = 1.0
POLL_SECONDS = 30.0
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0

Send = Callable[[Sequence[Span]], bool]


class Tracer:
    """Sends the spans of all agents; its state is the position in each log, and the open spans.

    `send` blocks and returns whether the collector has the spans. The first tracer of a home
    ignores work that ended before `since`. Raises Corrupt.
    """

    def __init__(
        self, home: Home, send: Send, log: Any, *, with_content: bool, since: float
    ) -> None:
        self._home = home
        self._send = send
        self._log = log
        self._with_content = with_content
        self._file = home.system.tracing
        self._logs: dict[str, EventLog] = {}
        self._folders = AgentFolders(home.agents, log)
        self._unread: set[str] = set()
        self._news = Signal()
        known = _load(self._file)
        self._states = known or {}
        if known is None:
            self._states = {
                agent: SpanBuilderState(cursor=last_ended_before(self._events(agent), since))
                for agent in self._folders.names()
            }
            self._save()

    def notify(self) -> None:
        """Check the logs again: some log has grown."""
        self._news.set()

    async def run(self) -> None:
        """Send spans until cancelled."""
        wait = FIRST_WAIT_SECONDS
        while True:
            if await self.send_pending():
                wait = FIRST_WAIT_SECONDS
                await self._news.next(POLL_SECONDS)
                await asyncio.sleep(GATHER_SECONDS)
            else:
                self._log.warning("the collector does not accept spans", again_in_seconds=wait)
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    async def send_pending(self) -> bool:
        """Send all new events of all logs; return whether the collector accepted them."""
        for agent in self._folders.names():
            while True:
                sent = await self._page(agent)
                if sent is None:
                    break
                if not sent:
                    return False
        return True

    async def _page(self, agent: str) -> bool | None:
        """Send the spans of one page of an agent's events; None if there is no new event.

        Return whether the collector accepted them.
        """
        state = self._states.get(agent) or SpanBuilderState()
        events = self._page_of(agent, state.cursor)
        if not events:
            return None
        after = deepcopy(state)
        after.name = after.name or self._name_of(agent)
        builder = SpanBuilder(agent, after, with_content=self._with_content)
        spans = [span for event in events for span in builder.build_spans(event)]
        if spans and not await asyncio.to_thread(self._send, spans):
            return False
        self._states[agent] = after
        self._save()
        return True

    def _events(self, agent: str) -> Iterator[Event]:
        """Yield all events of an agent."""
        seq = 0
        while events := self._page_of(agent, seq):
            yield from events
            seq = events[-1].seq

    def _page_of(self, agent: str, cursor: int) -> list[Event]:
        """Return the next events of an agent; a damaged log ends at the damage."""
        try:
            return self._log_of(agent).page(cursor, PAGE)
        except (Corrupt, UnsafeFile) as error:
            if agent not in self._unread:
                self._log.error("events cannot be read", agent=agent, reason=str(error))
            self._unread.add(agent)
            return []

    def _log_of(self, agent: str) -> EventLog:
        if agent not in self._logs:
            self._logs[agent] = EventLog(self._home.agent(agent).events)
        return self._logs[agent]

    def _name_of(self, agent: str) -> str:
        try:
            record = self._home.agent(agent).record
            return Agent.model_validate_json(read_bytes(record)).name
        except (OSError, ValueError):
            return ""

    def _save(self) -> None:
        states = {agent: asdict(state) for agent, state in self._states.items()}
        replace_file(self._file, json.dumps(states))


def _load(file: Path) -> dict[str, SpanBuilderState] | None:
    """Return the stored state, None if no state is stored. Raises Corrupt."""
    try:
        stored = parse_json(read_bytes(file))
        return {agent: SpanBuilderState(**state) for agent, state in stored.items()}
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError) as error:
        raise Corrupt(
            f"{file} is no state of a tracer ({error}); delete it to start again"
        ) from error


def main(launch: ActorLaunch) -> int:
    """Run the tracer; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Send spans until cancelled, then send the remaining ones."""
    telemetry = runtime.config.telemetry
    try:
        exporter = SpanExporter(
            telemetry.otlp_endpoint, telemetry.service_name, telemetry.timeout_seconds
        )
    except ImportError as error:
        raise Refused(
            f"telemetry.otlp_endpoint is set, but {error.name} is not installed: "
            "pip install 'agiraph[otel]'"
        ) from error
    tracer = Tracer(
        runtime.home,
        exporter.send,
        runtime.log,
        with_content=telemetry.content,
        since=psutil.Process(os.getppid()).create_time(),  # the supervisor's
    )
    await runtime.ready()
    try:
        await first_to_end(tracer.run(), _listen(runtime, tracer))
    except asyncio.CancelledError:
        async with asyncio.timeout(LAST_SECONDS):
            await tracer.send_pending()
        raise
    finally:
        exporter.close()


async def _listen(runtime: Runtime, tracer: Tracer) -> None:
    while True:
        received = await runtime.receive()
        if isinstance(received.body, EventsGrew):
            tracer.notify()
        runtime.done(received)

"""Reading a stream of server-sent events: lines in, events out."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from agiraph.core.models import Event
from agiraph.http.client.wire import BAD, refusal_of

SILENCE_SECONDS = 45.0
"""The gateway says something every 15 seconds; after three times that it is gone."""

OPEN_SECONDS = 10.0
FINAL = 1000
FAULT = 500


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The gateway has ended the stream; `is_final`: nothing will ever follow."""

    is_final: bool
    reason: str


@asynccontextmanager
async def open_stream(
    http: httpx.AsyncClient, path: str, query: Mapping[str, Any]
) -> AsyncIterator[AsyncIterator[Event | StreamEnd]]:
    """Hand out the events of a stream. Raises httpx.TransportError if it breaks, ApiError."""
    async with http.stream(
        "GET",
        path,
        params=dict(query),
        headers={"Accept": "text/event-stream"},
        timeout=httpx.Timeout(OPEN_SECONDS, read=SILENCE_SECONDS),
    ) as response:
        if response.status_code >= BAD:
            await response.aread()
            refusal = refusal_of(response)
            if refusal.status >= FAULT:
                raise httpx.RemoteProtocolError(refusal.detail)
            raise refusal
        yield read_events(response.aiter_lines())


async def read_events(lines: AsyncIterator[str]) -> AsyncIterator[Event | StreamEnd]:
    """Yield what the lines of a stream say."""
    kind, data = "", ""
    async for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "data":
            data += value
        elif not line and data:
            yield _told(kind, data)
            kind, data = "", ""


def _told(kind: str, data: str) -> Event | StreamEnd:
    if kind == "end":
        said = json.loads(data)
        return StreamEnd(is_final=said["code"] == FINAL, reason=said["reason"])
    return Event.model_validate_json(data)

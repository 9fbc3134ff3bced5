"""What an entity heard, said and ran, as its conversation's journal holds it, page by page."""

import json
from pathlib import Path
from typing import Any

from actors.gateway.gateway import Gateway
from agiraph.board.names import find_worker
from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.models import Agent
from agiraph.http.api import ApiError, TranscriptEntryView, TranscriptPageView
from agiraph.storage.files import UnsafeFile, read_bytes
from agiraph.storage.home import RunHome

JsonObject = dict[str, Any]
MOST_BYTES = 1 << 30


def transcript_of(gateway: Gateway, agent: Agent, run: RunHome | None, entity: str) -> Path:
    """Return the journal of an agent's coordinator, or of a worker of the run, by name or id.

    Raises ApiError 404 that lists the known.
    """
    if entity.casefold() == COORDINATOR_NAME:
        return gateway.agents.home_of(agent).conversation
    board = gateway.boards.of(run)
    try:
        worker = find_worker(board, entity)
    except InvalidInput:
        known = [COORDINATOR_NAME, *(member.name for member in board.workers.values())]
        raise ApiError(404, str(unknown("entity", entity, known))) from None
    assert run is not None  # a board without a run has no workers
    return run.worker(worker.id).conversation


def transcript_page(path: Path, after: int, limit: int, before: int | None) -> TranscriptPageView:
    """Return the first `limit` records after line `after`, or with `before` the last before it."""
    try:
        lines = read_bytes(path, MOST_BYTES).splitlines(keepends=True)
    except FileNotFoundError:
        lines = []
    except UnsafeFile as error:
        raise ApiError(500, str(error)) from None
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()  # half of it is still to be written
    end = len(lines) if before is None else min(len(lines), max(0, before - 1))
    start = min(after, end) if before is None else max(after, end - limit)
    stop = min(end, start + limit)
    try:
        entries = tuple(_entry(lines[number], number + 1) for number in range(start, stop))
    except ValueError:
        raise ApiError(500, f"{path} is damaged (agiraph doctor tells more)") from None
    previous = start + 1 if entries and start > 0 else None
    return TranscriptPageView(entries=entries, next=stop if entries else after, previous=previous)


def _entry(line: bytes, seq: int) -> TranscriptEntryView:
    record: JsonObject = json.loads(line)
    text = record.get("content", record.get("text"))
    facts = record | {"seq": seq, "from": record.get("from_name", ""), "content": text}
    return TranscriptEntryView.model_validate(facts)

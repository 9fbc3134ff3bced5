"""Ends: journals that were cut between two records, which only other files show.

Each event contains the position of the journal's record from which it follows: a record of the
board, or a step of an entity. So a journal is cut if it ends before the position in an event, and
the event log is cut if it ends before the last answer of a conversation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agiraph.agent.event_replay import step_in
from agiraph.agent.records import numbered_steps
from agiraph.board.board import Board
from agiraph.board.events import place_in
from agiraph.core.errors import Corrupt
from agiraph.core.ids import AgentId, WorkerId, coordinator_address, worker_address
from agiraph.core.turns import JsonObject
from agiraph.http.discovery import is_held
from agiraph.storage.files import entries, status_of
from agiraph.storage.home import AgentHome, Home, RunHome
from agiraph.storage.journal import read_journal, read_tail
from agiraph.storage.segments import SEGMENT_BYTES, segments_of
from cli.doctor_checks.check import DoctorCheck, DoctorContext, first_of, ok, warn
from cli.doctor_checks.home import agents_of, latest_runs

LONGEST_JOURNAL: Final = 64 * 1024 * 1024
LONGEST_LOG: Final = 2 * SEGMENT_BYTES


@dataclass(frozen=True, slots=True)
class ConversationEnd:
    """The end of a conversation: its epoch, its steps, and the position of its last answer."""

    epoch: str
    steps: int
    last_answer: int


def check_ends(context: DoctorContext) -> DoctorCheck:
    """Check that no journal ends before an event about it, and no event log before a last step.

    A journal that was cut between two records can be read; only other files show that it was cut.
    """
    is_at_rest = not is_held(context.home.path)
    cut = [
        line
        for agent in agents_of(context.home)
        for line in _cut_files(context.home, agent, is_at_rest=is_at_rest)
    ]
    if cut:
        return warn(
            first_of(cut),
            "stop the supervisor and restore the file's folder from a backup; without one the work"
            " continues from the last record, and lost events are missing from the views",
        )
    return ok("no journal is shorter than events say, no event log shorter than conversations")


def _cut_files(home: Home, agent: AgentHome, *, is_at_rest: bool) -> Iterator[str]:
    events = read_tail(agent.events, LONGEST_LOG)
    for run, board, place in _last_places(agent, events):
        if (records := _records_before(run, board, place)) is not None:
            yield (
                f"{run.journal} has lost its end: it has {records} records, and the agent's events"
                f" name its record {place + 1}"
            )
    steps = _last_steps(events)
    is_whole = bool(events) and events[0].get("seq") == 1
    is_empty = not events and not _has_segments(agent)
    for address, path in _conversations(agent):
        end = conversation_end(path)
        if end is None:
            continue
        is_any = not end.steps  # the record with its epoch is lost, too
        last = max(
            (
                position
                for (named, epoch), position in steps.items()
                if named == address and (is_any or epoch == end.epoch)
            ),
            default=None,
        )
        if last is not None and last > end.steps:
            yield (
                f"{path} has lost its end: it has {end.steps} steps, and the agent's events name"
                f" its step {last}"
            )
        is_known = last is not None or is_whole or is_empty
        if is_at_rest and is_known and (last or 0) < end.last_answer:
            yield (
                f"{agent.events} ends before {path}: it has lost its end, or the last events were"
                " not recorded (a process that continues reports its last steps again)"
            )
            is_at_rest = False  # one line for each event log


def _has_segments(agent: AgentHome) -> bool:
    try:
        return bool(segments_of(agent.events))
    except OSError:
        return True  # `check_files` reports it


def _last_places(agent: AgentHome, events: list[JsonObject]) -> list[tuple[RunHome, str, int]]:
    """Return (run, key of the board, last place in its journal that an event names).

    For each of the latest runs.
    """
    places: dict[str, int] = {}
    for record in events:
        if found := place_in(str(record.get("key", ""))):
            board, place = found
            places[board] = max(place, places.get(board, 0))
    return [
        (run, board, place)
        for run in latest_runs(agent)
        for board, place in places.items()
        if board.partition(".")[0] == run.path.name
    ]


def _records_before(run: RunHome, board: str, place: int) -> int | None:
    """Return the number of a journal's records if the journal ends before a place, else None.

    A journal that continues after damage has a new epoch; places of other epochs do not count.
    """
    records = _records(run.journal)
    if records is None:
        return None
    epoch = next((one["epoch"] for one in reversed(records) if one.get("epoch")), "")
    is_own = not records or board == Board(epoch=epoch).key(run.path.name)
    return len(records) if is_own and len(records) <= place else None


def _records(path: Path) -> list[JsonObject] | None:
    """Return the records of a journal, None if it is missing, unreadable or too long."""
    try:
        status = status_of(path)
        return None if status is None or status.st_size > LONGEST_JOURNAL else read_journal(path)
    except (OSError, Corrupt):
        return None  # other checks report it


def _last_steps(events: list[JsonObject]) -> dict[tuple[str, str], int]:
    """Return the last step that events name, by (address of the entity, epoch)."""
    found: dict[tuple[str, str], int] = {}
    for event in events:
        if step := step_in(str(event.get("key", ""))):
            address, epoch, position = step
            found[address, epoch] = max(position, found.get((address, epoch), 0))
    return found


def _conversations(agent: AgentHome) -> Iterator[tuple[str, Path]]:
    """Yield (address, conversation file) of each entity in an agent's latest runs."""
    id = AgentId(agent.path.name)
    yield coordinator_address(id), agent.conversation
    for run in latest_runs(agent):
        try:
            workers = [one.name for one in entries(run.workers) if one.name[0] != "."]
        except OSError:
            continue
        for worker in map(WorkerId, workers):
            yield worker_address(id, worker), run.worker(worker).conversation


def conversation_end(path: Path) -> ConversationEnd | None:
    """Return the end of a conversation, None if it cannot be determined.

    An empty conversation has no epoch.
    """
    records = _records(path)
    if records is None:
        return None
    began = (one for one in reversed(records) if one.get("kind") == "epoch.began")
    epoch = str(next(began, {}).get("epoch", ""))
    steps, last_answer = 0, 0
    for index, of_epoch, steps in numbered_steps(records):
        if of_epoch == epoch and records[index].get("kind") == "said":
            last_answer = steps
    return ConversationEnd(epoch, steps, last_answer)

"""Transcripts: an entity's journal in pages, each call with its input, its time and its outcome."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from agiraph.agent.event_replay import exit_code
from agiraph.agent.records import numbered_steps
from agiraph.core.ids import step_place
from agiraph.core.json_text import parse_json
from agiraph.core.turns import ToolCall, unique_calls
from agiraph.http.api import ApiError, TranscriptEntryView, TranscriptPageView
from agiraph.storage.files import read_bytes
from agiraph.storage.walk import UnsafeFile

JsonObject = dict[str, Any]
MOST_BYTES: Final = 1 << 30
LOOKED_BACK: Final = 400
"""Records before the end of a call in which its beginning is searched."""

PLAIN = re.compile(r"[a-z0-9]+")


def transcript_page(
    path: Path, after: int, limit: int, before: int | None, search: str = "", step: str = ""
) -> TranscriptPageView:
    """Return the first `limit` records after line `after`, or with `before` the last before it.

    With `search`: records with these words in their text or in the arguments of their calls; with
    `step`: the start and the end of the tool call of this step. Raises ApiError 500 if the journal
    is damaged.
    """
    try:
        return _Journal(path, search, step).page(after, limit, before)
    except ValueError:
        raise ApiError(500, f"{path} is damaged (agiraph doctor says more)") from None


class _Journal:
    """The lines of one journal, with a filter."""

    def __init__(self, path: Path, search: str, step: str) -> None:
        try:
            self._lines = read_bytes(path, MOST_BYTES).splitlines(keepends=True)
        except FileNotFoundError:
            self._lines = []
        except UnsafeFile as error:
            raise ApiError(500, str(error)) from None
        if self._lines and not self._lines[-1].endswith(b"\n"):
            self._lines.pop()  # half of it is still to be written
        self._asked, self._search, self._step = search, search.casefold(), step

    def page(self, after: int, limit: int, before: int | None) -> TranscriptPageView:
        """Return one page; `previous` and `next` lead to further matching records."""
        lines = self._lines
        end = len(lines) if before is None else min(len(lines), max(0, before - 1))
        start = min(after, end)
        if before is None:
            numbers = list(self._first(range(start, end), limit))
        else:
            numbers = list(self._first(range(end - 1, start - 1, -1), limit))[::-1]
        if not numbers:
            return TranscriptPageView(entries=(), next=after)
        first = numbers[0]
        has_more = any(True for _ in self._first(range(first - 1, -1, -1), 1))
        return TranscriptPageView(
            entries=tuple(self._entry(number) for number in numbers),
            next=numbers[-1] + 1,
            previous=first + 1 if has_more else None,
        )

    def _first(self, numbers: Sequence[int], limit: int) -> Iterator[int]:
        """Yield the first `limit` of these lines that match."""
        left = limit
        for number in numbers:
            if left == 0:
                return
            if self._is_wanted(number):
                left -= 1
                yield number

    def _is_wanted(self, number: int) -> bool:
        if self._step and number not in self._of_step:
            return False
        if not self._search:
            return True
        line = self._lines[number]
        if self._plain not in line.lower():
            return False
        record = self._record(number)
        calls = (json.dumps(one, ensure_ascii=False) for one in record.get("tool_calls", ()))
        texts = (record.get("content"), record.get("text"), record.get("name"), *calls)
        return any(self._search in text.casefold() for text in texts if isinstance(text, str))

    @cached_property
    def _of_step(self) -> frozenset[int]:
        """The numbers of the lines about the call `step` (PLACE.INDEX: an answer, a call in it)."""
        place, _, index = self._step.rpartition(".")
        steps = numbered_steps(map(self._record, range(len(self._lines))))
        names = ((number, step_place(epoch, position)) for number, epoch, position in steps)
        said = next((number for number, name in names if name == place), None)
        if said is None or not index.isdecimal():
            return frozenset()
        calls = _calls(self._record(said))
        wanted = calls[int(index)].id if int(index) < len(calls) else None
        found = set[int]()
        for number in range(said + 1, len(self._lines)):
            record = self._record(number)
            if record.get("kind") == "said":
                break
            if wanted is not None and record.get("call_id") == wanted:
                found.add(number)
        return frozenset(found)

    @cached_property
    def _plain(self) -> bytes:
        """The longest part of the search text that a matching line contains literally."""
        return max(PLAIN.findall(self._asked.lower()), key=len, default="").encode()

    def _record(self, number: int) -> JsonObject:
        record: JsonObject = parse_json(self._lines[number])
        return record

    def _entry(self, number: int) -> TranscriptEntryView:
        record = self._record(number)
        text = record.get("content", record.get("text"))
        facts = record | {"seq": number + 1, "from": record.get("from_name", ""), "content": text}
        match record.get("kind"):
            case "tool.started" | "tool.finished":
                facts |= self._call_of(number, record)
            case "said" if record.get("asked_at") is not None:
                facts |= {"started_at": record["asked_at"]}
            case _:
                pass
        if (started_at := facts.get("started_at")) is not None:
            facts["seconds"] = max(0.0, record.get("ts", 0.0) - started_at)
        return TranscriptEntryView.model_validate(facts)

    def _call_of(self, number: int, record: JsonObject) -> JsonObject:
        """Return the input of a call, and of an ended call also its start and exit code."""
        found: JsonObject = {}
        id, has_ended = record.get("call_id"), record["kind"] == "tool.finished"
        for line in range(number - 1, max(-1, number - 1 - LOOKED_BACK), -1):
            before = self._record(line)
            if has_ended and before.get("kind") == "tool.started" and before.get("call_id") == id:
                found["started_at"] = before.get("ts")
            if before.get("kind") == "said" and (call := _call(before, id)) is not None:
                found["arguments"] = call.arguments
                break
        if has_ended:
            found["exit_code"] = exit_code(record.get("name", ""), record.get("content") or "")
        return found


def _calls(said: JsonObject) -> tuple[ToolCall, ...]:
    return unique_calls(tuple(ToolCall.model_validate(one) for one in said.get("tool_calls", ())))


def _call(said: JsonObject, id: str | None) -> ToolCall | None:
    return next((call for call in _calls(said) if call.id == id), None)

"""Recording: model calls as lines of JSON, so that a run can be replayed. Pure.

A call's line contains the request and the answer. A conversation repeats itself with every call, so
a line has only the changes since the same entity's last line: the first `kept` turns are the same,
`turns` follow; `system` and `tools` are present if they changed. Secrets are redacted.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from agiraph.core.errors import InvalidInput
from agiraph.core.record import Record
from agiraph.core.redaction import redact
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse, Turn
from agiraph.llm.packing import TURN
from agiraph.llm.wire.pictures import without_bytes

VERSION = 1


class RecordedLine(Record):
    """One line of the file: requested at `asked`, answered at `ts`.

    `failed` is the kind and text of an error.
    """

    v: int = VERSION
    ts: float
    asked: float | None = None
    entity: str
    model: str
    system: str | None = None
    tools: tuple[str, ...] | None = None
    kept: int = 0
    turns: tuple[Turn, ...] = ()
    response: ModelResponse | None = None
    failed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One complete call; `number` counts its entity's calls from 1, `place` all calls from 0.

    The call was requested at `asked` (an older Agiraph did not record it) and answered at `ts`.
    """

    place: int
    number: int
    asked: float | None
    ts: float
    entity: str
    model: str
    system: str
    tools: tuple[str, ...]
    turns: tuple[Turn, ...]
    response: ModelResponse | None
    failed: tuple[str, str] | None


@dataclass(slots=True)
class RecordingWriter:
    """Writes the lines of one recording. `secrets` are texts that must not appear in it."""

    secrets: tuple[str, ...] = ()
    _last: dict[str, ModelRequest] = field(default_factory=dict)

    def line(
        self,
        request: ModelRequest,
        ts: float,
        response: ModelResponse | None = None,
        failed: tuple[str, str] | None = None,
        asked: float | None = None,
    ) -> str:
        """Return the line of a call, with the line break."""
        last = self._last.get(request.entity)
        self._last[request.entity] = without_bytes(request)
        tools = tuple(tool.name for tool in request.tools)
        has_tools = last is not None and tools == tuple(tool.name for tool in last.tools)
        kept = _common_prefix(last.turns, request.turns) if last else 0
        line = RecordedLine(
            ts=ts,
            asked=asked,
            entity=request.entity,
            model=request.model,
            system=None if last and request.system == last.system else request.system,
            tools=None if has_tools else tools,
            kept=kept,
            turns=request.turns[kept:],
            response=response,
            failed=failed,
        )
        values = redacted(line.model_dump(mode="json", exclude_none=True), self.secrets)
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_recording(lines: Iterable[str], name: str) -> list[RecordedCall]:
    """Return the calls of a recording.

    Raises InvalidInput for a file that is not a recording. A torn line (its writer was killed) is
    skipped. A repeated call without changes counts once, with its last answer.
    """
    calls: list[RecordedCall] = []
    known: dict[str, RecordedCall] = {}
    for place, text in enumerate(lines):
        try:
            line = RecordedLine.model_validate_json(text)
        except ValidationError:
            continue
        if line.v != VERSION:
            raise InvalidInput(
                f"{name}: is a recording of version {line.v}, this Agiraph knows {VERSION}"
            )
        before = known.get(line.entity)
        call = _whole(line, before, place)
        if before is not None and call.number == before.number:
            calls.remove(before)
        known[line.entity] = call
        calls.append(call)
    if not calls:
        raise InvalidInput(f"{name}: is no recording of model calls, or an empty one")
    return calls


def redacted(value: Any, secrets: Iterable[str]) -> Any:
    """Return a JSON value without known secrets and texts that look like secrets."""
    match value:
        case str():
            for secret in secrets:
                value = value.replace(secret, "[key]")
            return redact(value)
        case dict():
            return {key: redacted(one, secrets) for key, one in value.items()}
        case list() | tuple():
            return [redacted(one, secrets) for one in value]
        case _:
            return value


def recorded_turns(turns: Iterable[Turn]) -> list[JsonObject]:
    """Return turns as JSON objects with secrets redacted, as a recording contains them."""
    return [redacted(TURN.dump_python(turn, mode="json"), ()) for turn in turns]


def _whole(line: RecordedLine, before: RecordedCall | None, place: int) -> RecordedCall:
    turns = ((before.turns if before else ())[: line.kept]) + line.turns
    system = line.system if line.system is not None else (before.system if before else "")
    tools = line.tools if line.tools is not None else (before.tools if before else ())
    is_repeated = before is not None and (before.turns, before.system) == (turns, system)
    number = before.number + (not is_repeated) if before else 1
    return RecordedCall(
        place=place,
        number=number,
        asked=line.asked,
        ts=line.ts,
        entity=line.entity,
        model=line.model,
        system=system,
        tools=tools,
        turns=turns,
        response=line.response,
        failed=line.failed,
    )


def _common_prefix(one: tuple[Turn, ...], other: tuple[Turn, ...]) -> int:
    """Return how many turns at the beginning of both are equal."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a is not b and a != b:
            break
        count += 1
    return count

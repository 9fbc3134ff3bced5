"""Replay: the provider that plays a recorded run again; needs no key and no network.

`replay/FILE` answers what the recording says was answered, to whoever asks the same. An entity is
known by its name, its calls by what they ask; so nothing is kept that a restart could lose but the
order: answers are given in the order of the recording, as far as they are asked for in time. A call
that the recording has not fails with the place where it differs.
"""

import asyncio
from collections import defaultdict
from pathlib import Path

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import ModelRequest, ModelResponse, ToolCall
from agiraph.llm.base import OnAnswer, OnText, ProviderError, unmetered
from agiraph.llm.packing import TURN
from agiraph.llm.recording.recording import RecordedCall, bare, blotted, read_recording
from agiraph.llm.recording.request_matching import (
    RequestPart,
    difference,
    masked,
    pieces_of,
    renamed,
    renaming,
    with_model,
)

PREFIX = "replay/"
PATIENCE_SECONDS = 3.0


class RecordingPlayback:
    """One recording, and how far it was played."""

    def __init__(self, calls: list[RecordedCall]) -> None:
        """Begin at its beginning."""
        self._of: defaultdict[str, list[RecordedCall]] = defaultdict(list)
        for call in calls:
            self._of[call.entity].append(call)
        self._pieces: dict[int, list[RequestPart]] = {}
        self._claimed: dict[str, str] = {}
        self._waiting = {call.place for call in calls}
        self._played = asyncio.Condition()
        self.diverged = ""

    def find(self, request: ModelRequest) -> tuple[RecordedCall, list[RequestPart]]:
        """Return the recorded call that asks the same, and what is asked now.

        Raises ProviderError (diverged) with the first difference of all.
        """
        now = now_asked(request)
        own = self._entity_of(request.entity, now)
        if own is None:
            raise self._diverged(f"{request.entity} calls a model, and nobody like it ever did")
        unplayed = [call for call in self._of[own] if call.place in self._waiting]
        played = [call for call in self._of[own] if call.place not in self._waiting]
        for call in (*unplayed, *played):
            if difference(self._asked(call), now) is None:
                return call, now
        if not unplayed:
            count, name = len(self._of[own]) + 1, own.rpartition("/")[2]
            raise self._diverged(f"at call {count} of {name}: the recording has one less")
        wanted = unplayed[0]
        found = difference(self._asked(wanted), now)
        assert found is not None
        where = f"at call {wanted.number} of {wanted.entity} (line {wanted.place + 1} of the file)"
        raise self._diverged(f"{where}: {found.told()}")

    async def its_turn(self, call: RecordedCall) -> None:
        """Wait until all that was answered before this call has been played, but not for ever."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._played:
                await self._played.wait_for(lambda: self._next() >= call.place)
        except TimeoutError:  # who was answered before it does not ask this time
            self._waiting -= {place for place in self._waiting if place < call.place}

    async def done(self, call: RecordedCall) -> None:
        """Note that a call was played."""
        async with self._played:
            self._waiting.discard(call.place)
            self._played.notify_all()

    def renaming(self, call: RecordedCall, now: list[RequestPart]) -> dict[str, str]:
        """Return what the names of the recorded run are called now."""
        return renaming(self._asked(call), now)

    def _next(self) -> int:
        return min(self._waiting, default=1 << 62)

    def _asked(self, call: RecordedCall) -> list[RequestPart]:
        if call.place not in self._pieces:
            asked = call.entity, call.system, call.tools, call.turns
            self._pieces[call.place] = pieces_of(*asked)
        return self._pieces[call.place]

    def _entity_of(self, entity: str, now: list[RequestPart]) -> str | None:
        """Return whose calls an entity's are: one of its name, the one that asked the same."""
        if entity in self._claimed:
            return self._claimed[entity]
        name, taken = _name(entity), set(self._claimed.values())
        free = [one for one in self._of if _name(one) == name and one not in taken]
        alike = (
            one
            for one in free
            if any(difference(self._asked(call), now) is None for call in self._of[one])
        )
        found = next(alike, free[0] if free else None)
        if found is not None:
            self._claimed[entity] = found
        return found

    def _diverged(self, told: str) -> ProviderError:
        self.diverged = self.diverged or told
        first = "" if told == self.diverged else f" (it first diverged {self.diverged})"
        return ProviderError("diverged", f"the replay diverged {told}{first}")


class ReplayProvider:
    """The provider `replay`."""

    def __init__(self) -> None:
        """Know no recording yet."""
        self._plays: dict[tuple[str, str], RecordingPlayback] = {}

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer as the recording does. Raises ProviderError."""
        key = request.model, request.run_id
        if key not in self._plays:
            self._plays[key] = RecordingPlayback(load(request.model.removeprefix(PREFIX)))
        play = self._plays[key]
        call, now = play.find(request)
        await play.its_turn(call)
        names = play.renaming(call, now)
        try:
            if call.response is None:
                kind, text = call.failed or ("internal", "nothing was answered")
                raise ProviderError(kind, text)  # type: ignore[arg-type]  # it was one when kept
            response = _now(call.response, names, request.model)
            on_text(response.text or "")
            return response
        finally:
            await play.done(call)

    async def close(self) -> None:
        """There is nothing to let go."""


def load(file: str) -> list[RecordedCall]:
    """Return the calls of a recording; ProviderError says what is wrong with it."""
    path = Path(file)
    if not path.is_absolute():
        raise ProviderError("bad_request", f"recording '{file}': name it by its absolute path")
    try:
        with path.open(encoding="utf-8") as lines:  # plain: named by the person
            return read_recording(lines, file)
    except (OSError, UnicodeDecodeError, InvalidInput) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ProviderError("bad_request", f"recording {file}: {reason}") from None


def now_asked(request: ModelRequest) -> list[RequestPart]:
    """Return what is asked now, as a recording of it would have it."""
    turns = tuple(TURN.validate_python(turn) for turn in bare(request.turns))
    tools = tuple(tool.name for tool in request.tools)
    return pieces_of(request.entity, blotted(request.system, ()), tools, turns)


def _now(response: ModelResponse, names: dict[str, str], model: str) -> ModelResponse:
    """Return a recorded answer in the names of this run; it costs nothing now."""
    calls = tuple(
        ToolCall(
            id=call.id,
            name=call.name,
            arguments=with_model(renamed(call.arguments, names), model),
            malformed=renamed(call.malformed, names),
        )
        for call in response.tool_calls
    )
    return response.model_copy(
        update={
            "text": renamed(response.text, names),
            "tool_calls": calls,
            "usage": response.usage.model_copy(update={"cost_usd": None}),
            "model": model,
            "instead_of": "",
            "why": "",
        }
    )


def _name(entity: str) -> str:
    return masked(entity.rpartition("/")[2])

"""Replay: the provider that replays a recorded run; needs no key and no network.

`replay/FILE` gives the recorded answer to the same step. An entity is identified by its name, its
steps by the answers before them, so a restart can lose only the order. An entity's work between two
calls is done when it makes the second: so an answer is given once all calls that were requested or
answered before it are requested or answered, if they come in time. A call that is not in the
recording, or that has other input, fails with the first difference.
"""

import asyncio
from collections import defaultdict
from pathlib import Path

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import ModelRequest, ModelResponse, ToolCall
from agiraph.llm.base import OnAnswer, OnText, ProviderError, unmetered
from agiraph.llm.packing import TURN
from agiraph.llm.recording.recording import (
    RecordedCall,
    read_recording,
    recorded_turns,
    redacted,
)
from agiraph.llm.recording.request_matching import (
    RequestPart,
    difference,
    is_same_step,
    masked,
    pieces_of,
    renamed,
    renaming,
    with_model,
)

PREFIX = "replay/"
PATIENCE_SECONDS = 10.0


class RecordingPlayback:
    """A recording while it is replayed: its calls, and which of them are done."""

    def __init__(self, calls: list[RecordedCall]) -> None:
        self._calls: defaultdict[str, list[RecordedCall]] = defaultdict(list)
        for call in calls:
            self._calls[call.entity].append(call)
        self._all = calls
        self._pieces: dict[int, list[RequestPart]] = {}
        self._models = {call.model for call in calls}
        self._claimed: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._to_ask = {call.place for call in calls}
        self._to_answer = {call.place for call in calls}
        self._awaited = set(self._to_ask)
        self._changed = asyncio.Condition()
        self._changes = 0
        self.diverged = ""

    def find(self, request: ModelRequest) -> tuple[RecordedCall, list[RequestPart]]:
        """Return the recorded call of the same step, and the parts of the request.

        Raises ProviderError (diverged) with the first difference, for every entity from then on:
        the team's further work differs from the recording.
        """
        if self.diverged:
            raise ProviderError("diverged", self.diverged)
        now = asked_now(request)
        own = self._entity_of(request.entity, now)
        if own is None:
            raise self._diverged(
                f"{request.entity} calls a model, and the recording has no such entity"
            )
        unplayed = [call for call in self._calls[own] if call.place in self._to_answer]
        played = [call for call in self._calls[own] if call.place not in self._to_answer]
        alike = [call for call in (*unplayed, *played) if is_same_step(self._asked(call), now)]
        for call in alike:
            if difference(self._asked(call), now) is None:
                return call, now
        if not unplayed:
            count, name = len(self._calls[own]) + 1, own.rpartition("/")[2]
            raise self._diverged(f"at call {count} of {name}: the recording ends before it")
        wanted = next((call for call in alike if call in unplayed), unplayed[0])
        found = difference(self._asked(wanted), now)
        assert found is not None
        where = f"at call {wanted.number} of {wanted.entity} (line {wanted.place + 1} of the file)"
        raise self._diverged(f"{where}: {found.describe()}")

    async def wait_for_turn(self, call: RecordedCall) -> None:
        """Wait until the calls before `call` are done, as far as they are made.

        The wait ends PATIENCE_SECONDS after the last change.
        """
        async with self._changed:
            self._to_ask.discard(call.place)
            self._note_change()
            while self._before(call):
                seen = self._changes
                try:
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await self._changed.wait()
                except TimeoutError:
                    if seen == self._changes:  # the missing calls are not made this time
                        self._awaited -= self._before(call)

    async def done(self, call: RecordedCall) -> None:
        """Mark a call as replayed."""
        async with self._changed:
            self._to_answer.discard(call.place)
            self._note_change()

    def renaming(self, call: RecordedCall, now: list[RequestPart]) -> dict[str, str]:
        """Return the names of this run by the recorded names, as far as known.

        `now` are the parts of this run's request for the same step.
        """
        names = renaming(self._asked(call), now)
        self._names = names | self._names
        return self._names | names

    def _before(self, call: RecordedCall) -> set[int]:
        """Return the places of the calls that must be done before the answer of `call`."""
        answered = {place for place in self._to_answer if place < call.place}
        asked = {
            one.place
            for one in self._all
            if one.place in self._to_ask and one.asked is not None and one.asked < call.ts
        }
        return (answered | asked) & self._awaited

    def _note_change(self) -> None:
        self._changes += 1
        self._changed.notify_all()

    def _asked(self, call: RecordedCall) -> list[RequestPart]:
        if call.place not in self._pieces:
            asked = call.entity, call.system, call.tools, call.turns
            self._pieces[call.place] = pieces_of(*asked, self._models)
        return self._pieces[call.place]

    def _entity_of(self, entity: str, now: list[RequestPart]) -> str | None:
        """Return the recorded entity of the same name, preferably with the same request."""
        if entity in self._claimed:
            return self._claimed[entity]
        name, taken = _name(entity), set(self._claimed.values())
        free = [one for one in self._calls if _name(one) == name and one not in taken]
        alike = (
            one
            for one in free
            if any(difference(self._asked(call), now) is None for call in self._calls[one])
        )
        found = next(alike, free[0] if free else None)
        if found is not None:
            self._claimed[entity] = found
        return found

    def _diverged(self, where: str) -> ProviderError:
        self.diverged = f"the replay diverged {where}"
        return ProviderError("diverged", self.diverged)


class ReplayProvider:
    """The provider `replay`: model `replay/FILE` answers with the calls in FILE."""

    def __init__(self) -> None:
        self._plays: dict[tuple[str, str], RecordingPlayback] = {}

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Return the recorded answer to a request. Raises ProviderError."""
        key = request.model, request.run_id
        if key not in self._plays:
            self._plays[key] = RecordingPlayback(load(request.model.removeprefix(PREFIX)))
        play = self._plays[key]
        call, now = play.find(request)
        await play.wait_for_turn(call)
        names = play.renaming(call, now)
        try:
            if call.response is None:
                kind, text = call.failed or ("internal", "nothing was answered")
                # it was one when recorded
                raise ProviderError(kind, text)  # type: ignore[arg-type]
            response = _now(call.response, names, request.model)
            on_text(response.text or "")
            return response
        finally:
            await play.done(call)

    async def close(self) -> None:
        """Do nothing: there are no connections."""


def load(file: str) -> list[RecordedCall]:
    """Return the calls of a recording. Raises ProviderError, which describes its problem."""
    path = Path(file)
    if not path.is_absolute():
        raise ProviderError("bad_request", f"recording '{file}': name it by its absolute path")
    try:
        with path.open(encoding="utf-8") as lines:  # plain: named by the person
            return read_recording(lines, file)
    except (OSError, UnicodeDecodeError, InvalidInput) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ProviderError("bad_request", f"recording {file}: {reason}") from None


def asked_now(request: ModelRequest) -> list[RequestPart]:
    """Return the parts of a request in the form of a recording."""
    turns = tuple(TURN.validate_python(turn) for turn in recorded_turns(request.turns))
    tools = tuple(tool.name for tool in request.tools)
    system = redacted(request.system, ())
    return pieces_of(request.entity, system, tools, turns, (request.model,))


def _now(response: ModelResponse, names: dict[str, str], model: str) -> ModelResponse:
    """Return a recorded answer with the names and the model of this run, without cost."""
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

"""PriorWorkLookup: notes from earlier work for the prompts of a run, looked up once a cycle.

They are stored before the first prompt that contains them, so every prompt of the cycle is the same
after a restart. A database that is unavailable or slow costs a run `knowledge.wait_seconds` once a
cycle, and nothing else.
"""

import asyncio
from pathlib import Path

from pydantic import ValidationError

from actors.coordinator.context import CoordinatorContext
from actors.runtime.ask_again import ask_for
from agiraph.agent.context_window import estimate_text
from agiraph.core.errors import Refused
from agiraph.core.ids import HUMAN
from agiraph.core.record import Record
from agiraph.core.specs import NotesOf
from agiraph.knowledge.relevant import KnowledgeNote, RelevantKnowledge
from agiraph.messages.knowledge import EarlierWorkFound, FindEarlierWork
from agiraph.models.limits import ModelLimits, limits_of
from agiraph.storage.files import read_bytes, replace_file
from transport.errors import TransportError

SMALL_SHARE = 32
"""The divisor for a small window: notes get one part in SMALL_SHARE of it."""


class CycleNotes(Record):
    """The notes found for one cycle of a run; a reason if the database could not be read."""

    period: str
    found: RelevantKnowledge = RelevantKnowledge()
    reason: str = ""


class PriorWorkLookup:
    """Looks up earlier work on a run's goal, and selects the notes that fit into a prompt."""

    def __init__(self, context: CoordinatorContext) -> None:
        self._context = context
        self._config = context.runtime.config.knowledge
        self._found: CycleNotes | None = None
        self._turn = asyncio.Lock()

    async def section_for(self, model: str, cycle: int) -> str:
        """Return the prompt section for an entity with this model, "" without notes."""
        if not self._config.prompt_tokens or self._notes == "none":
            return ""
        found = await self._notes_of(cycle)
        limits = limits_of(
            model,
            self._context.runtime.home.path / "providers.yaml",
            self._context.runtime.config.models.context_tokens,
        )
        return within(found.found, self._tokens(limits)).prompt()

    @property
    def _notes(self) -> NotesOf:
        return self._context.spec.notes or self._config.notes

    def _tokens(self, limits: ModelLimits) -> int:
        most = self._config.prompt_tokens
        return min(most, limits.window // SMALL_SHARE) if limits.is_small else most

    async def _notes_of(self, cycle: int) -> CycleNotes:
        period = f"{self._context.run}/{cycle}"
        async with self._turn:
            found = self._found or self._stored()
            if found is None or found.period != period:
                found = await self._look_up(period)
                replace_file(self._path, found.model_dump_json() + "\n")
                self._report(found, cycle)
            self._found = found
        return found

    async def _look_up(self, period: str) -> CycleNotes:
        """Return the notes that the gateway finds; after any error the reason instead."""
        context = self._context
        asked = FindEarlierWork(
            agent=context.agent,
            run=context.run,
            goal=context.args.agent.goal,
            input_dir=context.spec.input,
            tokens=self._config.prompt_tokens,
            notes=self._notes,
        )
        seconds = self._config.wait_seconds
        try:
            found = await ask_for(
                context.runtime, HUMAN, asked, EarlierWorkFound, within_seconds=seconds
            )
        except (Refused, TransportError) as error:
            return CycleNotes(period=period, reason=str(error))
        return CycleNotes(period=period, found=found.found, reason=found.reason)

    def _report(self, found: CycleNotes, cycle: int) -> None:
        context = self._context
        if found.reason:
            context.report("knowledge.unavailable", {"reason": found.reason}, found.period)
        if found.found.notes:
            told = found.found.model_dump(mode="json", exclude={"notes": {"__all__": {"text"}}})
            lines = [f"- {one.kind.replace('_', ' ')}: {one.title}" for one in found.found.notes]
            told |= {"count": len(lines), "text": "\n".join(lines)}
            context.report("knowledge.used", {"cycle": cycle} | told, found.period)

    def _stored(self) -> CycleNotes | None:
        try:
            return CycleNotes.model_validate_json(read_bytes(self._path))
        except (OSError, ValidationError):  # there is no file, or it has another version
            return None

    @property
    def _path(self) -> Path:
        return self._context.files.home.notes_at_start


def within(found: RelevantKnowledge, tokens: int) -> RelevantKnowledge:
    """Return the first of these notes that fit into `tokens` tokens."""
    notes: tuple[KnowledgeNote, ...] = ()
    for note in found.notes:
        if estimate_text(RelevantKnowledge(notes=(*notes, note)).prompt()) > tokens:
            break
        notes = (*notes, note)
    return found if notes == found.notes else RelevantKnowledge(notes=notes)

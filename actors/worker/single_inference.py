"""SingleInference: a node of one model call without tools, whose answer is published.

If a node has an `output_schema`, the answer is its `result.json`. An answer that does not match
gets a correction that names the mismatch, at most twice, each with another call.

The answer is journaled before it is used, so a process that restarts after that only publishes it:
no call is made twice, and the coordinator accepts a node's completion once.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from actors.entity.entity import config_for
from actors.worker.context import NodeLimitReached, WorkerContext
from actors.worker.evidence import answer_key
from actors.worker.worker_tools import WorkerTools
from agiraph.agent.prompts import assignment_facts, render
from agiraph.agent.records import AnswerPublished
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.models import Assignment
from agiraph.core.results import RESULT_FILE, json_in
from agiraph.core.turns import AssistantTurn, JsonObject, UserTurn
from agiraph.storage.files import (
    MOST_BYTES,
    files_below,
    is_file,
    is_folder,
    read_part,
    replace_file,
)

ANSWER_FILE = "answer.md"
HEADLINE_CHARACTERS = 1200
NO_ANSWER = "the model gave no answer in its one call (it has no tools: it can only write text)"
CORRECTIONS = 2
MISFIT = "[Runtime]: Your answer is not the result that is asked for. "
CORRECTION = MISFIT + "{why}\nAnswer with the whole corrected JSON and nothing else."
CUT_OFF = "the end of the answer: it was cut off at the longest answer that is asked of a model"


@dataclass(frozen=True, slots=True)
class ShownFile:
    """One published file in the form for the model."""

    ref: str
    name: str
    text: str


def shown_refs(run: Path, refs: Mapping[str, str], limit: int) -> tuple[ShownFile, ...]:
    """Return the files of `refs` (name: path under `run`), with at most `limit` characters in all.

    A note replaces the omitted text.
    """
    shown: list[ShownFile] = []
    room = limit
    for ref, path in sorted(refs.items()):
        for file in _files(run / path):
            text = _cut(file, room)
            room = max(0, room - len(text))
            shown.append(ShownFile(ref, str(file.relative_to(run)), text))
    return tuple(shown)


def _files(path: Path) -> list[Path]:
    """Return a file, or the files below a folder; links are not followed."""
    if is_file(path):
        return [path]
    return [path / file for file, _ in files_below(path)] if is_folder(path) else []


def _cut(file: Path, room: int) -> str:
    data, size = read_part(file, 0, MOST_BYTES)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"[not text: {size} bytes]"
    if len(text) <= room:
        return text.strip()
    return f"{text[:room].strip()}\n[cut: {room} of {len(text)} characters are shown]"


def headline(answer: str) -> str:
    """Return the part of an answer for the coordinator: all of it, if it is not long."""
    if len(answer) <= HEADLINE_CHARACTERS:
        return answer
    return f"{answer[:HEADLINE_CHARACTERS].rstrip()} [... the whole answer: {ANSWER_FILE}]"


def _fitted(answer: str, schema: JsonObject) -> tuple[str, str]:
    """Return the JSON text in an answer, and why it does not match ('': it matches)."""
    try:
        value = json_in(answer, schema)
    except InvalidInput as error:
        return answer, str(error)
    return json.dumps(value, ensure_ascii=False), ""


def _is_correction(turn: object) -> bool:
    return isinstance(turn, UserTurn) and turn.content.startswith(MISFIT)


class SingleInference:
    """The work of one worker with the mode `single_inference`."""

    def __init__(self, worker: WorkerContext, worker_tools: WorkerTools) -> None:
        self._worker = worker
        self._tools = worker_tools

    def assignment_turn(self, assignment: Assignment) -> str:
        """Return the one turn for the model: the spec, and the contents of the refs."""
        limit = config_for(self._worker.limits, self._worker.runtime.config).files.read_limit
        refs = shown_refs(self._worker.run_home.path, assignment.node.refs, limit)
        return render("single_assignment", refs=refs, **assignment_facts(assignment))

    @property
    def has_answered(self) -> bool:
        """Whether the model has answered; an answer that a message cut off does not count."""
        return self._answer is not None

    @property
    def _answer(self) -> AssistantTurn | None:
        turns = self._worker.transcript.turns
        after = max((at for at, turn in enumerate(turns) if _is_correction(turn)), default=-1)
        said = [turn for turn in turns[after + 1 :] if isinstance(turn, AssistantTurn)]
        return said[-1] if said and not said[-1].interrupted else None

    async def conclude(self) -> None:
        """Publish the answer, or have the model correct an answer that mismatches its schema."""
        schema = self._worker.assignment.node.output_schema
        answer = ((self._answer and self._answer.text) or "").strip()
        if schema is not None and answer:
            _, why = _fitted(answer, schema)
            before = sum(map(_is_correction, self._worker.transcript.turns))
            if why and before < CORRECTIONS:
                self._worker.add_notice(CORRECTION.format(why=why))
                return
            if why:
                raise NodeLimitReached(f"its answer does not fit its schema: {why}")
        await self.publish()

    async def publish(self) -> None:
        """Publish the answer as the node's output.

        Raises NodeLimitReached without an answer, or if publishing is refused.
        """
        answer = self._answer
        text = (answer.text or "").strip() if answer else ""
        assignment = self._worker.assignment
        if not text:
            raise NodeLimitReached(NO_ANSWER)
        home = self._worker.node_home(assignment.node)
        schema, name = assignment.node.output_schema, ANSWER_FILE
        if schema is not None:
            name, (text, _) = RESULT_FILE, _fitted(text, schema)
        if not is_file(home.published / name):
            replace_file(home.scratch / name, f"{text}\n")
        missing = CUT_OFF if self._worker.transcript.progress.is_cut_off else ""
        try:
            await self._tools.publish(answer_key(assignment), headline(text), missing, "")
        except Refused as refused:
            raise NodeLimitReached(str(refused)) from None
        now = self._worker.now()
        self._worker.conversation.append(AnswerPublished(summary=headline(text), ts=now))

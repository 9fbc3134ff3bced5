"""Compaction: replaces a long conversation by a shorter one. Pure.

The new conversation starts with a user turn of the kept texts; the last turns follow:

    task                  the assignment, or the goal
    the human's messages    verbatim; if they are too long, the newest
    the summary             the model's own, if there is one
    statements, questions and promises to others
    the entity's own files  as a summary
    the digest              one line each, from the beginning of the conversation
    the last turns          a call always together with its result; only the last shows pictures;
                            long texts that calls wrote into files are shortened

Invariants, checked by property tests: the turns never have more tokens than allowed; each call has
its result, each result its call, and each call the reasoning that its service requires with it; the
conversation ends with a turn that the model can answer. Texts that are too long are truncated with
a note.

Services seal the reasoning before a tool call, and refuse the call without it: the reasoning of the
same answer, or of the answer that began the chain of calls. A call that would lose its reasoning is
shown as text instead, as a finished action.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agiraph.agent.context_window import (
    BYTES_PER_TOKEN,
    TOKENS_PER_TURN,
    estimate_text,
    estimate_turn,
    estimate_turns,
)
from agiraph.agent.summary import SAID, digest_of
from agiraph.agent.transcript import Transcript
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ToolCall,
    ToolTurn,
    Turn,
    UserTurn,
    calls_in_words,
    result_in_words,
    without_pictures,
)

SMALLEST_BUDGET = 400
"""With fewer tokens no conversation can continue."""
LAST_TURNS_SHARE = 0.35
LAST_GROUPS = 12
DIGEST_LINES = 400
SAVING = ("memory_write", "memory_read", "memory_search", "write_file", "edit_file", "checkpoint")
LEFT_OUT = "(the {} oldest of these are left out here)"
CONTINUE = UserTurn(content="[Runtime]: Continue from here.")

IN_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "write_file": ("content",),
    "edit_file": ("old", "new"),
}
"""The arguments that are texts of a file, by tool."""

KEPT_WHOLE: Final = 2
"""So many of the last groups are not changed: the model works on them."""

WRITTEN_CHARACTERS: Final = 400
LEFT_OUT_TEXT: Final = "\n[... {} characters are left out here: read the file ...]\n"

Group = tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class SummarySection:
    """A section of the kept text: a title, and its text in Markdown."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CompactionContext:
    """The parts of an entity's context outside its conversation: its task, its files."""

    task: str
    files: tuple[SummarySection, ...] = ()


@dataclass(frozen=True, slots=True)
class CompactedConversation:
    """The turns of the new conversation, and the digest: one line for each turn left out."""

    turns: tuple[Turn, ...]
    digest: tuple[str, ...]


def shorten(
    transcript: Transcript, belongings: CompactionContext, *, intro: str, summary: str, budget: int
) -> CompactedConversation:
    """Return the conversation in at most `budget` estimated tokens (SMALLEST_BUDGET at least).

    No call may be open. `summary` is the model's own; if it is "", the summary of an earlier
    compaction is shown.
    """
    shown = _without_old_pictures(_worth_keeping(transcript, belongings.task))
    groups = shorten_written(shown)
    kept = _last_groups(groups, int(budget * LAST_TURNS_SHARE))
    kept = _with_thoughts(kept, _leaning(transcript.turns))
    dropped = groups[: len(groups) - len(kept)]
    before = _left_out(transcript)
    lines = [
        *transcript.window.digest,
        *digest_of(turn for group in (*before, *dropped) for turn in group),
    ]
    digest = tuple(lines[-DIGEST_LINES:])
    last = [turn for group in kept for turn in group]
    if not last or isinstance(last[-1], AssistantTurn):
        last.append(CONTINUE)
    room = budget - estimate_turns(last) - TOKENS_PER_TURN
    head = _head(transcript, belongings, intro, summary, digest, last, room)
    return CompactedConversation(turns=(UserTurn(content=head), *last), digest=digest)


# --- the last turns ------------------------------------------------------------------------------


def groups_of(turns: Iterable[Turn]) -> list[Group]:
    """Return the turns in groups that must stay together: an answer and its calls' results."""
    groups: list[list[Turn]] = []
    for turn in turns:
        if isinstance(turn, ToolTurn) and groups:
            groups[-1].append(turn)
        else:
            groups.append([turn])
    return [tuple(group) for group in groups]


def _worth_keeping(transcript: Transcript, task: str) -> list[Group]:
    """Return the groups that may be shown again.

    Omitted are an earlier head, the task (the new head contains it), answers that only saved
    information, and a result without its answer (our conversations have none).
    """
    start = 1 if transcript.window.compactions else 0
    flush = transcript.window.flush_from
    until = len(transcript.turns) if flush is None else flush
    groups = groups_of(transcript.turns[start:until])
    if flush is not None:
        groups += [g for g in groups_of(transcript.turns[flush + 1 :]) if not _only_saves(g)]
    return [g for g in groups if not isinstance(g[0], ToolTurn) and g != (UserTurn(content=task),)]


def _without_old_pictures(groups: list[Group]) -> list[Group]:
    """Return the groups, of which only the last shows its pictures."""
    bare = [tuple(map(without_pictures, group)) for group in groups[:-1]]
    return [*bare, *groups[-1:]]


def _left_out(transcript: Transcript) -> list[Group]:
    """Return the groups in which the entity only saved information: the digest lists them."""
    if transcript.window.flush_from is None:
        return []
    return [
        g for g in groups_of(transcript.turns[transcript.window.flush_from + 1 :]) if _only_saves(g)
    ]


def _only_saves(group: Group) -> bool:
    first = group[0]
    return isinstance(first, AssistantTurn) and all(c.name in SAVING for c in first.tool_calls)


def shorten_written(groups: Sequence[Group]) -> list[Group]:
    """Return the groups with shortened texts of files in all but the last of them.

    A text of a finished call of `write_file` or `edit_file` is in a file. Sealed reasoning belongs
    to unchanged calls, so an answer with reasoning is kept as it is.
    """
    older = len(groups) - KEPT_WHOLE
    return [_shorter(group) if place < older else group for place, group in enumerate(groups)]


def _shorter(group: Group) -> Group:
    answer, *results = group
    if not isinstance(answer, AssistantTurn) or answer.provider_data:
        return group
    done = {turn.call_id for turn in results if isinstance(turn, ToolTurn) and not turn.is_error}
    calls = tuple(_short_call(call) if call.id in done else call for call in answer.tool_calls)
    if calls == answer.tool_calls:
        return group
    return (answer.model_copy(update={"tool_calls": calls}), *results)


def _short_call(call: ToolCall) -> ToolCall:
    texts = IN_FILES.get(call.name, ())
    short: JsonObject = {
        name: _cut_written(value) if name in texts and isinstance(value, str) else value
        for name, value in call.arguments.items()
    }
    return call if short == call.arguments else call.model_copy(update={"arguments": short})


def _cut_written(text: str) -> str:
    left_out = len(text) - WRITTEN_CHARACTERS
    note = LEFT_OUT_TEXT.format(left_out)
    if left_out <= len(note):
        return text
    half = WRITTEN_CHARACTERS // 2
    return f"{text[:half]}{note}{text[-half:]}"


def _last_groups(groups: Sequence[Group], budget: int) -> list[Group]:
    """Return the last groups with at most `budget` tokens.

    The very last group is truncated to fit.
    """
    kept: list[Group] = []
    left = budget
    for group in reversed(groups[-LAST_GROUPS:]):
        size = estimate_turns(group)
        if size > left and not kept:
            group = _cut_group(group, left)
            size = estimate_turns(group)
        if size > left:
            break
        kept.insert(0, group)
        left -= size
    return kept


def _leaning(turns: Iterable[Turn]) -> set[str]:
    """Return the ids of the first calls of the answers that need an earlier answer's reasoning.

    A chain of calls continues until the model answers without a call; a model that reasoned at the
    beginning of a chain need not reason again.
    """
    leaning: set[str] = set()
    has_thoughts = False
    for turn in turns:
        if isinstance(turn, AssistantTurn):
            if has_thoughts and turn.tool_calls and turn.provider_data is None:
                leaning.add(turn.tool_calls[0].id)
            has_thoughts = bool(turn.tool_calls) and (has_thoughts or bool(turn.provider_data))
    return leaning


def _with_thoughts(kept: Sequence[Group], leaning: set[str]) -> list[Group]:
    """Return the groups; groups whose calls have lost the reasoning before them become text."""
    shown: list[Group] = []
    is_in_chain = False
    for group in kept:
        first = group[0]
        if isinstance(first, AssistantTurn):
            leans = bool(first.tool_calls) and first.tool_calls[0].id in leaning
            if leans and not is_in_chain:
                shown.append(_in_words(group, estimate_turns(group)))
                continue
            is_in_chain = bool(first.tool_calls)
        shown.append(group)
    return shown


def _in_words(group: Group, budget: int) -> Group:
    """Return a group as one turn of text, of at most `budget` tokens."""
    answer, *results = group
    assert isinstance(answer, AssistantTurn)
    parts = [calls_in_words(answer)]
    parts += [result_in_words(turn) for turn in results if isinstance(turn, ToolTurn)]
    room = max(1, budget - TOKENS_PER_TURN)
    return (UserTurn(content=cut("\n".join(parts), room)),)


def _cut_group(group: Group, budget: int) -> Group:
    """Return a group with long texts truncated to at most `budget` tokens together, if possible.

    Sealed reasoning cannot be truncated: calls with sealed reasoning become text.
    """
    first = group[0]
    if isinstance(first, AssistantTurn) and first.tool_calls and first.provider_data:
        return _in_words(group, budget)
    limit = max(1, budget)
    while limit > 1:
        smaller = tuple(_cut_turn(turn, limit) for turn in group)
        if estimate_turns(smaller) <= budget:
            return smaller
        limit //= 2
    return group


def _cut_turn(turn: Turn, limit: int) -> Turn:
    """Return a turn whose texts have at most `limit` tokens each."""
    match turn:
        case AssistantTurn():
            text = cut(turn.text, limit) if turn.text else turn.text
            calls = tuple(_cut_call(call, limit) for call in turn.tool_calls)
            return AssistantTurn(text=text, tool_calls=calls, interrupted=turn.interrupted)
        case _:
            bare = without_pictures(turn)
            assert not isinstance(bare, AssistantTurn)
            return bare.model_copy(update={"content": cut(bare.content, limit)})


def _cut_call(call: ToolCall, limit: int) -> ToolCall:
    if call.malformed is not None:
        return call.model_copy(update={"malformed": cut(call.malformed, limit)})
    if estimate_text(str(call.arguments)) <= limit:
        return call
    share = max(1, limit // (1 + len(call.arguments)))
    short: JsonObject = {
        name: value if isinstance(value, bool | int | float) else cut(str(value), share)
        for name, value in call.arguments.items()
    }
    return call.model_copy(update={"arguments": short})


# --- the head ------------------------------------------------------------------------------------


def _head(
    transcript: Transcript,
    belongings: CompactionContext,
    intro: str,
    summary: str,
    digest: Sequence[str],
    last: Sequence[Turn],
    room: int,
) -> str:
    """Return the text of the new first turn, at most `room` tokens; each section has a share."""
    shown = "\n".join(turn.content for turn in last if not isinstance(turn, AssistantTurn))
    human = [
        text for text in transcript.mail.human if text not in shown and text != belongings.task
    ]
    head = _Head(intro, room)
    head.add("Your task", belongings.task, 0.6)
    head.add_newest("The human's messages to you, word for word", human, 0.85)
    head.add(
        "Your summary of the conversation before", summary or transcript.window.last_summary, 0.6
    )
    said = [line.removeprefix(SAID) for line in digest if line.startswith(SAID)]
    head.add_newest("Your statements, questions and promises", said, 0.4, mark="- ")
    for section in belongings.files:
        head.add(section.title, section.text, 0.4)
    done = [line for line in digest if not line.startswith(SAID)]
    head.add_newest("What was done and received, oldest first", done, 0.7, mark="- ")
    return head.text


class _Head:
    """The text of the first turn: sections are added within a limit of tokens."""

    def __init__(self, intro: str, room: int) -> None:
        self.text = cut(intro, max(1, room))
        self._room = room

    def _left(self) -> int:
        return self._room - estimate_text(self.text)

    def add(self, title: str, text: str, share: float) -> None:
        """Add a section, truncated to `share` of the remaining tokens (0 to 1)."""
        frame = f"\n\n# {title}\n\n"
        room = int(self._left() * share) - estimate_text(frame) - 1
        if text.strip() and room > 0:
            self.text += frame + cut(text.strip(), room)

    def add_newest(self, title: str, texts: Sequence[str], share: float, mark: str = "") -> None:
        """Add a section with the newest of `texts` that fit, and the number of those left out.

        `share` as in `add`; `mark` precedes each text.
        """
        frame = f"\n\n# {title}\n\n"
        separator = "\n" if mark else "\n\n"
        room = int(self._left() * share) - estimate_text(frame + LEFT_OUT) - len(str(len(texts)))
        kept: list[str] = []
        for text in reversed(texts):
            size = estimate_text(mark + text + separator)
            if size > room:
                break
            kept.insert(0, mark + text)
            room -= size
        if texts and not kept and room > estimate_text(LEFT_OUT):
            kept = [mark + cut(texts[-1], room - estimate_text(mark))]
        if kept:
            missing = len(texts) - len(kept)
            lines = [LEFT_OUT.format(missing), *kept] if missing else kept
            self.text += frame + separator.join(lines)


def cut(text: str, tokens: int) -> str:
    """Return a text of at most `tokens` tokens: its beginning, its end, and a note between."""
    data = text.encode("utf-8", "replace")
    limit = tokens * BYTES_PER_TOKEN
    if len(data) <= limit:
        return text
    note = f"\n[... {len(data)} bytes, cut here ...]\n".encode()
    if len(note) >= limit:
        return data[: max(0, limit)].decode("utf-8", "ignore")
    room = limit - len(note)
    beginning = data[: 2 * room // 3].decode("utf-8", "ignore")
    end = data[len(data) - room // 3 :].decode("utf-8", "ignore")
    return f"{beginning}{note.decode()}{end}"


def tokens_of(shortened: CompactedConversation) -> int:
    """Return how many tokens the new conversation's turns have, as estimated."""
    return sum(map(estimate_turn, shortened.turns))

"""Compaction of any conversation: never too long, pairs complete, all of the human's words kept."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.agent.compaction import (
    SMALLEST_BUDGET,
    CompactedConversation,
    CompactionContext,
    SummarySection,
    cut,
    shorten,
    tokens_of,
)
from agiraph.agent.context_window import estimate_text, estimate_turns
from agiraph.agent.records import CallFinished, ModelAnswered
from agiraph.agent.transcript import Transcript
from agiraph.core.turns import AssistantTurn, Picture, ToolCall
from tests.unit.agent.conversations import anew, are_whole, flushed, heard, worked

TASK = "# Assignment: facts\n\nFind facts."
TEXTS = st.text(max_size=300)
LONG_TEXTS = st.one_of(TEXTS, st.integers(0, 30_000).map("x".__mul__), st.just("é漢字🎈" * 900))
NAMES = st.sampled_from(["bash", "write_file", "send_message", "ask_human", "memory_write"])
STEPS = st.one_of(
    st.tuples(st.just("heard"), st.sampled_from(["runtime", "bob", "human"]), LONG_TEXTS),
    st.tuples(st.just("worked"), st.lists(st.tuples(NAMES, LONG_TEXTS), max_size=4), LONG_TEXTS),
    st.tuples(st.just("looked"), st.integers(1, 3), TEXTS),
    st.tuples(st.just("flushed"), st.lists(NAMES, max_size=3), TEXTS),
)
BUDGETS = st.integers(SMALLEST_BUDGET, 30_000)


def played(steps: list[tuple[str, object, str]]) -> Transcript:
    transcript = Transcript()
    heard(transcript, TASK)
    for kind, source, text in steps:
        match kind, source:
            case "heard", str(name):
                heard(transcript, text, name)
            case "worked", list(results):
                worked(transcript, *results, text=text, content=text, count=3)
            case "looked", int(count):
                looked(transcript, count, text)
            case "flushed", list(tools) if not transcript.is_flushing:
                flushed(transcript, *tools)
            case _:
                pass
    return transcript


def looked(transcript: Transcript, count: int, text: str) -> None:
    """Let the model look at several pictures in one answer."""
    shown = Picture(digest="0" * 64, media_type="image/png", name=text, width=1200, height=1000)
    ids = [f"p{transcript.position}-{number}" for number in range(count)]
    made = tuple(ToolCall(id=id, name="read_file") for id in ids)
    transcript.apply(ModelAnswered(tool_calls=made, ts=0))
    for id in ids:
        transcript.apply(
            CallFinished(call_id=id, name="read_file", content=text, pictures=(shown,), ts=0)
        )


def short(
    transcript: Transcript, budget: int, summary: str = "", notes: str = ""
) -> CompactedConversation:
    belongings = CompactionContext(
        TASK, (SummarySection("Notes", notes), SummarySection("Files", "- a.md"))
    )
    return shorten(transcript, belongings, intro="Anew.", summary=summary, budget=budget)


@given(st.lists(STEPS, max_size=12), BUDGETS, LONG_TEXTS, LONG_TEXTS)
def test_the_new_conversation_is_never_over_and_its_pairs_are_whole(
    steps: list[tuple[str, object, str]], budget: int, summary: str, notes: str
) -> None:
    shortened = short(played(steps), budget, summary, notes)
    assert tokens_of(shortened) == estimate_turns(shortened.turns) <= budget
    assert are_whole(shortened.turns)
    assert not isinstance(shortened.turns[-1], AssistantTurn), "there is something to answer"


@given(
    st.lists(st.lists(STEPS, max_size=6), min_size=2, max_size=4),
    st.lists(st.text(min_size=1, max_size=60), max_size=8, unique=True),
)
def test_human_messages_are_kept_in_every_compaction(
    parts: list[list[tuple[str, object, str]]], words: list[str]
) -> None:
    transcript, told = played([]), []
    for part in parts:
        for kind, source, text in part:
            _play_on(transcript, kind, source, text)
            if words:
                word = words.pop()
                heard(transcript, word, "human")
                told.append(f"[Message from human]: {word}")
        shortened = short(transcript, 20_000)
        transcript.apply(anew(shortened.turns, shortened.digest))
        content = "\n".join(turn.content for turn in transcript.turns if turn.role != "assistant")
        assert all(word in content for word in told)


def _play_on(transcript: Transcript, kind: str, source: object, text: str) -> None:
    """Add an event that contains no words of the human."""
    if kind == "heard" and source != "human":
        heard(transcript, text, str(source))
    elif kind == "worked" and isinstance(source, list):
        worked(transcript, *[pair for pair in source if pair[0] != "ask_human"], text=text)


@given(st.lists(STEPS, max_size=10), BUDGETS)
def test_compaction_is_deterministic(steps: list[tuple[str, object, str]], budget: int) -> None:
    assert short(played(steps), budget) == short(played(steps), budget)


@given(LONG_TEXTS, st.integers(0, 5000))
def test_a_cut_text_fits(text: str, tokens: int) -> None:
    assert estimate_text(cut(text, tokens)) <= tokens or cut(text, tokens) == text == ""

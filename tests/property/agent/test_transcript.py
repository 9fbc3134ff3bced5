"""Providers accept every conversation, in any order of its records, and no record is lost."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.agent.records import (
    CallFinished,
    CallStarted,
    ConversationRecord,
    InputReceived,
    ModelAnswered,
    StateChanged,
)
from agiraph.agent.transcript import TRANSCRIPT, Transcript
from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, UserTurn

Step = tuple[str, int]
steps = st.lists(
    st.tuples(st.sampled_from(["hear", "say", "start", "finish"]), st.integers(0, 3)), max_size=60
)


def records_of(drawn: list[Step]) -> list[ConversationRecord]:
    """Turn drawn steps into records that a loop could have written."""
    transcript, records = Transcript(), []
    for number, (kind, size) in enumerate(drawn):
        record: ConversationRecord | None = None
        if kind == "hear":
            record = InputReceived(content=f"h{number}", from_name="x", ts=0, message=f"m{number}")
        elif kind == "say" and not transcript.open_calls:
            calls = tuple(ToolCall(id="same", name="t") for _ in range(size))
            record = ModelAnswered(text=f"s{number}", tool_calls=calls, ts=0)
        elif kind == "start" and transcript.open_calls:
            record = CallStarted(call_id=transcript.open_calls[0].call.id, name="t", ts=0)
        elif kind == "finish" and transcript.open_calls:
            opened = transcript.open_calls[-1].call.id
            record = CallFinished(call_id=opened, name="t", content=f"r{number}", ts=0)
        if record is not None:
            records.append(record)
            transcript.apply(record)
    return records


@given(steps)
def test_results_follow_their_calls_without_other_turns_between(drawn: list[Step]) -> None:
    open_ids: list[str] = []
    for turn in Transcript.fold(records_of(drawn)).turns:
        if isinstance(turn, ToolTurn):
            assert turn.call_id in open_ids
            open_ids.remove(turn.call_id)
        else:
            assert not open_ids
        if isinstance(turn, AssistantTurn):
            open_ids = [call.id for call in turn.tool_calls]
            assert len(set(open_ids)) == len(open_ids)


@given(steps)
def test_shown_turns_are_never_changed(drawn: list[Step]) -> None:
    transcript, before = Transcript(), list[Turn]()
    for record in records_of(drawn):
        transcript.apply(record)
        assert transcript.turns[: len(before)] == before
        before = list(transcript.turns)


@given(steps)
def test_every_message_is_shown_once_the_calls_are_answered(drawn: list[Step]) -> None:
    records = records_of(drawn)
    transcript = Transcript.fold(records)
    for opened in list(transcript.open_calls):
        transcript.apply(CallFinished(call_id=opened.call.id, name="t", content="", ts=0))
    heard = [record.content for record in records if isinstance(record, InputReceived)]
    shown = [turn.content for turn in transcript.turns if isinstance(turn, UserTurn)]
    assert sorted(shown) == sorted(heard)
    assert transcript.mail.seen == {f"m{text[1:]}" for text in heard}


@given(steps, st.integers(0, 60))
def test_snapshot_at_any_record_equals_the_records_before_it(drawn: list[Step], place: int) -> None:
    records = records_of(drawn)
    begin = TRANSCRIPT.validate_json(TRANSCRIPT.dump_json(Transcript.fold(records[:place])))
    for record in records[place:]:
        begin.apply(record)
    assert begin == Transcript.fold(records)


notes = st.sampled_from(["paused", "stepped", "resumed", "say", "hear"])


@given(st.lists(notes, max_size=40))
def test_paused_entity_runs_exactly_the_allowed_steps(drawn: list[str]) -> None:
    """A model that only counts: None is no pause, a number is the number of steps left in it."""
    transcript, left = Transcript(), None
    for number, what in enumerate(drawn):
        record: ConversationRecord = StateChanged(what="dropped", ts=0)
        if what == "say":
            record = ModelAnswered(text="s", ts=0)
            left = left - 1 if left else left
        elif what == "hear":
            record = InputReceived(content="h", from_name="x", ts=0)
        elif what == "stepped":
            record = StateChanged(what="stepped", message=f"m{number}", ts=0)
            left = None if left is None else left + 1
        else:
            record = StateChanged(what="paused" if what == "paused" else "resumed", ts=0)
            left = 0 if what == "paused" else None
        transcript.apply(record)
        assert (transcript.is_paused, len(transcript.pause.steps)) == (left == 0, left or 0)
    read = TRANSCRIPT.validate_json(TRANSCRIPT.dump_json(transcript))
    assert read.pause == transcript.pause

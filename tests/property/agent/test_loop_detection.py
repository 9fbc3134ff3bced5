"""The same call with the same result three times in a row is detected in any conversation."""

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from agiraph.agent.loop_detection import LIMIT, LoopStuck, LoopWarning, judge_loop
from agiraph.agent.records import CallFinished, ConversationRecord, InputReceived, ModelAnswered
from agiraph.agent.transcript import RUNTIME_NAME, TRANSCRIPT, Transcript
from agiraph.core.turns import ToolCall

Round = tuple[str, str, str]
ROUNDS = st.lists(
    st.tuples(
        st.sampled_from(["call", "call", "call", "news", "runtime", "woken", "cut", "shown"]),
        st.sampled_from("ab"),
        st.sampled_from("xy"),
    ),
    max_size=14,
)


def records_of(rounds: list[Round]) -> list[ConversationRecord]:
    records: list[ConversationRecord] = []
    for kind, argument, result in rounds:
        if kind in ("news", "runtime"):
            name = "ada" if kind == "news" else RUNTIME_NAME
            records.append(InputReceived(content=argument, from_name=name, ts=0))
            continue
        call = ToolCall(id="c", name="wait", arguments={"nodes": [argument]})
        content = {
            "woken": '{"nodes": [], "interrupted_by_message": true}',
            "cut": "[interrupted] This call was cancelled.",
        }.get(kind, result)
        finished = CallFinished(
            call_id="c",
            name="wait",
            content=content,
            is_error=kind == "cut",
            messages=("m",) if kind == "shown" else (),
            ts=0,
        )
        records += [ModelAnswered(tool_calls=(call,), ts=0), finished]
    return records


def running(rounds: list[Round]) -> int:
    """Count simply: the equal calls at the end, ignoring messages of the runtime."""
    told = [one for one in rounds if one[0] != "runtime"]
    if not told or told[-1][0] != "call":
        return 0
    return len(list(takewhile(lambda one: one == told[-1], reversed(told))))


@given(ROUNDS)
def test_streak_counts_the_repetitions_at_the_end(rounds: list[Round]) -> None:
    streak = Transcript.fold(records_of(rounds)).progress.streak
    assert streak.count == running(rounds)
    assert (judge_loop(streak) is not None) == (running(rounds) >= LIMIT)


@given(ROUNDS, st.data())
def test_loop_count_is_kept_after_a_restart(rounds: list[Round], data: st.DataObject) -> None:
    records = records_of(rounds)
    cut = data.draw(st.integers(0, len(records)))
    kept = TRANSCRIPT.dump_json(Transcript.fold(records[:cut]))
    again = TRANSCRIPT.validate_json(kept)
    for record in records[cut:]:
        again.apply(record)
    assert again.progress.streak == Transcript.fold(records).progress.streak


@given(st.integers(LIMIT, 9), st.integers(0, 3), st.integers(0, 4))
def test_loop_is_warned_of_once_and_tolerated_for_the_given_patience(
    before: int, patience: int, after: int
) -> None:
    transcript = Transcript.fold(records_of([("call", "a", "x")] * before))
    warn = judge_loop(transcript.progress.streak, patience=patience)
    assert isinstance(warn, LoopWarning)
    transcript.apply(warn.record("it ends", 0))
    for record in records_of([("call", "a", "x")] * after):
        transcript.apply(record)
    verdict = judge_loop(transcript.progress.streak, patience=patience)
    assert isinstance(verdict, LoopStuck) == (after > patience)
    assert not isinstance(verdict, LoopWarning)


@given(st.integers(1, 4), st.booleans())
def test_equal_calls_of_one_answer_count_each_and_different_ones_once(
    rounds: int, are_equal: bool
) -> None:
    calls = tuple(
        ToolCall(id=f"c{number}", name="t", arguments={} if are_equal else {"n": number})
        for number in range(2)
    )
    records: list[ConversationRecord] = []
    for _ in range(rounds):
        records.append(ModelAnswered(tool_calls=calls, ts=0))
        records += [CallFinished(call_id=f"c{n}", name="t", content="same", ts=0) for n in (1, 0)]
    assert Transcript.fold(records).progress.streak.count == rounds * (2 if are_equal else 1)

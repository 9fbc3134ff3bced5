"""The context: the fill level of a window, and its consequences."""

import pytest

from agiraph.agent.context_window import (
    CountedTurns,
    WindowUsage,
    answer_tokens,
    decide,
    estimate_fixed,
    estimate_text,
    fill_of,
    room_for_turns,
    scale_of,
    window_of,
)
from agiraph.agent.records import LimitReached, ModelAnswered
from agiraph.agent.transcript import Transcript
from agiraph.core.turns import Usage
from tests.unit.agent.conversations import flushed, heard, worked

FIXED = estimate_fixed("s" * 300, ())


def filled(used: int) -> WindowUsage:
    return WindowUsage(used=used, fixed=100, window=1000)


def busy() -> Transcript:
    transcript = Transcript()
    heard(transcript, "go")
    return transcript


def step(transcript: Transcript, used: int, *, can_flush: bool = True) -> str | None:
    return decide(transcript, filled(used), share=0.75, can_flush=can_flush)


def test_only_turns_after_the_last_token_count_are_estimated() -> None:
    transcript = busy()
    worked(transcript, ("bash", "x" * 300), usage=Usage(input_tokens=5000, output_tokens=50))
    assert fill_of(transcript, FIXED, 10_000).used == 5000 + 50 + 100 + 8


def test_impossible_token_count_is_replaced_by_the_estimate() -> None:
    transcript, counted = busy(), CountedTurns()
    for _ in range(3):
        worked(transcript, ("bash", "x" * 30_000), usage=Usage(input_tokens=10, output_tokens=5))
    estimate = counted.estimate(transcript, FIXED)
    assert 2 * 10_000 < estimate < 3 * 10_000
    assert fill_of(transcript, FIXED, 100_000, estimate=estimate).used > estimate
    worked(transcript, ("bash", "x"), usage=Usage(input_tokens=15_000, output_tokens=5))
    estimate = counted.estimate(transcript, FIXED)
    assert estimate > 3 * 10_000
    assert fill_of(transcript, FIXED, 100_000, estimate=estimate).used == 15_005 + 8 + 1


def test_tokens_without_a_count_are_estimated() -> None:
    transcript = busy()
    assert fill_of(transcript, FIXED, 10_000) == WindowUsage(100 + 8 + 1, 100, 10_000)


def test_counted_tokens_of_prompt_and_tools_replace_the_estimate() -> None:
    assert fill_of(busy(), FIXED, 10_000, counted=40) == WindowUsage(40 + 8 + 1, 40, 10_000)


def test_prompt_and_tools_never_exceed_the_counted_total() -> None:
    transcript = busy()
    worked(transcript, text="x", usage=Usage(input_tokens=60, output_tokens=5))
    assert fill_of(transcript, FIXED, 10_000) == WindowUsage(65, 65, 10_000)


def test_estimate_is_raised_after_a_larger_token_count() -> None:
    transcript = busy()
    worked(transcript, text="x", usage=Usage(input_tokens=200, output_tokens=50))
    assert scale_of(transcript, FIXED) == pytest.approx(250 / 118)
    assert scale_of(busy(), FIXED) == 1.0


@pytest.mark.parametrize("text", ["a" * 100, "é" * 100, "漢" * 100, "🎈" * 100])
def test_text_estimate_is_at_most_a_third_of_its_bytes(text: str) -> None:
    assert estimate_text(text) == -(-len(text.encode()) // 3)


@pytest.mark.parametrize(
    ("used", "can_flush", "expected"),
    [
        pytest.param(749, True, None, id="room below the share"),
        pytest.param(750, True, "flush", id="things are saved first above it"),
        pytest.param(750, False, "compact", id="who cannot save is compacted at once"),
        pytest.param(920, True, "compact", id="at the brim no turn is left to save things"),
    ],
)
def test_context_step_follows_from_the_fill_level(
    used: int, can_flush: bool, expected: str | None
) -> None:
    assert step(busy(), used, can_flush=can_flush) == expected


def test_worker_in_its_last_turn_is_not_asked_to_save() -> None:
    transcript = busy()
    transcript.apply(LimitReached(bound="turns", why="w", content="last", ts=0))
    assert step(transcript, 800) == "compact"


def test_context_is_not_changed_while_no_turn_awaits_an_answer() -> None:
    transcript = busy()
    transcript.apply(ModelAnswered(text="done", ts=0))
    assert step(transcript, 999) is None


def test_conversation_is_compacted_after_the_turns_for_saving() -> None:
    transcript = busy()
    flushed(transcript, "memory_write")
    assert step(transcript, 800) is None, "one more"
    worked(transcript, ("memory_write", "written"))
    assert step(transcript, 800) == "compact"


def test_answer_without_calls_ends_the_saving() -> None:
    transcript = busy()
    flushed(transcript)
    assert step(transcript, 800) == "compact"
    assert (transcript.progress.silences, transcript.progress.model_turns) == (0, 0), (
        "it is none of the node's turns"
    )


def test_configured_window_wins_until_a_refusal_lowers_it() -> None:
    transcript = busy()
    assert window_of(transcript, None) is None
    worked(transcript, text="x", window=9000)
    assert (window_of(transcript, None), window_of(transcript, 5000)) == (9000, 5000)
    transcript.window.learned = 4000
    assert window_of(transcript, 5000) == 4000


def test_answer_tokens_are_limited_to_the_remaining_share() -> None:
    transcript = busy()
    assert answer_tokens(transcript, override=None, share=0.75, most=8192) == 8192
    assert answer_tokens(transcript, override=10_000, share=0.75, most=8192) == 2500
    assert answer_tokens(transcript, override=200_000, share=0.75, most=8192) == 8192


@pytest.mark.parametrize(
    ("fill", "room"),
    [
        pytest.param(WindowUsage(90_000, 5000, 100_000), 35_000, id="half of what there is"),
        pytest.param(WindowUsage(9000, 5000, 10_000), 2000, id="more where half is too little"),
        pytest.param(filled(900), 520, id="most of a very small window"),
    ],
)
def test_new_conversation_has_room_for_turns(fill: WindowUsage, room: int) -> None:
    assert room_for_turns(fill, share=0.75) == room

"""The loop: recovery after a crash, interruptions, deferred messages."""

import asyncio
import gc
from pathlib import Path

import pytest

from agiraph.agent.context_window import LONG_TOKENS
from agiraph.agent.loop import INTERRUPTED_CALL, UNKNOWN_OUTCOME, PartialAnswer
from agiraph.agent.records import CallStarted, ConversationRecord, InputReceived, ModelAnswered
from agiraph.core.errors import ModelFailure
from agiraph.core.turns import ModelRequest, ModelResponse, Usage
from tests.unit.agent.fakes import LoopHarness, call, incoming, says


def begun(folder: Path, *answers: ModelResponse) -> LoopHarness:
    """Return a stage on which one message was received."""
    stage = LoopHarness(folder, *answers)
    stage.hear("go")
    return stage


def cut_off(folder: Path, tool: str) -> LoopHarness:
    """Return a stage on which an incarnation that died had started a call of a tool."""
    stage = begun(folder, says("done"))
    stage.conversation.append(ModelAnswered(tool_calls=(call(tool, "a", word="x"),), ts=0.0))
    stage.conversation.append(CallStarted(call_id="a", name=tool, ts=0.0))
    return stage


async def interrupted(stage: LoopHarness, begins: asyncio.Event) -> None:
    """Run the loop, and interrupt it by a message when the current call has begun."""
    running = asyncio.ensure_future(stage.loop.run())
    await begins.wait()
    stage.inbox.put(incoming("stop that", mode="interrupt"))
    stage.mind.gate = None
    await running


async def test_calls_are_answered_in_order_and_the_model_is_asked_again(tmp_path: Path) -> None:
    stage = begun(
        tmp_path,
        says("first", call("note", "a", word="x"), call("note", "b", word="y")),
        says("done"),
    )
    await stage.loop.run()
    assert stage.contents() == [
        "user: go",
        "assistant: first [note,note]",
        "tool: noted x",
        "tool: noted y",
        "assistant: done",
    ]
    assert stage.tools.ran == ["e-2.0:x", "e-2.1:y"]


async def test_calls_of_a_truncated_answer_do_not_run(tmp_path: Path) -> None:
    cut = says(None, call("note", "a", word="x"), call("note", "b", word="half"))
    cut = cut.model_copy(
        update={"stop_reason": "max_tokens", "usage": Usage(input_tokens=9, output_tokens=4096)}
    )
    stage = begun(tmp_path, cut, says("done"))
    await stage.loop.run()
    assert stage.tools.ran == []
    told = [line for line in stage.contents() if line.startswith("tool: ")]
    assert len(told) == 2
    assert all("not carried out" in line and "4096 tokens" in line for line in told)


async def test_calls_of_a_filtered_answer_do_not_run(tmp_path: Path) -> None:
    filtered = says("No.", call("note", "a", word="half")).model_copy(
        update={"stop_reason": "refusal"}
    )
    stage = begun(tmp_path, filtered, says("done"))
    await stage.loop.run()
    assert stage.tools.ran == []
    assert any("content filter" in line for line in stage.contents())


@pytest.mark.parametrize(("length", "is_shortened"), [(10, False), (LONG_TOKENS * 4, True)])
async def test_unexplained_refusal_of_a_long_conversation_counts_as_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, is_shortened: bool
) -> None:
    stage = begun(tmp_path, says("done"))
    stage.hear("x" * length)

    async def refuse(request: ModelRequest, partial: PartialAnswer) -> ModelResponse:
        raise ModelFailure("bad_request", "unknown words")

    async def shorten(*, was_refused: bool) -> bool:
        if was_refused:
            raise Shortened
        return False

    monkeypatch.setattr(stage.entity, "think", refuse)
    monkeypatch.setattr(stage.entity, "make_room", shorten)
    with pytest.raises(Shortened if is_shortened else ModelFailure):
        await stage.loop.run()


class Shortened(Exception):
    """The conversation is made shorter."""


async def test_a_finished_call_is_not_run_again_after_a_crash(tmp_path: Path) -> None:
    stage = begun(tmp_path, says(None, call("note", "a", word="x"), call("hang", "b")))
    running = asyncio.ensure_future(stage.loop.run())
    await stage.tools.hanging.wait()
    running.cancel()
    await asyncio.wait({running})
    stage.conversation.close()

    again = LoopHarness(tmp_path, says("done"))
    await again.loop.run()
    assert again.tools.ran == []
    assert again.contents()[2:] == [
        "tool: noted x",
        f"tool: {UNKNOWN_OUTCOME}",
        "assistant: done",
    ]


async def test_idempotent_call_interrupted_by_a_crash_is_repeated_with_its_key(
    tmp_path: Path,
) -> None:
    stage = cut_off(tmp_path, "peek")
    await stage.loop.run()
    assert stage.tools.ran == ["e-2.0:x"]


async def test_call_with_a_stored_outcome_is_not_run_again_after_a_crash(tmp_path: Path) -> None:
    stage = cut_off(tmp_path, "keep")
    stage.tools.left = "noted before"
    await stage.loop.run()
    assert stage.tools.ran == []
    assert stage.contents()[2:] == ["tool: noted before", "assistant: done"]
    assert stage.tools.forgotten == ["e-2.0"], "only once the result is recorded"


async def test_recovered_call_can_be_interrupted(tmp_path: Path) -> None:
    stage = cut_off(tmp_path, "keep")
    await interrupted(stage, stage.tools.hanging)
    assert stage.tools.was_cancelled
    assert stage.contents()[2] == f"tool: {INTERRUPTED_CALL}"


async def test_message_waits_until_all_calls_are_answered(tmp_path: Path) -> None:
    stage = begun(tmp_path, says("done"))
    calls = (call("note", "a", word="x"), call("note", "b", word="y"))
    stage.conversation.append(ModelAnswered(tool_calls=calls, ts=0.0))
    acknowledged: list[str] = []
    stage.inbox.put(incoming("look", done=lambda: acknowledged.append("m1")))
    await stage.loop.run()
    assert stage.contents()[2:5] == [
        "tool: noted x",
        "tool: noted y",
        "user: [Message from bob]: look",
    ]
    assert acknowledged == ["m1"]


async def test_message_delivered_twice_enters_the_conversation_once(tmp_path: Path) -> None:
    stage = LoopHarness(tmp_path, says("one"), says("two"))
    stage.inbox.put(incoming("look"))
    await stage.loop.run()
    acknowledged: list[str] = []
    stage.inbox.put(incoming("look", done=lambda: acknowledged.append("m1")))
    stage.hear("and now?")
    await stage.loop.run()
    assert [line for line in stage.contents() if "look" in line] == [
        "user: [Message from bob]: look"
    ]
    assert acknowledged == ["m1"]


async def test_an_interrupt_cancels_the_model_call_and_keeps_the_partial_text(
    tmp_path: Path,
) -> None:
    stage = LoopHarness(tmp_path, says("I was about to"), says("yes?"))
    stage.mind.gate = asyncio.Event()
    stage.hear("go")
    await interrupted(stage, stage.mind.asked)
    assert stage.contents() == [
        "user: go",
        "assistant: I was about to",
        "user: [Message from bob]: stop that",
        "assistant: yes?",
    ]


async def test_an_interrupt_cancels_the_tool_in_flight(tmp_path: Path) -> None:
    stage = begun(tmp_path, says(None, call("hang", "a")), says("done"))
    await interrupted(stage, stage.tools.hanging)
    assert stage.tools.was_cancelled
    assert stage.contents()[2:4] == [
        f"tool: {INTERRUPTED_CALL}",
        "user: [Message from bob]: stop that",
    ]


async def test_a_followup_waits_until_the_work_is_done(tmp_path: Path) -> None:
    stage = begun(tmp_path, says("working", call("note", "a", word="x")), says("done"))
    stage.inbox.put(incoming("later", mode="followup"))
    await stage.loop.run()
    assert not any("later" in line for line in stage.contents())
    assert stage.inbox.has_followups()

    fresh = LoopHarness(tmp_path / "next", says("done"))
    fresh.inbox.put(incoming("later", mode="followup"))
    await fresh.loop.run()
    assert fresh.contents()[0] == "user: [Message from bob]: later"


async def test_paused_loop_calls_no_model_until_resumed(tmp_path: Path) -> None:
    stage = LoopHarness(tmp_path, says("done"))
    stage.entity.pause_switch.pause()
    stage.hear("go")
    running = asyncio.ensure_future(stage.loop.run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert stage.mind.requests == []
    stage.entity.pause_switch.resume()
    await running
    assert len(stage.mind.requests) == 1


async def until_still(stage: LoopHarness) -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def test_single_step_runs_one_answer_or_call_and_pauses_again(
    tmp_path: Path,
) -> None:
    stage = begun(tmp_path, says(None, call("note", "a", word="x")), says("done"))
    stage.note("paused")
    stage.entity.pause_switch.pause()
    running = asyncio.ensure_future(stage.loop.run())
    await until_still(stage)
    assert (stage.mind.requests, stage.tools.ran) == ([], [])
    for asked, ran in ((1, []), (1, ["x"]), (2, ["x"])):
        stage.note("stepped")
        stage.entity.pause_switch.resume()
        await until_still(stage)
        assert len(stage.mind.requests) == asked
        assert [one.rpartition(":")[2] for one in stage.tools.ran] == ran
    await running
    assert stage.entity.conversation.transcript.is_paused


async def test_interrupted_single_step_is_completed_by_the_next_incarnation_only(
    tmp_path: Path,
) -> None:
    stage = begun(tmp_path, says(None, call("note", "a", word="x")), says("done"))
    stage.note("paused")
    stage.note("stepped")
    stage.entity.conversation.close()
    again = LoopHarness(tmp_path, says(None, call("note", "a", word="x")), says("done"))
    running = asyncio.ensure_future(again.loop.run())
    await until_still(again)
    assert (len(again.mind.requests), again.tools.ran) == (1, [])
    assert again.entity.conversation.transcript.is_paused
    running.cancel()


async def test_a_wrong_tool_call_is_answered_with_the_reason(tmp_path: Path) -> None:
    stage = begun(tmp_path, says(None, call("sehll", "a")), says("oh"))
    await stage.loop.run()
    assert "unknown tool 'sehll' (known: hang, keep, note, peek)" in stage.contents()[2]


def appends(stage: LoopHarness) -> list[list[str]]:
    """Return, as they come, the kinds of records of each append."""
    made: list[list[str]] = []
    append = stage.conversation.append

    def counted(*records: ConversationRecord) -> None:
        made.append([record.kind for record in records])
        append(*records)

    stage.conversation.append = counted  # type: ignore[method-assign]
    return made


async def test_call_starts_in_the_append_of_its_answer(tmp_path: Path) -> None:
    stage = begun(
        tmp_path,
        says(None, call("note", "a", word="x"), call("note", "a", word="y")),
        says("done"),
    )
    made = appends(stage)
    await stage.loop.run()
    assert made == [
        ["said", "tool.started"],
        ["tool.finished", "tool.started"],
        ["tool.finished"],
        ["said"],
    ]
    assert stage.tools.ran == ["e-2.0:x", "e-2.1:y"]


async def test_fallback_answer_is_announced_in_its_append(
    tmp_path: Path,
) -> None:
    other = says(None, call("note", "a", word="x")).model_copy(
        update={"model": "openai/x", "instead_of": "anthropic/y", "why": "it is busy"}
    )
    stage = begun(tmp_path, other, says("done"))
    made = appends(stage)
    await stage.loop.run()
    assert made == [["heard", "said", "tool.started"], ["tool.finished"], ["heard", "said"]]
    assert stage.tools.ran == ["e-3.0:x"], "the call's key is the place of its answer"
    assert "openai/x answers, in place of anthropic/y" in stage.contents()[1]


async def test_new_message_is_appended_before_the_next_call_starts(tmp_path: Path) -> None:
    stage = begun(tmp_path, says(None, call("note", "a", word="x")), says("done"))
    made = appends(stage)
    stage.mind.gate = asyncio.Event()
    running = asyncio.ensure_future(stage.loop.run())
    await stage.mind.asked.wait()
    stage.inbox.put(incoming("look"))
    stage.mind.gate.set()
    await running
    assert made[:3] == [["said"], ["heard"], ["tool.started"]]


async def test_call_of_an_answer_received_during_a_pause_starts_after_it(
    tmp_path: Path,
) -> None:
    stage = begun(tmp_path, says(None, call("note", "a", word="x")), says("done"))
    made = appends(stage)
    stage.mind.gate = asyncio.Event()
    running = asyncio.ensure_future(stage.loop.run())
    await stage.mind.asked.wait()
    stage.entity.pause_switch.pause()
    stage.mind.gate.set()
    for _ in range(10):
        await asyncio.sleep(0)
    assert (made, stage.tools.ran) == ([["said"]], [])
    stage.entity.pause_switch.resume()
    await running
    assert stage.tools.ran == ["e-2.0:x"]


@pytest.mark.parametrize("is_paused", [False, True])
async def test_leaving_entity_starts_no_new_call(tmp_path: Path, is_paused: bool) -> None:
    stage = begun(tmp_path, says(None, call("note", "a", word="x")), says("done"))
    made = appends(stage)
    stage.mind.gate = asyncio.Event()
    running = asyncio.ensure_future(stage.loop.run())
    await stage.mind.asked.wait()
    if is_paused:
        stage.entity.pause_switch.pause()
    stage.entity.pause_switch.leave()
    stage.entity.is_over = lambda: bool(made)  # type: ignore[method-assign]
    stage.mind.gate.set()
    await running
    assert (made, stage.tools.ran) == ([["said"]], [])


async def test_notices_are_appended_after_a_recovered_call(tmp_path: Path) -> None:
    stage = cut_off(tmp_path, "peek")
    told = InputReceived(content="a node has ended", from_name="board", ts=0.0)
    stage.entity.pending_notices = [told]
    await stage.loop.run()
    assert stage.contents()[2:] == [
        "tool: noted x",
        "user: a node has ended",
        "assistant: done",
    ]


async def test_error_of_a_cancelled_tool_is_not_reported_as_unretrieved(
    tmp_path: Path,
) -> None:
    unseen: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: unseen.append(about))
    begun = asyncio.Event()

    async def parks() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            raise RuntimeError("parking")

    stage = LoopHarness(tmp_path)
    running = asyncio.ensure_future(stage.loop._unless_interrupted(parks()))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gc.collect()
    assert unseen == []


async def test_excess_calls_are_skipped_and_the_model_is_notified(tmp_path: Path) -> None:
    many = [call("note", f"c{number}", word=str(number)) for number in range(10_000)]
    stage = begun(tmp_path, says("", *many), says("done"))
    stage.entity.calls_per_answer = 2
    await stage.loop.run()
    assert [ran.partition(":")[2] for ran in stage.tools.ran] == ["0", "1"]
    noted, told = stage.contents()[2:4], stage.contents()[4]
    assert noted == ["tool: noted 0", "tool: noted 1"]
    assert "Your answer had 10000 calls. The first 2 were made, the other 9998 were not" in told
    assert stage.contents()[5:] == ["assistant: done"]


async def test_crash_among_excess_calls_runs_no_others_and_notifies_once(tmp_path: Path) -> None:
    many = [call("hang", "h"), *(call("note", f"c{number}", word="x") for number in range(5))]
    stage = begun(tmp_path, says("", *many))
    stage.entity.calls_per_answer = 2
    running = asyncio.create_task(stage.loop.run())
    await stage.tools.hanging.wait()
    running.cancel()
    await asyncio.wait({running})
    stage.conversation.close()

    again = LoopHarness(tmp_path, says("done"))
    await again.loop.run()
    assert [ran.partition(":")[2] for ran in again.tools.ran] == ["x"]
    assert [line for line in again.contents() if "The first 2 were made" in line] == [
        again.contents()[4]
    ]

"""The loop and approvals: no call runs before its approval, and a refusal is the call's result."""

import asyncio
from pathlib import Path

from agiraph.agent.loop import INTERRUPTED_CALL, UNKNOWN_OUTCOME, PendingApproval, Permission
from agiraph.agent.records import CallStarted
from agiraph.agent.transcript import OpenCall
from agiraph.core.turns import ToolTurn
from tests.unit.agent.fakes import LoopHarness, call, incoming, says


class ControlledApproval:
    """A pending approval that the test answers."""

    def __init__(self, cleared: Permission | None = None) -> None:
        self.cleared = cleared
        self.asked = asyncio.Event()
        self.was_withdrawn = False

    @property
    def pending(self) -> PendingApproval:
        return PendingApproval(self.answer, self.withdraw)

    async def answer(self) -> Permission:
        self.asked.set()
        if self.cleared is None:
            await asyncio.Event().wait()
        assert self.cleared is not None
        return self.cleared

    async def withdraw(self) -> Permission:
        self.was_withdrawn = True
        return Permission(refusal=INTERRUPTED_CALL)


def staged(folder: Path, word: ControlledApproval) -> LoopHarness:
    stage = LoopHarness(folder, says(None, call("note", word="x")), says("Good."))
    stage.entity.asking = lambda opened: word.pending if isinstance(opened, OpenCall) else None
    stage.hear("Note it.")
    return stage


async def dead_while_asking(folder: Path) -> tuple[LoopHarness, ControlledApproval]:
    word = ControlledApproval()
    stage = staged(folder, word)
    running = asyncio.ensure_future(stage.loop.run())
    await word.asked.wait()
    running.cancel()
    await asyncio.wait({running})
    return stage, word


def next_incarnation(folder: Path, word: ControlledApproval) -> LoopHarness:
    stage = LoopHarness(folder, says("Good."))
    stage.entity.asking = lambda opened: word.pending if isinstance(opened, OpenCall) else None
    return stage


def result_in(stage: LoopHarness) -> ToolTurn:
    [result] = [t for t in stage.conversation.transcript.turns if isinstance(t, ToolTurn)]
    return result


async def test_a_refused_call_is_not_run_and_the_model_reads_why(tmp_path: Path) -> None:
    stage = staged(
        tmp_path, ControlledApproval(Permission(refusal="[denied] not on Fridays", message="0a"))
    )
    await stage.loop.run()
    result = result_in(stage)
    assert (result.content, result.is_error) == ("[denied] not on Fridays", True)
    assert stage.tools.ran == []
    assert stage.conversation.transcript.position == 4, "heard, said, finished, said"


async def test_id_of_the_approval_is_recorded_when_the_call_starts(tmp_path: Path) -> None:
    stage = staged(tmp_path, ControlledApproval(Permission(message="0a")))
    await stage.loop.run()
    assert len(stage.tools.ran) == 1
    assert stage.conversation.transcript.has_seen("0a")


async def test_interruption_withdraws_the_question_and_the_call_does_not_run(
    tmp_path: Path,
) -> None:
    word = ControlledApproval()
    stage = staged(tmp_path, word)
    running = asyncio.ensure_future(stage.loop.run())
    await word.asked.wait()
    stage.inbox.put(incoming("Stop", "interrupt"))
    await running
    assert word.was_withdrawn
    assert stage.tools.ran == []
    assert result_in(stage).content == INTERRUPTED_CALL


async def test_entity_killed_while_waiting_asks_again_and_executes_the_call_once(
    tmp_path: Path,
) -> None:
    stage, waiting = await dead_while_asking(tmp_path)
    stage.conversation.close()
    assert (stage.tools.ran, waiting.was_withdrawn) == ([], False)
    again = next_incarnation(tmp_path, ControlledApproval(Permission(message="0a")))
    await again.loop.run()
    assert len(again.tools.ran) == 1
    assert again.conversation.transcript.has_seen("0a")


async def test_entity_killed_after_an_approved_call_began_neither_asks_nor_repeats_it(
    tmp_path: Path,
) -> None:
    stage, _ = await dead_while_asking(tmp_path)
    begun = CallStarted(call_id="c1", name="note", message="0a", ts=1.0)
    stage.conversation.append(begun)
    stage.conversation.close()
    never = ControlledApproval()
    again = next_incarnation(tmp_path, never)
    await again.loop.run()
    assert not never.asked.is_set()
    assert again.tools.ran == []
    assert result_in(again).content == UNKNOWN_OUTCOME

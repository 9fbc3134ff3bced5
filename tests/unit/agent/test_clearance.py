"""The loop and the human's word: nothing runs before it, and a refusal is the call's result."""

import asyncio
from pathlib import Path

from agiraph.agent.loop import INTERRUPTED_CALL, Cleared
from agiraph.agent.transcript import OpenCall
from tests.unit.agent.fakes import Stage, call, incoming, says


class Word:
    """An asking whose answer the test gives."""

    def __init__(self, cleared: Cleared | None = None) -> None:
        self.cleared = cleared
        self.asked = asyncio.Event()
        self.was_withdrawn = False

    async def answer(self) -> Cleared:
        self.asked.set()
        if self.cleared is None:
            await asyncio.Event().wait()
        assert self.cleared is not None
        return self.cleared

    async def withdrawn(self) -> Cleared:
        self.was_withdrawn = True
        return Cleared(refusal=INTERRUPTED_CALL)


def staged(folder: Path, word: Word, tool: str = "count") -> Stage:
    stage = Stage(folder, says(None, call(tool)), says("Good."))
    stage.entity.asking = lambda opened: word if isinstance(opened, OpenCall) else None
    stage.hear("Count.")
    return stage


def test_a_refused_call_is_not_run_and_the_model_reads_why(tmp_path: Path) -> None:
    async def main() -> None:
        stage = staged(tmp_path, Word(Cleared(refusal="[denied] not on Fridays", message="0a")))
        await stage.loop.run()
        [result] = [t for t in stage.conversation.transcript.turns if t.role == "tool"]
        assert (result.content, result.is_error) == ("[denied] not on Fridays", True)
        assert "tool.called" not in stage.entity.events

    asyncio.run(main())


def test_the_word_that_allows_a_call_is_recorded_with_its_beginning(tmp_path: Path) -> None:
    async def main() -> None:
        stage = staged(tmp_path, Word(Cleared(message="0a")))
        await stage.loop.run()
        assert "tool.called" in stage.entity.events
        assert stage.conversation.transcript.has_seen("0a")

    asyncio.run(main())


def test_an_interruption_takes_the_question_back_and_the_call_is_not_run(tmp_path: Path) -> None:
    async def main() -> None:
        word = Word()
        stage = staged(tmp_path, word)
        running = asyncio.ensure_future(stage.loop.run())
        await word.asked.wait()
        stage.inbox.put(incoming("Stop", "interrupt"))
        await running
        assert word.was_withdrawn
        assert "tool.called" not in stage.entity.events
        [result] = [t for t in stage.conversation.transcript.turns if t.role == "tool"]
        assert result.content == INTERRUPTED_CALL

    asyncio.run(main())

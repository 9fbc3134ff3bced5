"""Streamed text is gathered, keeps its order, and says when it is void."""

import asyncio

from actors.broker.deltas import DeltaBuffer, TextDelta


def test_text_is_gathered_and_flushed_once() -> None:
    async def main() -> list[TextDelta]:
        sent: list[TextDelta] = []
        deltas = DeltaBuffer(sent.append)
        for piece in "abc":
            deltas.add(piece)
        assert sent == []
        deltas.flush()
        deltas.flush()
        return sent

    assert asyncio.run(main()) == [TextDelta("abc")]


def test_text_goes_on_by_itself_after_a_moment() -> None:
    async def main() -> TextDelta:
        sent: asyncio.Queue[TextDelta] = asyncio.Queue()
        DeltaBuffer(sent.put_nowait).add("x")
        return await asyncio.wait_for(sent.get(), 10)

    assert asyncio.run(main()) == TextDelta("x")


def test_a_restart_voids_what_was_sent_and_drops_what_was_not() -> None:
    async def main() -> list[TextDelta]:
        sent: list[TextDelta] = []
        deltas = DeltaBuffer(sent.append)
        deltas.add("lost")
        deltas.restart()
        assert sent == [], "nothing was shown, so there is nothing to take back"
        deltas.add("half")
        deltas.flush()
        deltas.add("lost")
        deltas.restart()
        deltas.add("whole")
        deltas.flush()
        return sent

    assert asyncio.run(main()) == [
        TextDelta("half"),
        TextDelta("", restarted=True),
        TextDelta("whole"),
    ]

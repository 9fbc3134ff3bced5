"""The reader's process: asked over pipes, killed when it is slow, begun again when it is gone."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import pytest

from actors.web.aside import Aside
from agiraph.errors import Refused

PAGE = {
    "do": "page",
    "body": b"<html><title>T</title><body><p>some words</p></body></html>",
    "charset": "",
    "url": "https://x.example/",
}


def play(scene: Callable[[Aside], Awaitable[None]], **environ: str) -> None:
    async def go() -> None:
        aside = Aside({"PATH": os.environ["PATH"], **environ}, memory_mb=1024)
        try:
            async with asyncio.timeout(60):
                await scene(aside)
        finally:
            await aside.close()

    asyncio.run(go())


def test_a_page_is_read_in_a_process_that_sees_no_key() -> None:
    async def scene(aside: Aside) -> None:
        assert aside.pid is None
        told = await aside.ask(PAGE, 30)
        assert (told["title"], told["markdown"]) == ("T", "some words")
        assert aside.pid not in (None, os.getpid())
        with open(f"/proc/{aside.pid}/environ", "rb") as file:
            assert b"secret" not in file.read()

    play(scene, BRAVE_API_KEY="secret")


def test_questions_wait_for_each_other_and_one_process_answers_them() -> None:
    async def scene(aside: Aside) -> None:
        first = await asyncio.gather(*(aside.ask(dict(PAGE), 30) for _ in range(5)))
        assert len(first) == 5
        pid = aside.pid
        await aside.ask(PAGE, 30)
        assert aside.pid == pid

    play(scene)


def test_a_question_that_takes_too_long_costs_the_process_and_nothing_else() -> None:
    async def scene(aside: Aside) -> None:
        await aside.ask(PAGE, 30)
        pid = aside.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(Refused, match=r"longer than 0\.05 s"):
            await aside.ask(PAGE, 0.05)
        assert not os.path.exists(f"/proc/{pid}")
        assert (await aside.ask(PAGE, 30))["title"] == "T"

    play(scene)


def test_a_reader_that_dies_over_a_page_is_begun_again() -> None:
    async def scene(aside: Aside) -> None:
        await aside.ask(PAGE, 30)
        pid = aside.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        asking = asyncio.ensure_future(aside.ask(PAGE, 30))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(Refused, match="broke down"):
            await asking
        assert (await aside.ask(PAGE, 30))["title"] == "T"

    play(scene)


def test_whoever_loses_interest_leaves_no_answer_for_the_next_one() -> None:
    async def scene(aside: Aside) -> None:
        await aside.ask(PAGE, 30)
        asking = asyncio.ensure_future(aside.ask({**PAGE, "body": b"<p>other</p>"}, 30))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await aside.ask(PAGE, 30))["markdown"] == "some words"

    play(scene)

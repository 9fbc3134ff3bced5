"""The LLM proxy judges a large body in a thread: the event loop serves other calls meanwhile."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from actors.broker.llm_proxy.proxy import JUDGED_AT_ONCE_BYTES, LlmProxy
from agiraph.core.errors import InvalidInput

WITHIN_SECONDS = 90.0


async def test_other_calls_continue_while_a_large_body_is_checked() -> None:
    with ThreadPoolExecutor(1) as judging:
        proxy: Any = SimpleNamespace(_judging=judging)
        served = threading.Event()
        asyncio.get_running_loop().call_soon(served.set)  # another call's turn
        size = JUDGED_AT_ONCE_BYTES + 1
        assert await LlmProxy.aside(proxy, size, lambda: served.wait(WITHIN_SECONDS))


async def test_small_body_is_checked_at_once_and_a_refusal_is_raised() -> None:
    def refuse() -> None:
        raise InvalidInput("n: not forwarded")

    with ThreadPoolExecutor(1) as judging:
        proxy: Any = SimpleNamespace(_judging=judging)
        assert await LlmProxy.aside(proxy, 10, threading.current_thread) is threading.main_thread()
        for size in (10, JUDGED_AT_ONCE_BYTES + 1):
            with pytest.raises(InvalidInput, match="n: not forwarded"):
                await LlmProxy.aside(proxy, size, refuse)

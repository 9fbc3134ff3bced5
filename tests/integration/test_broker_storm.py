"""Fifty workers, a real broker, and a service that refuses half of what it is asked."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agiraph.core.ids import BROKER
from agiraph.core.money import RunTerms
from agiraph.core.turns import ModelRequest, Usage
from agiraph.llm.prices import guess_input_tokens
from agiraph.messages.model import AskUsage, CallModel, ModelAnswer, ModelFailed, UsageTable
from tests.fakes.accounts import begin_run
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, rate_limited, say
from tests.integration.test_broker import House, started
from tests.unit.llm.requests import ask

WORKERS = 50
ANSWER = 32
PAID_FOR = 30
MODEL = "anthropic/fake"


class Storm:
    """A brain that answers every second request, and refuses the others, some with a wish."""

    def __init__(self, usage: Usage) -> None:
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.usage = usage
        self.answered = self.refused = 0

    def __call__(self, seen: SeenRequest) -> Reply:
        with self.lock:
            number = next(self.numbers)
            if number >= WORKERS and number % 2:
                self.answered += 1
                return replace(say("fine"), usage=self.usage)
            self.refused += 1
            return rate_limited("0.005" if number % 4 else None)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with FakeModelServer(lambda seen: say("fine")) as server:
        built = House(tmp_path, server)
        yield built
        built.close()


def request_of(number: int, **fields: object) -> ModelRequest:
    """Return a call that takes exactly what is reserved for it."""
    entity = f"shop-1/worker-{number}"
    return ask(model=MODEL, entity=entity, node_id=f"n{number}", max_tokens=ANSWER, **fields)


async def test_nobody_fails_in_a_storm_and_a_budget_is_kept_to_the_call(house: House) -> None:
    taken = Usage(input_tokens=guess_input_tokens(request_of(0)), output_tokens=ANSWER)
    storm = Storm(taken)
    house.server.brain = storm

    async with started(house) as (_, ada):
        workers = [await house.join(f"shop-1/worker-{n}") for n in range(WORKERS)]

        async def calls(number: int, count: int, **fields: object) -> list[object]:
            body = CallModel(request=request_of(number, **fields))
            return [(await workers[number].ask(BROKER, body)).body for _ in range(count)]

        async def all_call(count: int, **fields: object) -> list[object]:
            asked = (calls(number, count, **fields) for number in range(WORKERS))
            return [answer for answers in await asyncio.gather(*asked) for answer in answers]

        answers = await all_call(1)
        assert [type(answer) for answer in answers] == [ModelAnswer] * WORKERS
        assert storm.refused > WORKERS
        begin_run(house.home, "run-2", terms=RunTerms(tokens=PAID_FOR * taken.tokens))
        answers = await all_call(1, run_id="run-2")
        failed = [answer for answer in answers if isinstance(answer, ModelFailed)]
        assert {failure.kind for failure in failed} == {"out_of_budget"}
        assert len(failed) == WORKERS - PAID_FOR
        assert storm.answered == WORKERS + PAID_FOR
        told = (await ada.ask(BROKER, AskUsage(run_id="run-2", agent="shop-1"))).body
        assert isinstance(told, UsageTable)
        assert told.total.tokens == PAID_FOR * taken.tokens, "not a token more, and not one less"
        [state] = told.budgets
        assert state.spent_tokens == state.tokens
        for worker in workers:
            worker.abort()
    assert not house.server.problems

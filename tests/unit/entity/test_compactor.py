"""The compactor before the first model call: a small window is counted by the model itself."""

from pathlib import Path
from typing import Any

import pytest

from actors.entity.compactor import Compactor, as_refused
from agiraph.agent.compaction import SMALLEST_BUDGET
from agiraph.agent.context_window import WindowUsage, room_for_turns
from agiraph.core.errors import ModelFailure
from agiraph.core.turns import ModelRequest
from agiraph.messages.model import CountTokens, TokensCounted
from agiraph.models.limits import ModelLimits
from agiraph.tools.toolbox import Toolbox
from tests.fakes.fake_runtime import FakeRuntime
from tests.unit.entity.contexts import entity_context

ADA = "shop-1/ada-1"
LONG = "word " * 10_000
NEVER: Any = None


def compactor(home: Path, window: int, tokens: int | None) -> tuple[Compactor, FakeRuntime]:
    """Return the compactor of an entity with a long prompt, which its model counts so."""
    context, runtime = entity_context(home, ADA)
    context.limits = ModelLimits(window)
    runtime.answers[CountTokens] = lambda body: TokensCounted(tokens=tokens)
    request = ModelRequest(model="a/b", system=LONG, turns=())
    return Compactor(context, NEVER, Toolbox(()), lambda: request, NEVER), runtime


def counts(runtime: FakeRuntime) -> int:
    return sum(isinstance(body, CountTokens) for _, body in runtime.asked)


async def test_prompt_that_fills_the_window_fails_before_the_model_call(tmp_path: Path) -> None:
    small, _ = compactor(tmp_path, 8192, 8000)
    with pytest.raises(ModelFailure, match=r"window of 8,192 tokens .* about 8,000"):
        await small.make_room(was_refused=False)


async def test_token_count_of_the_provider_overrides_the_estimate(tmp_path: Path) -> None:
    small, runtime = compactor(tmp_path, 8192, 700)
    assert not await small.make_room(was_refused=False)
    assert not await small.make_room(was_refused=False)
    assert not small.is_full(), "as estimated it would be: ten thousand words"
    assert counts(runtime) == 1


@pytest.mark.parametrize(("window", "asked"), [(8192, 1), (200_000, 0)])
async def test_missing_token_count_is_learned_from_the_first_answer(
    tmp_path: Path, window: int, asked: int
) -> None:
    one, runtime = compactor(tmp_path, window, None)
    assert not await one.make_room(was_refused=False)
    assert counts(runtime) == asked


@pytest.mark.parametrize("turns", [820, 2000, 3264, 50_000])
def test_refused_conversation_is_shortened_although_prompt_and_tools_fill_most(turns: int) -> None:
    refused = WindowUsage(used=15_600 + turns, fixed=15_600, window=0)
    learned = as_refused(None, refused, 0.75)
    assert SMALLEST_BUDGET <= room_for_turns(learned, share=0.75) < turns

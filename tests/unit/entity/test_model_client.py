"""The model client: requests and answers that cannot be sent."""

from pathlib import Path
from typing import Any

import pytest

from actors.entity.model_client import BrokerModelClient
from agiraph.agent.loop import PartialAnswer
from agiraph.core.errors import ModelFailure
from agiraph.core.turns import ModelResponse
from agiraph.messages.control import RefusedReply
from agiraph.messages.model import CallModel, ModelAnswer, ModelDelta
from tests.unit.entity.contexts import entity_context
from tests.unit.llm.requests import ask
from transport.errors import Nacked

NEVER: Any = None
CANNOT_TRAVEL = {
    "a request that is too large": (Nacked("too_large", "17 MB"), "context_too_long"),
    "a request that is malformed": (Nacked("malformed", "odd"), "internal"),
    "an answer that cannot be sent": (RefusedReply(reason="it has 17 MB"), "bad_answer"),
}


@pytest.mark.parametrize(("answer", "kind"), CANNOT_TRAVEL.values(), ids=CANNOT_TRAVEL)
async def test_answer_that_cannot_be_transported_is_a_failure_of_its_kind(
    tmp_path: Path, answer: Nacked | RefusedReply, kind: str
) -> None:
    context, line = entity_context(tmp_path, "shop-1/ada-1")
    line.answers[CallModel] = lambda body: answer
    client = BrokerModelClient(context, NEVER)
    with pytest.raises(ModelFailure) as caught:
        await client.think(ask(), PartialAnswer())
    assert caught.value.kind == kind


async def test_wait_for_a_service_is_shown_until_the_call_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, line = entity_context(tmp_path, "shop-1/ada-1")
    client = BrokerModelClient(context, NEVER)
    shown: list[str] = []
    monkeypatch.setattr(context, "show", lambda state, step, model="": shown.append(step))

    def hear(body: CallModel) -> ModelAnswer:
        (call,) = client._open
        for waits in ("waits for openai until 14:00:00: busy", ""):
            client.on_delta(ModelDelta(call=call, text="", waits=waits))
        return ModelAnswer(response=ModelResponse(text="hi", model="a/b"))

    line.answers[CallModel] = hear
    await client.think(ask(model="openai/x"), PartialAnswer())
    assert shown == ["waits for openai until 14:00:00: busy", "thinking (openai/x)"]

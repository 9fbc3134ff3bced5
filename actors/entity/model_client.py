"""BrokerModelClient: calls the model through the broker, again if broker or router crashed."""

import asyncio
from collections.abc import Awaitable, Callable

from pydantic import BaseModel

from actors.entity.context import EntityContext
from actors.runtime.ask_again import ask_for, ask_until_answered
from actors.runtime.runtime import Runtime
from agiraph.agent.activity import shortened
from agiraph.agent.loop import PartialAnswer
from agiraph.core.errors import InvalidInput, ModelFailure, Refused
from agiraph.core.ids import BROKER
from agiraph.core.money import Shortage
from agiraph.core.turns import ModelRequest, ModelResponse
from agiraph.core.worker_models import read_worker_models
from agiraph.llm.packing import Packer
from agiraph.messages.control import Ok
from agiraph.messages.model import (
    CallModel,
    CancelCall,
    CheckModel,
    ModelAnswer,
    ModelDelta,
    ModelFailed,
)
from transport.errors import Nacked

HasRaised = Callable[[Shortage], Awaitable[bool]]


class BrokerModelClient:
    """The model calls of one entity.

    If a budget is spent, `has_raised` waits for a decision and returns whether the budget was
    raised; if so the call is repeated.
    """

    def __init__(self, context: EntityContext, has_raised: HasRaised) -> None:
        self._context = context
        self._has_raised = has_raised
        self._packer = Packer()
        self._interruptions = 0
        self._open: dict[bytes, tuple[PartialAnswer, str]] = {}

    def on_delta(self, delta: ModelDelta) -> None:
        """Add a piece of streamed text to the answer, or show that the call waits."""
        if (call := self._open.get(delta.call)) is None:
            return
        partial, model = call
        if delta.waits is not None and not self._context.hold.state:
            if delta.waits:
                self._context.show("busy", shortened(delta.waits))
            else:
                self._context.show("busy", f"thinking ({model})", model)
        if delta.restarted:
            partial.clear()
        partial.add(delta.text)

    async def think(
        self, request: ModelRequest, partial: PartialAnswer, about: str = "think"
    ) -> ModelResponse:
        """Return the model's answer; raise ModelFailure if the model cannot answer.

        The call's id is derived from the place in the conversation, so after a crash the repeated
        call receives the answer that the broker already has; `about` distinguishes questions at one
        place. Cancelling drops the call.
        """
        while True:
            match await self._call(request, partial, about):
                case ModelAnswer(response=response):
                    return response
                case ModelFailed(kind=kind, message=message, shortage=shortage):
                    if shortage is None or not await self._has_raised(shortage):
                        raise ModelFailure(kind, message)
                case other:
                    answer = f"the broker answered with {type(other).__name__}"
                    raise ModelFailure("internal", answer)

    async def _call(self, request: ModelRequest, partial: PartialAnswer, about: str) -> BaseModel:
        """Return the broker's answer to one call; `about` distinguishes calls at one step."""
        runtime, place = self._context.runtime, f"{about}.{self._context.transcript.place}"
        call = self._context.message_id(place, self._interruptions)
        self._open[call] = partial, request.model
        partial.call = call.hex()
        try:
            packed = self._packer
            body = CallModel(
                request=request.model_copy(update={"turns": (), "tools": ()}),
                turns=packed.pack(request.turns),
                tools=packed.pack_tools(request.tools),
            )
            answer = await ask_until_answered(runtime, BROKER, body, id=call)
        except Nacked as error:
            kind = "context_too_long" if error.reason == "too_large" else "internal"
            raise ModelFailure(kind, f"the request cannot be sent: {error}") from None
        except Refused as error:
            raise ModelFailure("bad_answer", str(error)) from None
        except asyncio.CancelledError:
            self._interruptions += 1
            runtime.post(BROKER, CancelCall(call=call))
            raise
        finally:
            del self._open[call]
        return answer.body


async def require_model(runtime: Runtime, model: str | None, allowed: str) -> None:
    """Raise Refused for a model that workers may not use or the broker cannot call.

    `model` is None for the usual model of the run's workers; `allowed` is `worker_models` of the
    run's terms.
    """
    if not model:
        return
    models = read_worker_models(allowed)
    if reason := models.why_not(model):
        raise InvalidInput(reason)
    await ask_for(runtime, BROKER, CheckModel(model=model, most_usd=models.most_usd), Ok)

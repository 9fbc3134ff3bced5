"""BrokerModelClient: thinks by asking the broker, and asks again when the broker or the router
died."""

import asyncio
from typing import Protocol

from pydantic import BaseModel

from actors.runtime.ask_again import ask_until_answered
from actors.runtime.runtime import Runtime
from agiraph.agent.loop import PartialAnswer
from agiraph.agent.transcript import Transcript
from agiraph.core.errors import ModelFailure
from agiraph.core.ids import BROKER, derived_message_id
from agiraph.core.money import Shortage
from agiraph.core.turns import ModelRequest, ModelResponse
from agiraph.llm.packing import Packer
from agiraph.messages import CallModel, CancelCall, CheckModel, ModelAnswer, ModelDelta, ModelFailed


class BudgetRequester(Protocol):
    """Whoever can ask for more money."""

    async def has_raised(self, shortage: Shortage) -> bool:
        """Return whether more may be spent now, however long that takes to be known."""
        ...


class BrokerModelClient:
    """One entity's way to its model."""

    def __init__(self, runtime: Runtime, transcript: Transcript) -> None:
        """Think for the entity of `runtime`, whose conversation is `transcript`."""
        self._runtime = runtime
        self._transcript = transcript
        self._packer = Packer()
        self._interruptions = 0
        self._partials: dict[bytes, PartialAnswer] = {}
        self.budget_approval: BudgetRequester | None = None

    def hear_delta(self, delta: ModelDelta) -> None:
        """Add a piece of streamed text to the answer that is being waited for."""
        partial = self._partials.get(delta.call)
        if partial is None:
            return
        if delta.restarted:
            partial.clear()
        partial.add(delta.text)

    async def think(
        self, request: ModelRequest, partial: PartialAnswer, about: str = "think"
    ) -> ModelResponse:
        """Return the model's answer; raise ModelFailure when it cannot be had.

        Who is out of budget waits until its `budget_approval` has more, if that can be. The call's
        id follows from the place in the conversation, so a caller that comes back after a crash is
        given the answer that the broker already has; `about` tells questions at one place apart.
        Cancelling drops the call.
        """
        while True:
            match await self._asked(request, partial, about):
                case ModelAnswer(response=response):
                    return response
                case ModelFailed(shortage=Shortage() as shortage) as failed:
                    may_go_on = self.budget_approval is not None and (
                        await self.budget_approval.has_raised(shortage)
                    )
                    if not may_go_on:
                        raise ModelFailure(failed.kind, failed.message)
                case ModelFailed(kind=kind, message=message):
                    raise ModelFailure(kind, message)
                case other:
                    told = f"the broker answered with {type(other).__name__}"
                    raise ModelFailure("internal", told)

    async def _asked(self, request: ModelRequest, partial: PartialAnswer, about: str) -> BaseModel:
        """Return what the broker answers."""
        place = f"{about}.{self._transcript.place}"
        call = derived_message_id(self._runtime.address, place, self._interruptions)
        self._partials[call] = partial
        try:
            asked = request.model_copy(update={"turns": ()})
            body = CallModel(request=asked, turns=self._packer.pack(request.turns))
            answer = await ask_until_answered(self._runtime, BROKER, body, id=call)
        except asyncio.CancelledError:
            self._interruptions += 1
            self._runtime.post(BROKER, CancelCall(call=call))
            raise
        finally:
            del self._partials[call]
        return answer.body


async def require_model(runtime: Runtime, model: str | None) -> None:
    """Raise Refused for a model that the broker cannot call (None: the run's own)."""
    if model:
        await ask_until_answered(runtime, BROKER, CheckModel(model=model))

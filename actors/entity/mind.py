"""BrokerMind: thinks by asking the broker, and asks again when the broker or the router died."""

import asyncio
from collections.abc import Callable

from actors.entity.asking import ask_until_answered
from actors.runtime import Runtime
from agiraph.agent.transcript import Transcript
from agiraph.errors import ModelFailure, Unavailable
from agiraph.ids import BROKER, derived_message_id
from agiraph.messages import CallModel, CancelCall, ModelAnswer, ModelDelta, ModelFailed
from agiraph.turns import ModelRequest, ModelResponse


class BrokerMind:
    """One entity's way to its model."""

    def __init__(self, runtime: Runtime, transcript: Transcript) -> None:
        """Think for the entity of `runtime`, whose conversation is `transcript`."""
        self._runtime = runtime
        self._transcript = transcript
        self._interruptions = 0
        self._listeners: dict[bytes, Callable[[str], None]] = {}

    def hear_delta(self, delta: ModelDelta) -> None:
        """Pass on a piece of streamed text to whoever waits for that call."""
        if listener := self._listeners.get(delta.call):
            listener(delta.text)

    async def think(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelResponse:
        """Return the model's answer; raise ModelFailure when it cannot be had.

        The call's id follows from the place in the conversation, so a caller that comes back
        after a crash is given the answer that the broker already has. Cancelling drops the call.
        """
        position = f"think.{self._transcript.position}"
        call = derived_message_id(self._runtime.address, position, self._interruptions)
        self._listeners[call] = on_text
        try:
            body = CallModel(request=request)
            answer = await ask_until_answered(self._runtime, BROKER, body, id=call)
        except Unavailable as error:
            raise ModelFailure("unreachable", str(error)) from None
        except asyncio.CancelledError:
            self._interruptions += 1
            self._runtime.post(BROKER, CancelCall(call=call))
            raise
        finally:
            del self._listeners[call]
        match answer.body:
            case ModelAnswer(response=response):
                return response
            case ModelFailed(kind=kind, message=message):
                raise ModelFailure(kind, message)
            case other:
                raise ModelFailure("internal", f"the broker answered with {type(other).__name__}")

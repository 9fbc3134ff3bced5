"""Private data: what a service wants back of its own answers goes to no other service.

Thinking blocks and such are signed by whoever made them, and another service refuses them. So an
answer's opaque data is marked with the service that it came from, and left out of what others see.
"""

from collections import OrderedDict

from agiraph.core.turns import AssistantTurn, ModelRequest, ModelResponse, Turn
from agiraph.llm.registry import ModelName

BY = "by"
KEPT = 4096


def marked(response: ModelResponse, name: ModelName) -> ModelResponse:
    """Return an answer whose opaque data says which service it came from."""
    if response.provider_data is None:
        return response
    data = {**response.provider_data, BY: name.provider}
    return response.model_copy(update={"provider_data": data})


class ProviderPrivateData:
    """Leaves out what is another service's."""

    def __init__(self) -> None:
        """Begin with nothing left out."""
        # The same turn gives the same object again: what stands on the wire is known by that.
        self._bare: OrderedDict[int, tuple[Turn, AssistantTurn]] = OrderedDict()

    def only(self, request: ModelRequest, name: ModelName) -> ModelRequest:
        """Return the request without the opaque data of services other than that of `name`."""
        if not any(_is_foreign(turn, name.provider) for turn in request.turns):
            return request
        turns = tuple(
            self._without(turn) if _is_foreign(turn, name.provider) else turn
            for turn in request.turns
        )
        return request.model_copy(update={"turns": turns})

    def _without(self, turn: Turn) -> Turn:
        known = self._bare.get(id(turn))
        if known is not None and known[0] is turn:
            self._bare.move_to_end(id(turn))
            return known[1]
        assert isinstance(turn, AssistantTurn)
        bare = turn.model_copy(update={"provider_data": None})
        self._bare[id(turn)] = turn, bare
        if len(self._bare) > KEPT:
            self._bare.popitem(last=False)
        return bare


def _is_foreign(turn: Turn, provider: str) -> bool:
    if not isinstance(turn, AssistantTurn) or turn.provider_data is None:
        return False
    by = turn.provider_data.get(BY)
    return by is not None and by != provider

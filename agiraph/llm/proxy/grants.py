"""Grants: what a worker's outside agent may call, and which model a name of its choosing means."""

from collections.abc import Mapping

from agiraph.core.errors import InvalidInput
from agiraph.core.money import Budget, NodeBudget
from agiraph.core.record import Record
from agiraph.llm.registry import ProviderPreset


class ProxyGrant(Record):
    """One open door: whose it is, and which models (full names) may be called through it.

    `opened_by` is the id of the message that opened it, in hexadecimal. `bounds` hold for all calls
    of this `attempt` at the node.
    """

    entity: str
    incarnation: int
    opened_by: str
    run_id: str
    node_id: str
    model: str
    models: tuple[str, ...] = ()
    trigger: str = ""
    attempt: int = 0
    bounds: NodeBudget = NodeBudget()
    opened_at: float = 0.0

    @property
    def granted(self) -> tuple[str, ...]:
        """All models that may be called, the worker's own first."""
        return tuple(dict.fromkeys((self.model, *self.models)))

    @property
    def budget(self) -> Budget:
        """The node's own bounds as a budget that each call keeps to; it may bound nothing."""
        key = f"{self.run_id}/{self.node_id}/{self.attempt}"
        return Budget(scope="node", key=key, **self.bounds.model_dump())


def model_for(asked: str, grant: ProxyGrant, presets: Mapping[str, ProviderPreset]) -> str:
    """Return the full name of the model that a request gets which asks for `asked`.

    A full name, or what its service calls it, is itself if it was granted. A full name that was
    not granted is refused with InvalidInput. Every other name (`claude-sonnet-5`, `gpt-5`, `any`)
    is an alias of the worker's own model: agents ask for what their makers sell.
    """
    name = asked.strip()
    for granted in grant.granted:
        if name in (granted, _plain(granted)):
            return granted
    provider = name.removeprefix("text:").partition("/")[0]
    if provider != name and provider in presets:
        listing = ", ".join(grant.granted)
        raise InvalidInput(f"model '{name}' is not granted to {grant.entity} (granted: {listing})")
    return grant.model


def _plain(model: str) -> str:
    """Return what its service calls a model."""
    return model.removeprefix("text:").partition("/")[2]

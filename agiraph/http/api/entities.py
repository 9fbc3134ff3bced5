"""Every process of a home as `ps` shows it, and what can be done to one."""

from typing import Literal

from agiraph.http.api.base import ApiView

EntityAct = Literal["stop", "kill", "restart", "pause", "resume"]
ENTITY_ACTS: tuple[EntityAct, ...] = ("stop", "kill", "restart", "pause", "resume")


class EntityView(ApiView):
    """A row of `ps`. `cpu` is a percentage of one core; `mailbox` counts waiting messages.

    `step` is what the entity itself says it does (`bash: make test`), `doing` the same told to
    people, with what its state adds (`waits for the model`), `doing_since` when that began.
    """

    address: str
    kind: str
    name: str
    state: str
    pid: int | None = None
    incarnation: int = 0
    host: str = ""
    cpu: float = 0.0
    memory_bytes: int = 0
    mailbox: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    step: str = ""
    restarts: int = 0
    cause: str | None = None
    doing: str = ""
    doing_since: float | None = None


class SteeredEntityView(ApiView):
    """One entity that was acted on, and the state that it is in now."""

    address: str
    state: str


class SteeredView(ApiView):
    """POST /agents/{a}/pause|resume|stop and /entities/{address}/{act}: every entity concerned."""

    act: EntityAct
    entities: tuple[SteeredEntityView, ...]

"""The gateway itself: models, money, consoles, health."""

from typing import Literal

from agiraph.api.base import JsonObject, View
from agiraph.turns import Usage, UsageBy, UsageRow


class ModelsView(View):
    """GET /models: a row a provider (name, usable, reason, default_model, base_url)."""

    providers: tuple[JsonObject, ...]
    default: str


class UsageView(View):
    """GET /usage: tokens and money by entity address, in all, and in rows `by` what was asked."""

    by_entity: dict[str, Usage]
    total: Usage
    by: UsageBy = "entity"
    rows: tuple[UsageRow, ...] = ()


class ConsoleTicket(View):
    """POST /consoles: what a console needs to say hello to the router; `ticket` is hexadecimal."""

    address: str
    incarnation: int
    ticket: str
    router_url: str


class Health(View):
    """GET /health."""

    status: Literal["ok"] = "ok"
    version: str
    home: str
    pid: int
    agents: int
    open_questions: int

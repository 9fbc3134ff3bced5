"""The gateway itself: models, money, consoles, health."""

from typing import Literal

from agiraph.core.money import BudgetState
from agiraph.core.turns import Usage, UsageBy, UsageRow
from agiraph.http.api.base import ApiView, JsonObject


class ModelsView(ApiView):
    """GET /models: a row per provider (name, usable, reason, default_model, base_url, models)."""

    providers: tuple[JsonObject, ...]
    default: str


class UsageView(ApiView):
    """GET /usage: tokens and money by entity address, in all, and in rows `by` what was asked.

    `budgets` are those of the agent, its triggers and its run, or, without an agent, all that are
    known, each with what is spent of it.
    """

    by_entity: dict[str, Usage]
    total: Usage
    by: UsageBy = "entity"
    rows: tuple[UsageRow, ...] = ()
    budgets: tuple[BudgetState, ...] = ()


class ConsoleTicketView(ApiView):
    """POST /consoles: what a console needs to say hello to the router; `ticket` is hexadecimal."""

    address: str
    incarnation: int
    ticket: str
    router_url: str


class HealthView(ApiView):
    """GET /health."""

    status: Literal["ok"] = "ok"
    version: str
    home: str
    pid: int
    agents: int
    open_questions: int

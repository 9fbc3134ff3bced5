"""The home: models, money, consoles, health, servers of tools; triggers."""

from typing import Literal

from pydantic import Field

from agiraph.core.ids import AgentId
from agiraph.core.money import BudgetState
from agiraph.core.turns import Usage, UsageGroup, UsageRow
from agiraph.http.api.base import ApiRequest, ApiView, JsonObject
from agiraph.triggers.records import MissedPolicy, TriggerStatus, TriggerType

LogLevel = Literal["debug", "info", "warning", "error", "critical"]


class LogLineView(ApiView):
    """A line of a process's log; `timestamp` is ISO 8601 in UTC, `fields` what else it has."""

    timestamp: str
    level: str
    entity: str
    event: str
    exception: str = ""
    fields: JsonObject = Field(default_factory=dict)


class ModelsView(ApiView):
    """GET /models: a row per provider (name, usable, reason, default_model, base_url, models).

    `why` is the reason for the `default`, or says how to get one.
    """

    providers: tuple[JsonObject, ...]
    default: str | None
    why: str = ""


class ExternalAgentView(ApiView):
    """GET /outside: an external agent that can be a worker.

    `program` is its path, null if it is not installed: `install` says how. `rules` is how
    approvals.yaml applies to it (`asked`, `denied`, `sandbox`), `account` whose it works with
    (`door`: the LLM proxy's, `own`: the person's login). `problem` is why it cannot work here.
    """

    name: str
    about: str = ""
    installed: bool
    program: str | None = None
    install: str = ""
    driver: str
    account: str
    rules: str
    problem: str = ""


class UsageView(ApiView):
    """GET /usage: tokens and money by entity address, in all, and in rows `by` what was asked.

    `budgets` are those of the agent, its triggers and its run, or, without an agent, all that are
    known, each with what is spent of it.
    """

    by_entity: dict[str, Usage]
    total: Usage
    by: UsageGroup = "entity"
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


class ServedToolView(ApiView):
    """One tool. `name` is how models call it; `is_repeatable`: a call may be made twice."""

    name: str
    description: str = ""
    is_repeatable: bool = False


class ToolServerView(ApiView):
    """GET /servers: one server of `mcp.servers`.

    `state` is `unusable` if it could not be used when it was last asked, `unknown` if nobody has
    asked it, else that of its host's process (`ready`, `parked` ...).
    `grant` names who has its tools unasked, `lend` says whether coordinators may give them away.
    `left_out` says in words which of its tools are not offered, and why. `problem` is why it cannot
    be used; `found_at` None: nobody has asked it yet.
    """

    name: str
    address: str
    state: str
    reached_by: str
    grant: tuple[str, ...] = ()
    lend: bool = True
    tools: tuple[ServedToolView, ...] = ()
    left_out: str = ""
    title: str = ""
    problem: str = ""
    found_at: float | None = None


class CreateTriggerRequest(ApiRequest):
    """POST /agents/{a}/triggers. `action` is a text that the agent gets, or an object of `type`
    and `payload`; `config` is the type's own, as docs/triggers.md has them.
    """

    type: TriggerType
    config: JsonObject = Field(default_factory=dict)
    action: str | JsonObject
    name: str = ""


class TriggerPlanView(ApiView):
    """POST /agents/{a}/triggers/check: the trigger as it would be made, and its first `times`.

    There are none for what waits for an event or for silence.
    """

    name: str
    type: TriggerType
    config: JsonObject
    action: JsonObject
    times: tuple[float, ...] = ()


class TriggerView(ApiView):
    """A trigger: what it waits for (`type`, `config`), what it does (`action`), how it stands.

    `skipped` counts what did not fire: quiet heartbeats, missed times, events over the rate.
    """

    id: str
    agent: AgentId
    name: str
    type: TriggerType
    config: JsonObject
    action: JsonObject
    status: TriggerStatus
    reason: str = ""
    missed: MissedPolicy = "once"
    next_due: float | None = None
    last_due: float | None = None
    last_fired_at: float | None = None
    fired: int = 0
    skipped: int = 0
    created_at: float
    created_by: str = ""

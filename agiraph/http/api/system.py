"""Records about the home: models, spending, consoles, health, tool servers, triggers."""

from typing import Literal

from pydantic import Field

from agiraph.core.ids import AgentId
from agiraph.core.money import BudgetState
from agiraph.core.turns import Usage, UsageGroup, UsageRow
from agiraph.http.api.base import ApiRequest, ApiView, JsonObject
from agiraph.triggers.records import MissedPolicy, TriggerStatus, TriggerType

LogLevel = Literal["debug", "info", "warning", "error", "critical"]


class LogLineView(ApiView):
    """A line of a process's log; `timestamp` is ISO 8601 in UTC, `fields` its other fields."""

    timestamp: str
    level: str
    entity: str
    event: str
    exception: str = ""
    fields: JsonObject = Field(default_factory=dict)


class ModelsView(ApiView):
    """GET /models: a row per provider (name, usable, reason, default_model, base_url, models).

    `why` is the reason for the `default`, or says how to configure one.
    """

    providers: tuple[JsonObject, ...]
    default: str | None
    why: str = ""


class ExternalAgentView(ApiView):
    """GET /outside: an external agent that can be a worker.

    `program` is its path, null if it is not installed: `install` says how to install it. `rules` is
    how approvals.yaml applies to it (`asked`, `denied`, `sandbox`), `account` the account it uses
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
    """GET /usage: tokens and cost by entity address, in total, and in rows grouped `by`.

    `budgets` are the budgets of the agent, its triggers and its run, or, without an agent, all
    known budgets, each with the amount spent.
    """

    by_entity: dict[str, Usage]
    total: Usage
    by: UsageGroup = "entity"
    rows: tuple[UsageRow, ...] = ()
    budgets: tuple[BudgetState, ...] = ()


class ConsoleTicketView(ApiView):
    """POST /consoles: the data with which a console joins the router; `ticket` is hexadecimal."""

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
    """One tool. `name` is its name for models; `is_repeatable`: a call may be made twice."""

    name: str
    description: str = ""
    is_repeatable: bool = False


class ToolServerView(ApiView):
    """GET /servers: one server of `mcp.servers`.

    `state` is `unusable` if the last query of the server failed, `unknown` before the first query,
    otherwise the state of its host process (`ready`, `parked` ...). `grant` names the entities that
    always have its tools, `lend` says whether coordinators may give them to workers. `left_out`
    says which of its tools are not offered, and why. `problem` is why it cannot be used; `found_at`
    is None before the first query.
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
    """POST /agents/{a}/triggers: a trigger to create.

    `action` is a text for the agent, or an object with `type` and `payload`; `config` depends on
    the type, as docs/triggers.md describes.
    """

    type: TriggerType
    config: JsonObject = Field(default_factory=dict)
    action: str | JsonObject
    name: str = ""


class TriggerPlanView(ApiView):
    """POST /agents/{a}/triggers/check: the trigger that would be created, and its first `times`.

    A trigger that waits for an event or for silence has no times.
    """

    name: str
    type: TriggerType
    config: JsonObject
    action: JsonObject
    times: tuple[float, ...] = ()


class TriggerView(ApiView):
    """A trigger: its condition (`type`, `config`), its `action`, and its status.

    `skipped` counts omitted firings: quiet heartbeats, missed times, events over the rate.
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

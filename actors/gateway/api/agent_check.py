"""Endpoints: whether an agent could be created as asked, and plan files; they change no file."""

import asyncio
import os
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from fastapi import APIRouter

from actors.gateway.api.agents import (
    has_usd_budget,
    name_for,
    needs_tools,
    require_folder,
    unnamed_model,
)
from actors.gateway.api.dependencies import GatewayDep
from actors.gateway.api.run_checks import (
    check_cycles,
    check_input,
    check_leader,
    check_plan,
    check_servers,
)
from actors.gateway.api.system import require_tools
from actors.gateway.auth.scopes import CONTROL, READ
from actors.gateway.gateway import UNPROCESSABLE, Gateway
from actors.gateway.strict_json import StrictRoute
from agiraph.board.plans.plan import Plan, plan_commands
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import BROKER
from agiraph.http.api import (
    AgentCheckView,
    ApiError,
    CheckAgentRequest,
    CheckPlanRequest,
    EstimateView,
    FieldProblemView,
    PlanCheckView,
)
from agiraph.messages.control import Ok
from agiraph.messages.model import AskUsage, CheckModel, UsageTable

if TYPE_CHECKING:
    from agiraph.llm.estimate import Estimate

SERVER_ERROR = 500
NO_GOAL = "say what the team is to reach"
UNBOUNDED = (
    "no budget is set, here or in the settings (budgets.run_usd, budgets.run_tokens): nothing "
    "limits what the run spends"
)

Found = TypeVar("Found")
router = APIRouter(route_class=StrictRoute)


@dataclass(slots=True)
class _Findings:
    """What is wrong (`problems`) and what should be known (`warnings`), by field."""

    problems: list[FieldProblemView] = field(default_factory=list)
    warnings: list[FieldProblemView] = field(default_factory=list)

    async def tried(self, name: str, asking: Awaitable[Found]) -> Found | None:
        """Return what is found; None if it is refused, which is a problem of this field.

        Raises ApiError if a process of ours does not answer.
        """
        try:
            return await asking
        except ApiError as error:
            if error.status >= SERVER_ERROR:
                raise
            self.problems.append(FieldProblemView(field=name, detail=error.detail))
            return None

    def warn(self, name: str, detail: str) -> None:
        self.warnings.append(FieldProblemView(field=name, detail=detail))


@router.post("/agents/check", dependencies=[CONTROL], tags=["agents"])
async def check(request: CheckAgentRequest, gateway: GatewayDep) -> AgentCheckView:
    """Check what an agent would be created from, field by field; nothing is created."""
    found = _Findings()
    if not request.goal:
        found.problems.append(FieldProblemView(field="goal", detail=NO_GOAL))
    await found.tried("cycle_seconds", asyncio.to_thread(check_cycles, request))
    name = await found.tried("name", asyncio.to_thread(name_for, gateway, request))
    if request.input is not None:
        await found.tried("input", asyncio.to_thread(check_input, request.input, gateway.home.path))
    if request.tools is not None:
        await found.tried("tools", require_tools(gateway, request.tools))
    await found.tried("mcp_servers", asyncio.to_thread(check_servers, request, gateway))
    plan = None
    if request.plan is not None:
        plan = await found.tried("plan", asyncio.to_thread(check_plan, request.plan, gateway))
    await found.tried("leader", asyncio.to_thread(check_leader, request, plan))
    models = await _models(gateway, request, found)
    if not any(problem.field == "input" for problem in found.problems):
        _warn_of_input(request.input, found)
    estimate = None
    if models is not None and (plan is not None or request.plan is None):
        estimate = await _estimate(gateway, models, plan)
        await _warn_of_budget(gateway, request, models, estimate, found)
    for detail in await asyncio.to_thread(_about_agents, gateway, plan):
        found.warn("plan", detail)
    return AgentCheckView(
        is_possible=not found.problems,
        problems=tuple(found.problems),
        warnings=tuple(found.warnings),
        name=name,
        model=models[0] if models else None,
        worker_model=models[1] if models else None,
        nodes=len(plan.nodes) if plan else None,
        estimate=_view(estimate) if estimate else None,
    )


async def _models(
    gateway: Gateway, request: CheckAgentRequest, found: _Findings
) -> tuple[str, str] | None:
    """Return the models of coordinator and workers, None if one of them cannot be used."""
    model = request.model or await found.tried("model", unnamed_model(gateway, request.team))
    if not model:
        return None
    if request.input is None:
        await found.tried("input", asyncio.to_thread(require_folder, model, None))
    worker = request.worker_model or gateway.config.models.worker or model
    needs = needs_tools(request)
    checks = {"model": CheckModel(model=model, characters=len(request.goal), needs_tools=needs)}
    if worker != model:
        checks["worker_model"] = CheckModel(model=worker)
    answers = [
        await found.tried(name, gateway.ask(BROKER, one, Ok, refused=UNPROCESSABLE))
        for name, one in checks.items()
    ]
    if not all(answers):
        return None
    if has_usd_budget(gateway, request):
        for named in dict.fromkeys((model, worker)):
            priced = CheckModel(model=named, has_usd_budget=True)
            asking = gateway.ask(BROKER, priced, Ok, refused=UNPROCESSABLE)
            if not await found.tried("budget_usd", asking):
                break
    return model, worker


async def _estimate(
    gateway: Gateway, models: tuple[str, str], plan: Plan | None
) -> "Estimate | None":
    from agiraph.agent.run_estimate import estimate_run  # only who asks for it pays for it

    table = await gateway.ask(BROKER, AskUsage(by="node"), UsageTable)
    nodes = len(plan.nodes) if plan else None
    try:
        return await asyncio.to_thread(estimate_run, gateway.home.path, models, nodes, table.rows)
    except InvalidInput:
        return None  # such as a model that is known to the broker by its environment alone


def _view(found: "Estimate") -> EstimateView:
    from agiraph.llm.estimate import in_words

    return EstimateView(
        tokens=(found.low, found.high),
        usd=(found.low_usd, found.high_usd),
        basis=found.basis,
        text=in_words(found).removeprefix("estimate: "),
    )


def _warn_of_input(folder: str | None, found: _Findings) -> None:
    if folder is not None and not os.listdir(folder):  # plain: named by the person
        found.warn("input", f"'{Path(folder).name}' is empty")


async def _warn_of_budget(
    gateway: Gateway,
    request: CheckAgentRequest,
    models: tuple[str, str],
    estimate: "Estimate | None",
    found: _Findings,
) -> None:
    """Warn of a budget that cannot be kept, that is less than the estimate, or that is none."""
    from agiraph.agent.run_estimate import prices_of

    try:
        prices = await asyncio.to_thread(lambda: list(prices_of(gateway.home.path, models)))
    except InvalidInput:
        prices = []
    settings = gateway.config.budgets
    usd, tokens = request.budget_usd, request.budget_tokens
    is_free = bool(prices) and all(p is not None and not p.dearest_input + p.output for p in prices)
    limits = (usd, tokens, settings.run_usd, settings.run_tokens)
    if not is_free and all(limit is None for limit in limits):
        found.warn("budget_usd", UNBOUNDED)
    if estimate is not None:
        for name, detail in _too_little(estimate, usd, tokens):
            found.warn(name, detail)


def _too_little(
    estimate: "Estimate", usd: float | None, tokens: int | None
) -> Iterator[tuple[str, str]]:
    """Yield which budgets are less than the run may take."""
    for name, budget, low, high in (
        ("budget_usd", usd, estimate.low_usd, estimate.high_usd),
        ("budget_tokens", tokens, estimate.low, estimate.high),
    ):
        if budget is None or low is None:
            continue
        if budget < low:
            yield name, "this is less than such a run takes at least"
        elif high is not None and budget < high:
            yield name, "this may be less than such a run takes"


def _about_agents(gateway: Gateway, plan: Plan | None) -> list[str]:
    """Return what should be known of the external agents of a plan."""
    from agiraph.board.commands import agents_hired

    asked = [agent for one in plan_commands(plan) for agent in agents_hired(one)] if plan else []
    if not asked:
        return []
    from agiraph.external.preflight import check_agent

    args = (gateway.home.path, gateway.config.sandbox, os.environ)
    return list(dict.fromkeys(text for one in asked for text in check_agent(one, *args)))


# --- plan files ----------------------------------------------------------------------------------


@router.post("/plans/check", dependencies=[READ], tags=["work"])
async def check_plan_file(request: CheckPlanRequest) -> PlanCheckView:
    """Check a plan file, and draw it or write it again; 422 has each mistake with line and key."""
    return await asyncio.to_thread(_checked_plan, request)


@router.get("/plans/schema", dependencies=[READ], tags=["work"])
async def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of plan files, by which editors complete and check them."""
    from agiraph.board.plans.reading import file_schema  # few ask for it

    return file_schema()


def _checked_plan(request: CheckPlanRequest) -> PlanCheckView:
    from agiraph.board.plans.graph import Graph, to_yaml
    from agiraph.board.plans.plan import parse_plan
    from agiraph.core.yaml_text import read_yaml

    try:
        plan = parse_plan(request.plan)
        drawn = Graph.from_plan(plan)
        text = (
            to_yaml(read_yaml(request.plan)) if request.form == "yaml" else drawn.to(request.form)
        )
    except (Refused, yaml.YAMLError) as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None
    sums = {"nodes": len(plan.nodes), "workers": len(plan.workers)}
    return PlanCheckView.model_validate({**sums, "form": request.form, "text": text})

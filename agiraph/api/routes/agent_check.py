"""Endpoints that check a request to create an agent, and plan files; they change no file."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from fastapi import APIRouter

from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import GatewayDep
from agiraph.api.routes.run_checks import RunCheck
from agiraph.api.strict_json import StrictRoute
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
from agiraph.http.errors import UNPROCESSABLE
from agiraph.messages.model import AskUsage, UsageTable

if TYPE_CHECKING:
    from agiraph.models.run_costs import Estimate

UNBOUNDED = (
    "no budget is set, here or in the settings (budgets.run_usd, budgets.run_tokens): nothing "
    "limits what the run spends"
)

router = APIRouter(route_class=StrictRoute)


@router.post("/agents/check", dependencies=[CONTROL], tags=["agents"])
async def check(request: CheckAgentRequest, gateway: GatewayDep) -> AgentCheckView:
    """Check the fields of a request to create an agent; nothing is created."""
    found = RunCheck(gateway, request)
    problems = [_problem(field, error.detail) async for field, error in found.problems()]
    plan, models = found.plan, found.models
    warnings = []
    if not any(problem.field == "input" for problem in problems):
        warnings += _about_input(request.input)
    estimate = None
    if models is not None and (plan is not None or request.plan is None):
        estimate = await _estimate(gateway, models, plan)
        warnings += await _about_budget(gateway, request, models, estimate)
    about_agents = await asyncio.to_thread(_about_agents, gateway, plan)
    warnings += [_problem("plan", detail) for detail in about_agents]
    return AgentCheckView(
        is_possible=not problems,
        problems=tuple(problems),
        warnings=tuple(warnings),
        name=found.name,
        model=models[0] if models else None,
        worker_model=models[1] if models else None,
        nodes=len(plan.nodes) if plan else None,
        estimate=_view(estimate) if estimate else None,
    )


def _problem(field: str, detail: str) -> FieldProblemView:
    return FieldProblemView(field=field, detail=detail)


async def _estimate(
    gateway: Gateway, models: tuple[str, str], plan: Plan | None
) -> "Estimate | None":
    from agiraph.agent.run_estimate import estimate_run  # slow: only if needed

    table = await gateway.bus.ask(BROKER, AskUsage(by="node"), UsageTable)
    nodes = len(plan.nodes) if plan else None
    try:
        return await asyncio.to_thread(estimate_run, gateway.home.path, models, nodes, table.rows)
    except InvalidInput:
        return None  # for example a model that only the broker's environment defines


def _view(found: "Estimate") -> EstimateView:
    from agiraph.models.run_costs import in_words

    return EstimateView(
        tokens=(found.low, found.high),
        usd=(found.low_usd, found.high_usd),
        basis=found.basis,
        text=in_words(found).removeprefix("estimate: "),
    )


def _about_input(folder: str | None) -> list[FieldProblemView]:
    if folder is None or os.listdir(folder):  # plain: named by the person
        return []
    return [_problem("input", f"'{Path(folder).name}' is empty")]


async def _about_budget(
    gateway: Gateway,
    request: CheckAgentRequest,
    models: tuple[str, str],
    estimate: "Estimate | None",
) -> list[FieldProblemView]:
    """Return a warning for each budget that is missing or less than the estimate."""
    from agiraph.agent.run_estimate import prices_of

    try:
        prices = await asyncio.to_thread(lambda: list(prices_of(gateway.home.path, models)))
    except InvalidInput:
        prices = []
    settings = gateway.config.budgets
    usd, tokens = request.budget_usd, request.budget_tokens
    is_free = bool(prices) and all(p is not None and not p.dearest_input + p.output for p in prices)
    limits = (usd, tokens, settings.run_usd, settings.run_tokens)
    found = []
    if not is_free and all(limit is None for limit in limits):
        found.append(_problem("budget_usd", UNBOUNDED))
    if estimate is not None:
        found += [_problem(*one) for one in _too_little(estimate, usd, tokens)]
    return found


def _too_little(
    estimate: "Estimate", usd: float | None, tokens: int | None
) -> Iterator[tuple[str, str]]:
    """Yield (request field, reason) for each budget that is less than the estimated cost."""
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
    """Return the problems and remarks about the external agents of a plan."""
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
    """Check a plan file, and draw or rewrite it; 422 lists each mistake with line and key."""
    return await asyncio.to_thread(_checked_plan, request)


@router.get("/plans/schema", dependencies=[READ], tags=["work"])
async def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of plan files, with which editors complete and check them."""
    from agiraph.board.plans.reading import file_schema  # slow import, rarely needed

    return file_schema()


def _checked_plan(request: CheckPlanRequest) -> PlanCheckView:
    from agiraph.board.plans.graph import Graph, to_yaml
    from agiraph.board.plans.plan import parse_plan
    from agiraph.settings.yaml_text import read_yaml

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

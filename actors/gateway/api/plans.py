"""Endpoints: plan files, checked and drawn; their schema."""

import asyncio
from typing import Any

import yaml
from fastapi import APIRouter

from actors.gateway.auth.scopes import READ
from actors.gateway.gateway import UNPROCESSABLE
from agiraph.core.errors import Refused
from agiraph.http.api import ApiError, CheckPlanRequest, PlanCheckView

router = APIRouter(tags=["work"])


@router.post("/plans/check", dependencies=[READ])
async def check(request: CheckPlanRequest) -> PlanCheckView:
    """Check a plan file, and draw it or write it again; 422 has each mistake with line and key."""
    return await asyncio.to_thread(_checked, request)


@router.get("/plans/schema", dependencies=[READ])
async def schema() -> dict[str, Any]:
    """Return the JSON Schema of plan files, by which editors complete and check them."""
    from agiraph.board.plans.reading import file_schema  # few ask for it

    return file_schema()


def _checked(request: CheckPlanRequest) -> PlanCheckView:
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

"""Checks: whether a run may begin as it is requested; each raises InvalidInput or Refused."""

import os
from pathlib import Path

from actors.gateway.gateway import UNPROCESSABLE, Gateway
from agiraph.board.commands import agents_hired
from agiraph.board.plans.plan import Plan, parse_plan, plan_commands
from agiraph.core.errors import InvalidInput, Refused
from agiraph.http.api import (
    ApiError,
    RunRequest,
)
from agiraph.mcp.grants import granted_to_all
from agiraph.mcp.registered import with_registered
from agiraph.tools.scopes.scope import is_private


def check_servers(request: RunRequest, gateway: Gateway) -> None:
    """Raise ApiError 422 for a server of tools that there is not, or that may not be given."""
    named = request.mcp_servers
    servers = with_registered(gateway.home, gateway.config.mcp.servers, named)
    try:
        granted_to_all(servers, named)
    except InvalidInput as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None


def check_cycles(request: RunRequest) -> None:
    """Raise ApiError 422 for a time between cycles where there are none."""
    if request.cycle_seconds is not None and request.mode != "infinite":
        mode = request.mode or "finite"
        raise ApiError(UNPROCESSABLE, f"a {mode} run has no cycles (possible: infinite)")


def check_planning(request: RunRequest, gateway: Gateway) -> None:
    """Raise ApiError 422 if a plan is to be approved, or to be all, and the run makes no plan."""
    asked = "approve_plan" if request.approve_plan else "plan_only" if request.plan_only else ""
    planning = request.planning or gateway.config.run.planning
    if asked and (planning == "dynamic" or request.plan is not None):
        why = "a plan is given" if request.plan is not None else f"planning is {planning}"
        raise ApiError(
            UNPROCESSABLE, f"{asked} is for a plan that is made (planning static or hybrid): {why}"
        )


def check_leader(request: RunRequest, plan: Plan | None) -> None:
    """Raise ApiError 422 for a run that no plan can lead, or a summary of another one.

    `plan` is the plan of the request; None: the request has no valid plan.
    """
    if request.leader == "model":
        if request.summary:
            raise ApiError(UNPROCESSABLE, "summary is for a run with the leader `plan`")
        return
    if request.plan is None:
        why = "needs a plan"
    elif request.mode == "infinite":
        why = "has no cycles (possible: finite)"
    elif request.output_schema is not None and not request.summary:
        why = "has no model that writes an answer with an output_schema (possible: with summary)"
    elif plan is not None and plan.is_reconvened:
        why = "cannot reconvene the stages of its plan (contract.coordinator_reconvenes)"
    else:
        return
    raise ApiError(UNPROCESSABLE, f"a run with the leader `plan` {why}")


def check_plan(text: str, gateway: Gateway) -> Plan:
    """Return the plan; ApiError 422 with line and key, or an external agent that cannot be used."""
    from agiraph.external.preflight import check_agent  # few plans need it
    from agiraph.tools.toolbox import Toolbox

    home, config = gateway.home.path, gateway.config.sandbox
    try:
        plan = parse_plan(text)
        for command in plan_commands(plan):
            Toolbox.for_entity("worker", command.spec.tools, can_lead=True)
            for asked in agents_hired(command):
                check_agent(asked, home, config, os.environ)
    except Refused as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None
    return plan


def check_input(named: str, home: Path) -> None:
    """Raise ApiError 422 unless this is the absolute path of a folder that a team may read."""
    path = Path(named)
    if not path.is_absolute():
        raise ApiError(UNPROCESSABLE, f"input '{named}' is not an absolute path")
    if not path.is_dir():
        raise ApiError(UNPROCESSABLE, f"input '{named}' is not an existing folder")
    if not os.access(path, os.R_OK | os.X_OK):
        raise ApiError(UNPROCESSABLE, f"input '{named}' may not be read")
    if is_private(path.resolve(), home):
        raise ApiError(
            UNPROCESSABLE, f"input '{named}' is the home, with keys: name another folder"
        )

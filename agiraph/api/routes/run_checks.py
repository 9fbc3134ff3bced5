"""RunCheck: checks whether a requested run may begin, and reports its problems."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

from agiraph.api.gateway import Gateway
from agiraph.api.routes.system import require_tools
from agiraph.board.commands import agents_hired
from agiraph.board.plans.plan import Plan, parse_plan, plan_commands
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import BROKER
from agiraph.core.models import Agent
from agiraph.core.roles import RoleTeamTerms
from agiraph.core.specs import Mode
from agiraph.core.titles import title_of
from agiraph.core.worker_models import WorkerModels, read_worker_models
from agiraph.http.api import ApiError, CreateAgentRequest, RoleTeamRequest, RunRequest
from agiraph.http.errors import UNPROCESSABLE
from agiraph.mcp.grants import granted_to_all
from agiraph.mcp.registered import with_registered
from agiraph.messages.control import Ok
from agiraph.messages.model import CheckModel, ListModels, ModelCatalog
from agiraph.models.registry import check_folder
from agiraph.tools.scopes.scope import is_private

SERVER_ERROR = 500
NO_GOAL = "give the goal of the team"

Check = tuple[str, Callable[[], Awaitable[None]]]


class RunCheck:
    """The check of one request: `problems` yields all problems, `require` raises the first.

    `last` is the agent that the run is for, None for a new agent. The results (`plan`, `name`,
    `models`, `roles`) are None if they have a problem.
    """

    def __init__(self, gateway: Gateway, request: RunRequest, last: Agent | None = None) -> None:
        self._gateway = gateway
        self._request = request
        self._last = last
        self._mode: Mode = request.mode or (last.mode if last is not None else "finite")
        self.plan: Plan | None = None
        self.name: str | None = None
        self.model: str | None = None
        self.worker_model: str | None = None
        self._worker_models = WorkerModels()
        self.roles: RoleTeamTerms | None = None
        self._has_unusable_model = False

    async def require(self) -> None:
        """Raise the first problem as ApiError: 422, 409 for a name that is taken."""
        async with aclosing(self.problems()) as problems:
            async for _, problem in problems:
                raise problem

    async def problems(self) -> AsyncGenerator[tuple[str, ApiError], None]:
        """Yield each problem with the field of the request.

        Raises ApiError if a process does not answer. Later checks use the results of earlier ones.
        """
        for field, check in self._checks():
            try:
                await check()
            except ApiError as error:
                if error.status >= SERVER_ERROR:
                    raise
                yield field, error

    def _checks(self) -> tuple[Check, ...]:
        of_new = () if self._last is not None else (("name", self._name), ("tools", self._tools))
        return (
            ("goal", self._goal),
            ("cycle_seconds", self._cycles),
            ("planning", self._planning),
            ("input", self._input),
            ("plan", self._plan),
            ("leader", self._leader),
            ("mcp_servers", self._servers),
            ("model", self._default_models),
            ("roles", self._roles),
            *of_new,
            ("input", self._needed_input),
            ("model", self._usable_model),
            ("worker_model", self._usable_worker_model),
            ("budget_usd", self._prices),
        )

    async def _goal(self) -> None:
        if not self._request.goal:
            raise ApiError(UNPROCESSABLE, NO_GOAL)

    async def _cycles(self) -> None:
        check_cycles(self._request, self._mode)

    async def _planning(self) -> None:
        check_planning(self._request, self._gateway)

    async def _input(self) -> None:
        if self._request.input is not None:
            await asyncio.to_thread(check_input, self._request.input, self._gateway.home.path)

    async def _plan(self) -> None:
        if self._request.plan is not None:
            self.plan = await asyncio.to_thread(check_plan, self._request.plan, self._gateway)

    async def _leader(self) -> None:
        check_leader(self._request, self.plan, self._mode)

    async def _servers(self) -> None:
        if named := self._request.mcp_servers:
            await asyncio.to_thread(check_servers, named, self._gateway)

    async def _default_models(self) -> None:
        """Determine the names of the models; whether they are usable is checked later."""
        request, last, settings = self._request, self._last, self._gateway.config.models
        if last is not None:
            self.model = request.model or last.model
            self.worker_model = self._named_workers() or request.model or last.worker_model
        else:
            self.model = request.model or await unnamed_model(self._gateway, request.roles)
            self.worker_model = self._named_workers() or settings.worker or self.model

    def _named_workers(self) -> str | None:
        """Return the first model that the request allows for workers, None if it names none."""
        try:
            self._worker_models = read_worker_models(self._request.worker_model)
        except InvalidInput as error:
            raise ApiError(UNPROCESSABLE, str(error)) from None
        return next(iter(self._worker_models.names), None)

    async def _roles(self) -> None:
        if self.worker_model is not None:
            self.roles = await roles_for(
                self._gateway, self._request, self.worker_model, self._mode
            )

    async def _name(self) -> None:
        if isinstance(self._request, CreateAgentRequest):
            self.name = name_for(self._gateway, self._request)

    async def _tools(self) -> None:
        if isinstance(self._request, CreateAgentRequest) and self._request.tools is not None:
            await require_tools(self._gateway, self._request.tools)

    async def _needed_input(self) -> None:
        if self.model is not None:
            of_last = self._last.input if self._last is not None else None
            require_folder(self.model, self._request.input or of_last)

    async def _usable_model(self) -> None:
        needs = needs_tools(self._request, self._mode)
        characters = len(self._request.goal)
        if self.model is not None:
            check = CheckModel(model=self.model, characters=characters, needs_tools=needs)
            await self._require_usable(check)

    async def _usable_worker_model(self) -> None:
        is_named = self._last is None or self._request.worker_model is not None
        allowed = self._worker_models
        for model in allowed.names or ((self.worker_model,) if is_named else ()):
            if model not in (None, self.model) or allowed.most_usd is not None:
                await self._require_usable(CheckModel(model=model, most_usd=allowed.most_usd))

    async def _prices(self) -> None:
        if self.models is None or not has_usd_budget(self._gateway, self._request):
            return
        for model in dict.fromkeys(self.models):
            await self._require_usable(CheckModel(model=model, has_usd_budget=True))

    async def _require_usable(self, check: CheckModel) -> None:
        try:
            await self._gateway.bus.ask(BROKER, check, Ok, refused=UNPROCESSABLE)
        except ApiError:
            self._has_unusable_model = not check.has_usd_budget or self._has_unusable_model
            raise

    @property
    def models(self) -> tuple[str, str] | None:
        """The models of coordinator and workers, None unless both are known to be usable."""
        if self.model is None or self.worker_model is None or self._has_unusable_model:
            return None
        return self.model, self.worker_model


def check_servers(named: tuple[str, ...], gateway: Gateway) -> None:
    """Raise ApiError 422 for a tool server that is unknown or may not be granted."""
    servers = with_registered(gateway.home, gateway.config.mcp.servers, named)
    try:
        granted_to_all(servers, named)
    except InvalidInput as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None


def check_cycles(request: RunRequest, mode: Mode) -> None:
    """Raise ApiError 422 for a time between cycles in a run without cycles."""
    if request.cycle_seconds is not None and mode != "infinite":
        raise ApiError(UNPROCESSABLE, f"a {mode} run has no cycles (possible: infinite)")


def check_planning(request: RunRequest, gateway: Gateway) -> None:
    """Raise ApiError 422 for `approve_plan` or `plan_only` in a run that makes no plan."""
    asked = "approve_plan" if request.approve_plan else "plan_only" if request.plan_only else ""
    planning = request.planning or gateway.config.run.planning
    if asked and (planning == "dynamic" or request.plan is not None):
        why = "a plan is given" if request.plan is not None else f"planning is {planning}"
        raise ApiError(
            UNPROCESSABLE, f"{asked} is for a plan that is made (planning static or hybrid): {why}"
        )


def check_leader(request: RunRequest, plan: Plan | None, mode: Mode) -> None:
    """Raise ApiError 422 if no plan can lead the run, or a run led by a model asks for a summary.

    `plan` is the plan of the request; None if the request has no valid plan.
    """
    if request.leader == "model":
        if request.summary:
            raise ApiError(UNPROCESSABLE, "summary is for a run with the leader `plan`")
        return
    if request.plan is None:
        why = "needs a plan"
    elif mode == "infinite":
        why = "has no cycles (possible: finite)"
    elif request.output_schema is not None and not request.summary:
        why = "has no model that writes an answer with an output_schema (possible: with summary)"
    elif plan is not None and plan.is_reconvened:
        why = "cannot reconvene the stages of its plan (contract.coordinator_reconvenes)"
    else:
        return
    raise ApiError(UNPROCESSABLE, f"a run with the leader `plan` {why}")


def check_plan(text: str, gateway: Gateway) -> Plan:
    """Return the plan. Raises ApiError 422 with line and key, or for an unusable external agent."""
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


async def roles_for(
    gateway: Gateway, request: RunRequest, model: str, mode: Mode
) -> RoleTeamTerms | None:
    """Return the team of roles requested for a run, as configured now.

    Raises ApiError 422 if it cannot work. `model` is for roles that name no agent.
    """
    if request.roles is None:
        return None
    from agiraph.api.role_config import resolved_roles  # few runs have one

    if request.plan is not None or mode == "infinite":
        what = "a plan" if request.plan is not None else "infinite mode"
        raise ApiError(UNPROCESSABLE, f"a run with a team of roles cannot have {what}")
    return await resolved_roles(gateway, request.roles, model)


def name_for(gateway: Gateway, request: CreateAgentRequest) -> str:
    """Return the requested name if it is free (else ApiError 409), or a free name from the goal."""
    agents = gateway.agents.all()
    taken = {agent.name for agent in agents} | {agent.id for agent in agents}
    if request.name is not None:
        if request.name in taken:
            raise ApiError(409, f"the name '{request.name}' is taken by another agent")
        return request.name
    wanted = title_of(request.goal) or "agent"
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


async def unnamed_model(gateway: Gateway, roles: RoleTeamRequest | None) -> str:
    """Return the model of a run that names none.

    This is the default model, or else a model that a role of its team names. Raises ApiError 422,
    which says how to configure one.
    """
    try:
        return await default_model(gateway)
    except ApiError as error:
        if error.status != UNPROCESSABLE or roles is None:
            raise
        from agiraph.api.role_config import model_of_roles  # few runs have roles

        if model := await asyncio.to_thread(model_of_roles, gateway, roles):
            return model
        raise


async def default_model(gateway: Gateway) -> str:
    """Return the default model. Raises ApiError 422, which says how to configure one."""
    if named := gateway.config.models.default:
        return named  # its usability is checked with every other model
    catalog = await gateway.bus.ask(BROKER, ListModels(), ModelCatalog)
    if catalog.default is None:
        raise ApiError(UNPROCESSABLE, catalog.why)
    return catalog.default


def require_folder(model: str, folder: str | None) -> None:
    """Raise ApiError 422 for a model that needs an input folder and has none."""
    try:
        check_folder(model, folder)
    except InvalidInput as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None


def needs_tools(request: RunRequest, mode: Mode) -> str:
    """Return the part of this request that needs a coordinator with tools, '' if there is none."""
    if request.input is not None:
        return "read the input folder"
    return "work in cycles" if mode == "infinite" else ""


def has_usd_budget(gateway: Gateway, request: RunRequest) -> bool:
    """Whether a run has a budget in dollars, by its request or by the settings."""
    settings = gateway.config.budgets
    limits = (request.budget_usd, settings.run_usd, settings.agent_usd, settings.agent_usd_per_day)
    return any(limit is not None for limit in limits)

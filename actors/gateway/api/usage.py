"""What was spent, as the broker's ledger has it, under the names that people know."""

from collections.abc import Sequence

from fastapi import APIRouter

from actors.gateway.api.dependencies import GatewayDep
from actors.gateway.api.entities import triggers_of
from actors.gateway.auth.scopes import READ
from actors.gateway.gateway import Gateway
from agiraph.core.errors import AgiraphError
from agiraph.core.ids import BROKER, COORDINATOR_NAME, AgentId
from agiraph.core.models import Agent
from agiraph.core.money import BudgetState
from agiraph.core.turns import UsageBy, UsageRow
from agiraph.http.api import (
    ApiError,
    UsageView,
)
from agiraph.messages.model import AskUsage, UsageTable

ALL_RUNS = "*"
NO_RUN = "none"

router = APIRouter(tags=["system"])


@router.get("/usage", dependencies=[READ])
async def usage(
    gateway: GatewayDep, agent: str | None = None, run: str | None = None, by: UsageBy = "entity"
) -> UsageView:
    """Show what was spent: by one agent's current run, by another one of it, by all (`run=*`).

    Without an agent: by everything in this home. The rows are of an entity, node, model or day.
    """
    if agent is None and run is not None:
        raise ApiError(422, "run: name the agent whose run it is")
    found = gateway.agents.find(agent) if agent is not None else None
    request = AskUsage(by=by) if found is None else _of_agent(gateway, found, run, by)
    table = await gateway.ask(BROKER, request, UsageTable)
    names = _names(gateway, table.rows) if by in ("entity", "node") else {}
    rows = [
        row.model_copy(update={"name": names.get((row.run, row.key), "")}) for row in table.rows
    ]
    budgets = tuple(_budget_named(gateway, state) for state in table.budgets)
    return UsageView(
        by_entity=table.by_entity, total=table.total, by=by, rows=tuple(rows), budgets=budgets
    )


def _budget_named(gateway: Gateway, state: BudgetState) -> BudgetState:
    named = state.key.partition("/")[0]
    agent = gateway.agents.get(AgentId(named)) if state.scope in ("agent", "trigger") else None
    name = agent.name if agent is not None else ""
    if agent is not None and state.scope == "trigger":
        trigger = triggers_of(gateway.agents, agent).triggers.get(state.key.partition("/")[2])
        name = trigger.name if trigger is not None else ""
    return state.model_copy(update={"name": name})


def _of_agent(gateway: Gateway, agent: Agent, run: str | None, by: UsageBy) -> AskUsage:
    if run == ALL_RUNS:
        return AskUsage(agent=agent.id, by=by)
    found = gateway.agents.run_of(agent, run)
    return AskUsage(
        run_id=found.path.name if found is not None else NO_RUN, budgets_of=agent.id, by=by
    )


def _names(gateway: Gateway, rows: Sequence[UsageRow]) -> dict[tuple[str, str], str]:
    """Return what people call entities and nodes, by (run, key) as the ledger has them."""
    agents = {row.key.partition("/")[0] for row in rows}
    runs = {row.run for row in rows}
    names: dict[tuple[str, str], str] = {}
    for agent in gateway.agents.all():
        names["", f"{agent.id}/{COORDINATOR_NAME}"] = agent.name
        for run in gateway.agents.runs_of(agent):
            if agent.id not in agents and run not in runs:
                continue
            try:
                board = gateway.boards.get(gateway.agents.run_of(agent, run))
            except (AgiraphError, OSError):
                continue  # its spending is listed all the same
            for worker in board.workers.values():
                names["", f"{agent.id}/{worker.id}"] = worker.name
            for node in board.nodes.values():
                names[run, node.id] = node.name
    return names

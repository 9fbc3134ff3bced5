"""Endpoints of the standing approvals: what "allow always" has allowed, and taking it back."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import GatewayDep
from actors.gateway.questions.standing_approvals import approval_view, revoke, standing
from agiraph.http.api import ApprovalView

router = APIRouter(tags=["approvals"])


@router.get("/approvals")
async def approvals(gateway: GatewayDep, agent: str | None = None) -> list[ApprovalView]:
    """List what "allow always" has allowed, oldest first; of one agent, or of all."""
    wanted = gateway.agents.find(agent).id if agent else None
    names = {known.id: known.name for known in gateway.agents.all()}
    found = standing(gateway.questions, wanted)
    return [approval_view(case, names.get(case.question.agent, "")) for case in found]


@router.delete("/approvals/{approval}")
async def revoke_approval(approval: str, gateway: GatewayDep) -> ApprovalView:
    """Take an approval back: the next such action is asked for again."""
    return revoke(gateway.questions, approval, gateway.clock.now())

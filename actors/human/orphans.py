"""Orphans: questions of workers that are gone, which nobody waits for any more."""

from actors.human.gateway import Gateway
from agiraph.ids import COORDINATOR_NAME, AgentId, WorkerId

LEFT = frozenset({"worker.stopped", "agent.completed", "agent.failed", "agent.stopped"})
"""Events after which an agent may have left questions behind."""
GONE = "the one who asked has left the team"


def withdraw_orphans(gateway: Gateway, agent_id: AgentId | None = None) -> None:
    """Withdraw the open questions, of one agent or of all, whose workers have left their team.

    With the end of a run all have. Who has left stands on the agent's board, so what was missed while the gateway was away is made
    up for at its next start.
    """
    for question in gateway.questions.open(agent_id):
        agent = gateway.agents.get(question.agent)
        asker = gateway.questions.asker_of(question.id)
        name = asker.rpartition("/")[2]
        if agent is None or name == COORDINATOR_NAME:
            continue
        board = gateway.boards.of(gateway.agents.run_of(agent))
        worker = board.workers.get(WorkerId(name))
        if worker is None or worker.status == "stopped" or not board.is_running:
            now = gateway.clock.now()
            gateway.questions.withdraw_one(asker, question.id, GONE, now)
            gateway.postman.ring()

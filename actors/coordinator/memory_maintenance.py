"""Memory maintenance: the coordinator is asked to put its agent's memory in order, where work
begins anyway.

At the beginning of a run or a cycle, if the memory has outgrown its bounds, and at no other time:
a quiet board makes no model call.
"""

from actors.runtime.runtime import Runtime
from agiraph.agent.prompts import render
from agiraph.core.ids import COORDINATOR_NAME, AgentId, RunId
from agiraph.core.models import Event
from agiraph.memory.loading import maintenance_reasons, old_logs
from agiraph.storage.home import AgentHome

LOGS_NAMED = 40


def upkeep_turn(
    runtime: Runtime, home: AgentHome, agent: AgentId, run: RunId, cycle: int = 1
) -> str:
    """Return what the mind is told if the memory needs it, and report that; "" if it does not."""
    bounds = runtime.config.memory
    reasons = maintenance_reasons(home, bounds)
    if not reasons:
        return ""
    runtime.report(
        Event(
            type="memory.upkeep",
            agent_id=agent,
            ts=runtime.clock.now(),
            entity=COORDINATOR_NAME,
            run_id=run,
            data={"reasons": reasons},
            key=f"{runtime.address}:memory.upkeep:{run}.{cycle}",
        )
    )
    logs = old_logs(home)[:LOGS_NAMED]
    return render("upkeep", reasons=reasons, logs=logs, turns=bounds.upkeep_turns)

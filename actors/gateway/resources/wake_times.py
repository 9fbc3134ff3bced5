"""An agent's triggers as they stand on disk, and when it wakes by itself while it is parked."""

from actors.gateway.state.agents import AgentDirectory
from agiraph.core.clock import iso
from agiraph.core.errors import Corrupt
from agiraph.core.models import Agent
from agiraph.storage.files import read_bytes
from agiraph.triggers.trigger_set import FiringLimits, TriggerSet

UNUSED = FiringLimits(late_seconds=0, per_minute=1)


def book_of(agents: AgentDirectory, agent: Agent) -> TriggerSet:
    """Return an agent's triggers; an empty book if they cannot be read."""
    try:
        text = read_bytes(agents.home_of(agent).triggers).decode()
        return TriggerSet.read(agent.id, text, UNUSED)
    except (OSError, Corrupt, UnicodeDecodeError):
        return TriggerSet(agent.id, UNUSED)


def next_wake(agents: AgentDirectory, agent: Agent) -> str:
    """Return when an agent's next cycle begins or its next trigger is due, '' if nothing is set.

    A heartbeat is due, and lets the agent sleep, when nothing has happened.
    """
    if agent.next_cycle_at is not None:
        return f"cycle {agent.cycle + 1} at {iso(agent.next_cycle_at)}"
    active = [t for t in book_of(agents, agent).triggers.values() if t.is_active]
    due = min(((t.next_due, t.name) for t in active if t.next_due is not None), default=None)
    return f"'{due[1]}' at {iso(due[0])}" if due else ""

"""When a parked agent wakes by itself: what its record and its triggers say."""

from actors.human.agents import Agents
from agiraph.clock import iso
from agiraph.errors import Corrupt
from agiraph.models import Agent
from agiraph.triggers.book import Book, Bounds

UNUSED = Bounds(late_seconds=0, per_minute=1)


def next_wake(agents: Agents, agent: Agent) -> str:
    """Return when an agent's next cycle begins or its next trigger is due, '' if nothing is set.

    A heartbeat is due, and lets the agent sleep, when nothing has happened.
    """
    if agent.next_cycle_at is not None:
        return f"cycle {agent.cycle + 1} at {iso(agent.next_cycle_at)}"
    try:
        text = agents.home_of(agent).triggers.read_text(encoding="utf-8")
        book = Book.read(agent.id, text, UNUSED)
    except (OSError, Corrupt, UnicodeDecodeError):
        return ""
    active = [trigger for trigger in book.triggers.values() if trigger.is_active]
    due = min(((t.next_due, t.name) for t in active if t.next_due is not None), default=None)
    return f"'{due[1]}' at {iso(due[0])}" if due else ""

"""A home of many agents, made of one ended agent: its files are copied under other names.

Each agent has real files of a coordinator, a recorder and a board, at the cost of a few copies.
"""

from pathlib import Path
from typing import Final

from agiraph.core.ids import AgentId
from agiraph.core.models import Agent
from agiraph.storage.home import AgentHome, Home
from agiraph.storage.journal import encode_record, read_journal

A_MINUTE: Final = 60.0


def multiplied(home: Path, ended: str, count: int) -> list[str]:
    """Put `count` copies of the agent `ended` into the home, with other names and times.

    Returns their names, the oldest first: `old-001` and so on, all before `ended`.
    """
    agents = Home(home)
    first = agents.agent(ended)
    agent = Agent.model_validate_json(first.record.read_bytes())
    events = read_journal(first.events)
    names = [f"old-{number:03}" for number in range(1, count + 1)]
    for ago, name in enumerate(reversed(names), 1):
        id = AgentId(f"{name}-{ago:06x}")
        began = agent.created_at - ago * A_MINUTE
        told = {"id": id, "name": name, "created_at": began, "updated_at": began}
        other = agents.agent(id)
        _copy_run(first, other, str(agent.run))
        of_other = (encode_record({**event, "agent_id": id}) for event in events)
        other.events.write_bytes(b"".join(of_other))
        other.record.write_text(agent.model_copy(update=told).model_dump_json())
    return names


def _copy_run(first: AgentHome, other: AgentHome, run: str) -> None:
    """Copy the readable files of an ended agent: its texts, and its run's board and result."""
    there, here = first.run(run), other.run(run)
    here.path.mkdir(parents=True)
    pairs = (
        (first.goal, other.goal),
        (first.memory_file, other.memory_file),
        (first.conversation, other.conversation),
        (there.journal, here.journal),
        (there.output, here.output),
        (there.plan, here.plan),
    )
    for source, target in pairs:
        target.write_bytes(source.read_bytes())

"""The record of an agent that has begun a run, as its coordinator would have written it."""

from pathlib import Path
from typing import Any

from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent
from agiraph.storage.home import Home


def begin_run(
    home: Path,
    run: str = "run-1",
    agent: str = "shop-1",
    **terms: Any,
) -> Agent:
    """Write `agent.json` of an agent in this run, create the run's folder; return the record."""
    record = Agent(
        id=AgentId(agent),
        name=agent,
        goal="Sell",
        model="anthropic/fake",
        worker_model="anthropic/fake",
        run=RunId(run),
        created_at=1.0,
        updated_at=1.0,
        **terms,
    )
    folder = Home(home).agent(AgentId(agent))
    folder.run(run).path.mkdir(parents=True, exist_ok=True)
    folder.record.write_text(record.model_dump_json(), encoding="utf-8")
    return record

"""An entity's context without processes: real files, a bus that only remembers."""

from pathlib import Path
from typing import Any, cast

from actors.entity.context import EntityContext
from actors.entity.roster import Roster
from actors.runtime.runtime import Runtime
from agiraph.agent.conversation import Conversation
from agiraph.agent.inbox import EntityInbox
from agiraph.core.ids import AgentId, RunId
from agiraph.core.specs import ResolvedRunSpec
from agiraph.tools.pictures.store import PictureStore
from tests.fakes.fake_runtime import FakeRuntime


def entity_context(
    home: Path, address: str, bus: Any = None, roster: Roster | None = None
) -> tuple[EntityContext, FakeRuntime]:
    """Return the context of the entity at `address`, and the bus that it speaks on."""
    line: Any = bus or FakeRuntime(home)
    line.address = address
    agent, _, name = address.partition("/")
    context = EntityContext(
        runtime=cast(Runtime, line),
        conversation=Conversation(home / f"{name}.jsonl"),
        inbox=EntityInbox(),
        agent=AgentId(agent),
        name=name.partition("-")[0],
        run=RunId("r1"),
        model="a/b",
        spec=ResolvedRunSpec(goal="Work", model="a/b", worker_model="a/b"),
        calls=home / ".calls",
        pictures=PictureStore(home / ".pictures"),
        hold_file=home / ".held.json",
        environment={},
        roster=roster or Roster(AgentId(agent)),
    )
    return context, line

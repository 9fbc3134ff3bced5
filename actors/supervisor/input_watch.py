"""InputWatch: reports the autorun files that an entity left in its input folder when it ended.

An entity reports them after each command. A command that is killed together with its entity, for
instance by `agiraph stop`, is followed by this search.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agiraph.core.errors import Corrupt
from agiraph.core.ids import AgentId, RunId, agent_of
from agiraph.core.models import Agent
from agiraph.core.turns import JsonObject
from agiraph.logs.event_log import EventLog
from agiraph.logs.event_text import AUTORUN, autorun_marks
from agiraph.messages.child import ChildSpec
from agiraph.storage.files import is_file, read_bytes
from agiraph.storage.home import Home, input_at_start

if TYPE_CHECKING:
    from agiraph.tools.sandbox.input_guard import InputGuard

SEARCH_SECONDS = 2.0
"""How long the end of an entity waits for the search; a longer search continues without it."""
MOST_RUNS = 64
PAGE = 2000

Report = Callable[[AgentId, str, str, dict[str, Any]], None]
"""Takes an agent, the type of an event, the address of the entity, and the fields."""


class InputWatch:
    """Searches the input folder of a run whenever one of its entities has ended."""

    def __init__(self, home: Home, report: Report) -> None:
        self._home = home
        self._report = report
        self._guards: dict[Path, InputGuard] = {}
        self._searches: set[asyncio.Task[None]] = set()

    async def after_end(self, spec: ChildSpec) -> None:
        """Report new autorun files in the input folder of an entity that has ended."""
        agent = agent_of(spec.address)
        if agent is None:
            return
        search = asyncio.create_task(self._search(agent, spec))
        self._searches.add(search)
        search.add_done_callback(self._searches.discard)
        await asyncio.wait([search], timeout=SEARCH_SECONDS)

    async def _search(self, agent: AgentId, spec: ChildSpec) -> None:
        for data in await asyncio.to_thread(self._news, agent, spec):
            self._report(agent, AUTORUN, spec.address, data)

    def _news(self, agent: AgentId, spec: ChildSpec) -> list[JsonObject]:
        """Return the data of an event for each new autorun file.

        Blocks as long as the search takes.
        """
        try:
            run = self._run_of(agent, spec)
        except (OSError, ValueError):  # the agent was deleted, or its record is damaged
            return []
        if run is None:
            return []
        place = self._home.agent(agent).run(run).path
        if not is_file(input_at_start(place)):
            return []
        from agiraph.tools.sandbox.input_guard import known_guard_of  # few runs may write an input
        from agiraph.tools.sandbox.input_news import unreported

        if place not in self._guards and (guard := known_guard_of(place)) is not None:
            while len(self._guards) >= MOST_RUNS:
                del self._guards[next(iter(self._guards))]
            self._guards[place] = guard
        known = self._guards.get(place)
        return [] if known is None else unreported(known, lambda: self._reported(agent))

    def _reported(self, agent: AgentId) -> set[tuple[str, str]]:
        """Return (path, mark) of each autorun file that the entities of an agent have reported."""
        log, seq = EventLog(self._home.agent(agent).events), 0
        found: set[tuple[str, str]] = set()
        # A file is rather reported twice than never: a damaged log ends the search in it.
        with suppress(Corrupt, OSError):
            while page := log.page(seq, PAGE):
                seq = page[-1].seq
                for event in page:
                    found |= autorun_marks(event.type, event.data)
        return found

    def _run_of(self, agent: AgentId, spec: ChildSpec) -> RunId | None:
        """Return the run of an entity: a worker's from its arguments, else the agent's newest."""
        if isinstance(run := spec.args.get("run"), str) and "worker" in spec.args:
            return RunId(run)
        record = Agent.model_validate_json(read_bytes(self._home.agent(agent).record))
        return record.run

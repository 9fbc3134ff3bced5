"""WorkerContext: one worker, its folders, and its current node."""

import asyncio
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from actors.entity.args import WorkerArgs
from actors.entity.context import EntityContext
from actors.entity.roster import Roster
from actors.entity.sandbox_report import OF_WORKER, CommandPlace, machine_in_words
from actors.runtime.ask_again import ask_for
from actors.runtime.runtime import Runtime
from actors.worker.files import WorkerFiles
from agiraph.agent.conversation import Conversation
from agiraph.agent.inbox import EntityInbox
from agiraph.agent.records import StateChanged
from agiraph.agent.replies import key_of
from agiraph.agent.worktime import longest_absence
from agiraph.core.errors import Refused
from agiraph.core.ids import COORDINATOR_NAME, Address, NodeId, coordinator_address
from agiraph.core.models import Assignment, TeamRoster, WorkNode
from agiraph.core.money import Shortage
from agiraph.core.ref_paths import REFS
from agiraph.core.turns import JsonObject
from agiraph.messages.board import AskRoster, RosterChanged
from agiraph.storage.files import remove_tree
from agiraph.storage.home import NodeHome
from agiraph.tools.pictures.store import PictureStore
from agiraph.tools.scopes.named_places import link_named_places
from agiraph.tools.scopes.scope import Scope

NO_LEADER: Final = (
    "no model leads this run, so messages to the coordinator are not read (possible: a teammate, "
    "`human`, or `publish`)"
)


class NodeLimitReached(Exception):
    """The node has reached a limit; the text is the reason for the coordinator."""


class WorkerContext(EntityContext):
    """The state that a worker's parts share.

    `shortage` is the budget that the last calls of its external agent lacked, None without one;
    `low` the limit of its node that these calls have nearly reached, until the agent is warned;
    `unpublished` are name patterns of files in scratch/ that are no results.
    """

    def __init__(self, runtime: Runtime, args: WorkerArgs, environment: dict[str, str]) -> None:
        self.args = args
        home = runtime.home.agent(args.agent).run(args.run).worker(args.worker.id)
        self.files = WorkerFiles(home, args.worker)
        self.is_external = args.worker.type == "autonomous"
        self.coordinator = coordinator_address(args.agent)
        self.deadline: NodeDeadline | None = None
        self.shortage: Shortage | None = None
        self.low: Shortage | None = None
        self.unpublished: tuple[str, ...] = ()
        self._scope: tuple[tuple[NodeId, int, dict[str, str]], Scope] | None = None
        super().__init__(
            runtime=runtime,
            conversation=Conversation(home.conversation),
            inbox=EntityInbox(),
            agent=args.agent,
            name=args.worker.name,
            run=args.run,
            model=args.worker.model or args.model,
            spec=args.spec,
            calls=home.calls,
            pictures=PictureStore(home.pictures),
            hold_file=home.hold,
            environment=environment,
            roster=Roster(args.agent, self._fetch_roster),
        )
        self.roster.update(self.files.load_roster())

    def update_roster(self, roster: TeamRoster) -> None:
        """Update the roster in memory and on disk."""
        known = self.roster.current
        self.roster.update(roster)
        if self.roster.current != known:
            self.files.store_roster(self.roster.current)

    @property
    def assignment(self) -> Assignment:
        """The assignment of the current node."""
        assignment = self.transcript.assignment
        assert assignment is not None
        return assignment

    def node_home(self, node: WorkNode) -> NodeHome:
        """Return the folder of a node."""
        return self.run_home.node(node.folder)

    @property
    def scope(self) -> Scope:
        """The files and network for the current node, computed once for each attempt."""
        node, args = self.assignment.node, self.args
        key = (node.id, self.assignment.attempt, node.refs)
        if self._scope is None or self._scope[0] != key:
            scope = Scope.for_worker(
                self.runtime.home.agent(self.agent),
                self.run_home,
                args.worker.id,
                self.run_home.node(node.folder),
                Path(args.spec.input) if args.spec.input else None,
                refs=node.refs,
                has_network=self.runtime.config.sandbox.has_network(self.name, args.worker.role),
            )
            remove_tree(self.node_home(node).path / REFS)
            link_named_places(scope)
            self._scope = key, scope
        return self._scope[1]

    def machine(self) -> str:
        """Return the section of the prompt about the machine of the worker's commands."""
        config, input_dir = self.runtime.config, self.args.spec.input
        place = CommandPlace(
            self.command_path,
            Path(input_dir).resolve() if input_dir else None,
            self.runtime.home.path.resolve(),
            (self.name, self.args.worker.role),
            OF_WORKER,
            self.args.programs,
        )
        return machine_in_words(config, place)

    def prepare_node(self, home: NodeHome) -> None:
        """Compute the scope and open the log before the node's first model call needs them."""
        _ = self.scope
        self.files.open_log(home)

    def report(self, event: str, data: JsonObject, key: str = "", **other: Any) -> None:
        """Report an event to the recorder, and to the node's own log."""
        record, assignment = self.event(event, data, key, **other), self.transcript.assignment
        self.runtime.report(record)
        if assignment:
            self.files.log(self.node_home(assignment.node), record)

    async def recipients(self, to: str) -> list[tuple[str, Address]]:
        """Return (name, address) of each receiver that `to` names.

        Raises Refused for a coordinator without a model.
        """
        if self.args.has_leader:
            return await super().recipients(to)
        if key_of(to) == COORDINATOR_NAME:
            raise Refused(NO_LEADER)
        found = await super().recipients(to)
        return [(name, address) for name, address in found if address != self.coordinator]

    async def _fetch_roster(self) -> TeamRoster:
        changed = await ask_for(self.runtime, self.coordinator, AskRoster(), RosterChanged)
        self.update_roster(changed.roster)
        return changed.roster

    async def send_to_coordinator(self, key: str, body: BaseModel) -> None:
        """Send `body` with the id of step `key`: repeated after a crash it is the same message."""
        await self.send(self.coordinator, body, self.message_id(key))

    def standing_still(self) -> AbstractContextManager[None]:
        return self.deadline.standing_still() if self.deadline else nullcontext()

    def close(self) -> None:
        self.conversation.close()
        self.files.close()


class NodeDeadline:
    """A time limit: an async context that raises TimeoutError after `seconds` inside it.

    Time inside `standing_still` does not count. `was_announced`: whether the model has been
    warned that the limit is near.
    """

    @classmethod
    def of_node(cls, conversation: Conversation, seconds: float, now: float) -> "NodeDeadline":
        """Return the deadline after the rest of a node's `seconds`; a restart does not extend it.

        If the worker had no process for long, a record of that is added to `conversation`: only
        `longest_absence` of this time counts. `now` is Unix time.
        """
        transcript = conversation.transcript
        seen_at, most = transcript.time.seen_at, longest_absence(transcript.running_calls)
        if seen_at and not transcript.is_waiting and now - seen_at > most:
            conversation.append(StateChanged(what="away", ts=now))
        work = transcript.time.at(now, is_waiting=transcript.is_waiting)
        return cls(seconds - work.seconds, seconds)

    def __init__(self, seconds: float, limit: float = 0.0) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._added = 0.0
        self._timer = asyncio.timeout(max(0.0, seconds))
        self._is_running = False
        self.was_announced = False

    async def __aenter__(self) -> None:
        await self._timer.__aenter__()
        self._is_running = True

    async def __aexit__(self, *error: Any) -> None:
        self._is_running = False
        await self._timer.__aexit__(*error)  # it never suppresses: it raises TimeoutError

    @property
    def remaining_seconds(self) -> float:
        """The rest of the time in seconds; infinite while the deadline is stopped."""
        ends_at = self._timer.when()
        return math.inf if ends_at is None else ends_at - self._loop.time()

    def set_limit(self, seconds: float) -> None:
        """Change the whole time limit of the node (seconds); time already used still counts."""
        added, self._limit = seconds - self._limit, seconds
        self.was_announced = self.was_announced and added <= 0
        if (ends_at := self._timer.when()) is None:
            self._added += added  # it is stopped
        elif self._may_change:
            self._timer.reschedule(ends_at + added)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Stop the time inside the block.

        A tool that is cancelled with its work may end after the work: the time is then not changed.
        """
        ends_at = self._timer.when()
        if ends_at is None or not self._may_change:
            yield
            return
        remaining = ends_at - self._loop.time()
        self._timer.reschedule(None)
        try:
            yield
        finally:
            if self._may_change:
                added, self._added = self._added, 0.0
                self._timer.reschedule(self._loop.time() + max(0.0, remaining + added))

    @property
    def _may_change(self) -> bool:
        return self._is_running and not self._timer.expired()

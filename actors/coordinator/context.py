"""CoordinatorContext: one agent's coordinator in one run, its files and the agent's record."""

from asyncio import Future
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.coordinator.files import AgentFiles
from actors.coordinator.record import AgentRecord
from actors.entity.args import CoordinatorArgs
from actors.entity.context import EntityContext
from actors.entity.roster import Roster
from actors.runtime.runtime import Runtime
from agiraph.agent.conversation import Conversation
from agiraph.agent.inbox import EntityInbox
from agiraph.core.concurrency import Signal
from agiraph.core.ids import COORDINATOR_NAME, QuestionId
from agiraph.core.models import ActivityState, EntityState
from agiraph.messages.question import AskQuestion
from agiraph.tools.pictures.store import PictureStore
from agiraph.tools.scopes.scope import Scope


@dataclass(frozen=True, slots=True)
class Rest:
    """A pause of the coordinator: what it waits for (`doing`), and its start."""

    doing: EntityState
    since: float


class CoordinatorContext(EntityContext):
    """The state that a coordinator's parts share. Its conversation determines its run.

    `args` are the arguments of the current run. `rest` is set while the coordinator waits; `rests`
    signals the beginning of a wait. `timer` is when (Unix time) a wait with a limit ends, else
    None.
    """

    def __init__(
        self,
        runtime: Runtime,
        args: CoordinatorArgs,
        environment: dict[str, str],
        inbox: EntityInbox,
    ) -> None:
        home = runtime.home.agent(args.agent.id)
        conversation = Conversation(home.conversation)
        transcript = conversation.transcript
        self.args = args = args.of_run(transcript.began, transcript.planned)
        self.files = AgentFiles(home, args.run, args.agent)
        self.record = AgentRecord(runtime, self.files, args)
        self.record.renew_goal()
        self.rest: Rest | None = None
        self.rests = Signal()
        self.timer: float | None = None
        self._shown = EntityState()
        folder = args.agent.input
        super().__init__(
            runtime=runtime,
            conversation=conversation,
            inbox=inbox,
            agent=args.agent.id,
            name=COORDINATOR_NAME,
            run=args.run,
            model=args.agent.model,
            spec=args.agent.spec,
            calls=home.calls,
            pictures=PictureStore(home.pictures),
            hold_file=home.hold,
            environment=environment | ({"AGIRAPH_INPUT": folder} if folder else {}),
            roster=Roster(args.agent.id),
        )

    @property
    def scope(self) -> Scope:
        """The files and network that the coordinator may use in its run."""
        return Scope.for_coordinator(
            self.files.home,
            self.files.run,
            Path(self.spec.input) if self.spec.input else None,
            has_network=self.runtime.config.sandbox.has_network(COORDINATOR_NAME),
        )

    def question(
        self, id: QuestionId, text: str, options: tuple[str, ...], **more: Any
    ) -> AskQuestion:
        """Return a question to the human; after the end of the run it belongs to no run."""
        asked = super().question(id, text, options, **more)
        return asked.model_copy(update={"run": None}) if self.record.has_ended else asked

    def show(self, state: ActivityState, step: str, model: str = "") -> None:
        self._shown = EntityState(state=state, step=step, model=model)
        super().show(state, step, model)

    async def first_of(self, *waits: Awaitable[Any], at_once: bool = False) -> list["Future[Any]"]:
        self.rest = Rest(self._shown, self.now())
        self.rests.set()
        try:
            return await super().first_of(*waits, at_once=at_once)
        finally:
            self.rest = None

    def cause(self, call_id: str) -> str:
        """Return the id of the tool call `call_id` as the cause of a change on the board."""
        return f"{self.runtime.address}#{call_id}"

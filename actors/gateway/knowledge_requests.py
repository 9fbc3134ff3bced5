"""KnowledgeRequestHandler: handles bus messages for the knowledge database, beside all others.

A durable message is acknowledged once its contents are in the database, or cannot be written
because the database is damaged: then the agent's events report it. On a full disk the message
waits. A message that was written before is not written again: a person may have removed its
contents since.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from actors.runtime.runtime import Runtime
from agiraph.api.gateway import Gateway
from agiraph.core.concurrency import BackgroundTasks
from agiraph.core.ids import agent_of
from agiraph.knowledge.database import KnowledgeUnavailable
from agiraph.knowledge.learned import FinishedRun, SaidByHuman, learned
from agiraph.knowledge.records import KnowledgeHit, project_id, project_of
from agiraph.knowledge.relevant import RelevantKnowledge, relevant
from agiraph.knowledge.remembered import remembered_node
from agiraph.knowledge.search import LEARNED
from agiraph.knowledge.store import KnowledgeStore
from agiraph.messages.authorization import is_coordinator, shown_name
from agiraph.messages.knowledge import (
    EarlierWorkFound,
    FindEarlierWork,
    LearnFromRun,
    RememberThis,
)
from agiraph.storage.disk_space import outlasting
from transport.endpoint import Received
from transport.errors import TransportError

CANDIDATES = 60
"""How many of the best hits are considered for a prompt."""


class KnowledgeRequestHandler:
    """Handles the messages for the knowledge database of a gateway."""

    def __init__(self, gateway: Gateway, runtime: Runtime) -> None:
        self._gateway, self._runtime = gateway, runtime
        self._database = gateway.messages.database
        self.tasks = BackgroundTasks()

    def begin(self, received: Received) -> bool:
        """Begin to handle a knowledge message; return False for any other message."""
        match received.body:
            case LearnFromRun(run=run):
                self.tasks.start(self._write(received, partial(self._learn, run)))
            case RememberThis() as remembered:
                self.tasks.start(
                    self._write(received, partial(self._remember, received, remembered))
                )
            case FindEarlierWork() as asked:
                self.tasks.start(self._find(received, asked))
            case _:
                return False
        return True

    async def run(self) -> None:
        """Let the started tasks run until cancelled; an error in a task is raised here."""
        try:
            await self.tasks.until_broken()
        finally:
            await self._gateway.scans.stop()
            await self.tasks.stop()

    async def _write(self, received: Received, work: Callable[[], Awaitable[None]]) -> None:
        """Execute a durable message once, and acknowledge it."""
        id = received.header.id.hex()
        async with self._runtime.handling(received):
            try:
                if not self._database.rows("SELECT 1 FROM knowledge_writes WHERE message = ?", id):
                    await outlasting(work)
                    self._database.write(
                        ("INSERT OR IGNORE INTO knowledge_writes VALUES (?)", (id,))
                    )
            except KnowledgeUnavailable as error:
                await self._tell(received, str(error))
            self._runtime.done(received)

    async def _tell(self, received: Received, why: str) -> None:
        agent = agent_of(received.header.sender)
        assert agent is not None
        self._gateway.log.warning("the knowledge database cannot be used", reason=why)
        reporter = self._gateway.reporter
        await reporter.report("knowledge.unavailable", agent, received.header.id, {"reason": why})

    async def _learn(self, run: FinishedRun) -> None:
        """Write the lessons of a run, with the person's messages during the run."""
        found = learned(run.model_copy(update={"human": said_in(self._gateway, run)}))
        await self._gateway.knowledge.use(lambda store: store.add(found.nodes, found.edges))

    async def _remember(self, received: Received, body: RememberThis) -> None:
        sender = received.header.sender
        by = body.by if is_coordinator(sender) else shown_name(sender, body.by)
        made = remembered_node(
            body.what,
            cause=received.header.id.hex(),
            project=project_of(body.input_dir, body.agent),
            by=by,
            now=received.header.sent_at,
            agent=body.agent,
            run=body.run,
        )
        await self._gateway.knowledge.use(lambda store: store.add([made]))

    async def _find(self, received: Received, asked: FindEarlierWork) -> None:
        """Answer with the notes that concern a goal, or with the reason why none are found."""
        project, now = project_of(asked.input_dir, asked.agent), self._gateway.clock.now()

        def look_up(store: KnowledgeStore) -> RelevantKnowledge:
            if asked.notes == "all":
                hits = store.search(asked.goal, LEARNED, project, CANDIDATES, now=now)
            else:
                hits = hits_of_project(store, asked, now)
            found = relevant(hits, asked.tokens, store.standing(project))
            store.mark_used([note.id for note in found.notes], now)
            return found

        database, answer = self._gateway.knowledge, EarlierWorkFound()
        try:
            if database.is_there:
                answer = EarlierWorkFound(found=await database.use(look_up))
        except (KnowledgeUnavailable, OSError) as error:
            answer = EarlierWorkFound(reason=str(error))
        with suppress(TransportError):
            await self._runtime.reply(received, answer)
        if asked.input_dir:
            self._gateway.scans.begin_if_due(asked.input_dir)


def hits_of_project(
    store: KnowledgeStore, asked: FindEarlierWork, now: float
) -> list[KnowledgeHit]:
    """Return the notes of a run's own project that match its goal, the best first.

    These include the notes from a scan of its input folder, which may be below the repository's
    top, and the notes that the person has added for all projects.
    """
    places: list[str | None] = [project_of(asked.input_dir, asked.agent), None]
    if asked.input_dir:
        places.append(project_id(asked.input_dir))
    hits = [
        hit
        for place in dict.fromkeys(places)
        for hit in store.search(
            asked.goal, LEARNED, place, CANDIDATES, is_only_project=True, now=now
        )
        if place is not None or not hit.node.agent
    ]
    return sorted(hits, key=lambda hit: -hit.score)


def said_in(gateway: Gateway, run: FinishedRun) -> tuple[SaidByHuman, ...]:
    """Return the person's answers and messages to an agent during a run."""
    said = []
    for message in gateway.messages.said_by_human(run.agent, run.started, run.ended):
        question = gateway.questions.get(message.question_id) if message.question_id else None
        if question is None:
            said.append(SaidByHuman(id=message.id, text=message.content, at=message.ts))
        elif question.kind == "question":
            asked = {"question": question.question, "asked_by": question.from_id}
            said.append(SaidByHuman(id=message.id, text=message.content, at=message.ts, **asked))
    return tuple(said)

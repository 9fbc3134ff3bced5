"""OrphanedQuestions: questions of workers that are gone, which nobody waits for any more."""

import asyncio

from actors.gateway.questions.answer_delivery import AnswerDelivery
from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.agents import AgentDirectory
from actors.gateway.state.boards import BoardReader
from agiraph.core.clock import Clock
from agiraph.core.errors import AgiraphError
from agiraph.core.ids import COORDINATOR_NAME, AgentId, WorkerId

PAUSE_SECONDS = 1.0
"""A board is looked at so often at most, however much happens on it."""
GONE = "the one who asked has left the team"


class OrphanedQuestions:
    """One task that withdraws the open questions of workers that have left their team.

    With the end of a run all have. Who has left stands on the agent's board, so what was missed
    while the gateway was away is made up for at its next start.
    """

    def __init__(
        self,
        questions: QuestionStore,
        agents: AgentDirectory,
        boards: BoardReader,
        answer_delivery: AnswerDelivery,
        clock: Clock,
    ) -> None:
        """Watch `questions`; the caller runs `run` as a task."""
        self._questions = questions
        self._agents = agents
        self._boards = boards
        self._postman = answer_delivery
        self._clock = clock
        self._bell = asyncio.Event()

    def ring(self, agent: AgentId) -> None:
        """Something has happened in an agent."""
        if self._questions.open(agent):
            self._bell.set()

    async def run(self) -> None:
        """Look at the start, and a moment after each ring."""
        while True:
            self._bell.clear()
            self._withdraw()
            await self._bell.wait()
            await asyncio.sleep(PAUSE_SECONDS)

    def _withdraw(self) -> None:
        for question in self._questions.open():
            asker = self._questions.asker_of(question.id)
            if self._has_left(question.agent, asker):
                self._questions.withdraw_one(asker, question.id, GONE, self._clock.now())
                self._postman.ring()

    def _has_left(self, agent_id: AgentId, asker: str) -> bool:
        name = asker.rpartition("/")[2]
        try:
            agent = self._agents.get(agent_id)
            if agent is None or name == COORDINATOR_NAME:
                return False
            board = self._boards.of(self._agents.run_of(agent))
        except (AgiraphError, OSError):
            return False  # a record that is damaged hides itself alone
        worker = board.workers.get(WorkerId(name))
        return worker is None or worker.status == "stopped" or not board.is_running

"""InsightReview: handles insights that workers offer for the agent's memory, by policy.

    accept   it is written into the agent's memory, with its worker and its time
    ask      the coordinator's model sees it with the end of its node, and may write it down
    ignore   nothing

An insight arrives with the result of a node, so it never ends a wait of the coordinator by itself.
Each takes effect once, however often the result is reported.
"""

from actors.coordinator.context import CoordinatorContext
from agiraph.core.errors import Refused
from agiraph.core.ids import HUMAN, RECORDER, derived_id
from agiraph.knowledge.remembered import LONGEST_TEXT, LONGEST_TITLE, RememberedSpec
from agiraph.memory.memory_files import INSIGHTS_FILE, Insight, MemoryFiles, store_insight
from agiraph.messages.event import ReportEvents
from agiraph.messages.knowledge import RememberThis
from agiraph.messages.node import PublishNode
from transport.errors import TransportError

MARK_CHARACTERS = 12


class InsightReview:
    """Handles the insights that the workers of one run offer."""

    def __init__(self, context: CoordinatorContext) -> None:
        self._context = context
        self._runtime = context.runtime
        self._home = context.files.home

    async def review(self, publish: PublishNode, worker: str, node: str, offered_at: float) -> str:
        """Apply the policy to a result's insight; return the insight if the model must decide.

        `worker` and `node` are the names of its origin, `offered_at` is the time of the offer.
        """
        text, policy = publish.insight.strip(), self._runtime.config.memory.insights
        if not text:
            return ""
        mark = derived_id(publish.node_id, str(publish.attempt), text)[:MARK_CHARACTERS]
        insight = Insight(
            text=text,
            worker=worker,
            node=node,
            run=self._context.run,
            offered_at=offered_at,
            mark=mark,
        )
        if policy != "ignore" and self._runtime.config.knowledge.learn:
            await self._remember(insight)
        is_stored = policy == "accept" and self._store(insight)
        await self._report(insight, policy, is_stored=is_stored)
        return "" if is_stored or policy == "ignore" else text

    async def _remember(self, insight: Insight) -> None:
        """Store the insight in the knowledge database for the runs of other agents, too."""
        context = self._context
        title = insight.text.splitlines()[0][:LONGEST_TITLE]
        spec = RememberedSpec(kind="pattern", title=title, text=insight.text[:LONGEST_TEXT])
        body = RememberThis(
            agent=context.agent,
            run=context.run,
            input_dir=context.spec.input,
            by=insight.worker,
            what=spec,
        )
        try:
            await self._runtime.send(HUMAN, body, id=context.message_id(f"remember.{insight.mark}"))
        except TransportError as error:
            self._runtime.log.warning("the insight is not kept", reason=str(error))

    def _store(self, insight: Insight) -> bool:
        """Write the insight into the memory; False if the memory does not accept it."""
        memory = MemoryFiles.of_agent(self._home, self._runtime.config.memory)
        try:
            store_insight(memory, insight, self._home.path)
        except Refused as error:
            self._runtime.log.warning("the insight is not stored", reason=str(error))
            return False
        return True

    async def _report(self, insight: Insight, policy: str, *, is_stored: bool) -> None:
        """Report the offered insight, once however often it is delivered."""
        data = {"worker": insight.worker, "node": insight.node, "insight": insight.text}
        data |= {"policy": policy} | ({"path": INSIGHTS_FILE} if is_stored else {})
        about = {"ts": insight.offered_at, "entity": insight.worker}
        event = self._context.event("memory.insight", data, "", **about)
        id = self._context.message_id(f"insight.{insight.mark}")
        await self._runtime.send(RECORDER, ReportEvents(events=(event,)), id=id)

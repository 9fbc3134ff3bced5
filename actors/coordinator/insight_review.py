"""InsightReview: handles insights that workers offer for the agent's memory, by policy.

    accept   it is written into the agent's memory, with its worker and its time
    ask      the coordinator's model sees it and may write it into the memory
    ignore   nothing

Each takes effect once: the offer is a durable message whose id follows from the worker's step.
"""

from typing import assert_never

from actors.coordinator.context import CoordinatorContext
from agiraph.core.errors import Refused
from agiraph.core.ids import HUMAN, RECORDER
from agiraph.knowledge.remembered import LONGEST_TEXT, LONGEST_TITLE, RememberedSpec
from agiraph.memory.memory_files import INSIGHTS_FILE, Insight, MemoryFiles, store_insight
from agiraph.messages.event import ReportEvents
from agiraph.messages.knowledge import RememberThis
from agiraph.messages.node import OfferInsight
from transport.endpoint import Received
from transport.errors import TransportError

MARK_CHARACTERS = 12


class InsightReview:
    """Handles the insights that the workers of one run offer."""

    def __init__(self, context: CoordinatorContext) -> None:
        self._context = context
        self._runtime = context.runtime
        self._home = context.files.home

    async def handle(self, received: Received, offer: OfferInsight, worker: str, node: str) -> None:
        """Apply the policy to an offer; `worker` and `node` are the names of its origin."""
        policy = self._runtime.config.memory.insights
        insight = Insight(
            text=offer.insight,
            worker=worker,
            node=node,
            run=self._context.run,
            offered_at=received.header.sent_at,
            mark=received.header.id.hex()[:MARK_CHARACTERS],
        )
        if policy != "ignore" and self._runtime.config.knowledge.learn:
            await self._remember(received, insight)
        match policy:
            case "accept":
                self._accept(received, insight)
            case "ask":
                self._ask(received, insight, "")
            case "ignore":
                self._runtime.done(received)
            case _:
                assert_never(policy)
        await self._report(received, insight, policy)

    async def _remember(self, received: Received, insight: Insight) -> None:
        """Store the insight in the knowledge database for the runs of other agents, too."""
        context, text = self._context, insight.text.strip()
        if not text:
            return
        title = text.splitlines()[0][:LONGEST_TITLE]
        what = RememberedSpec(kind="pattern", title=title, text=text[:LONGEST_TEXT])
        body = RememberThis(
            agent=context.agent,
            run=context.run,
            input_dir=context.spec.input,
            by=insight.worker,
            what=what,
        )
        id = context.message_id(f"remember.{received.header.id.hex()}")
        try:
            await self._runtime.send(HUMAN, body, id=id)
        except TransportError as error:
            self._runtime.log.warning("the insight is not kept", reason=str(error))

    def _accept(self, received: Received, insight: Insight) -> None:
        memory = MemoryFiles.of_agent(self._home, self._runtime.config.memory)
        try:
            store_insight(memory, insight, self._home.path)
        except Refused as error:
            self._ask(received, insight, f" It could not be kept as it is: {error}.")
            return
        self._runtime.done(received)

    def _ask(self, received: Received, insight: Insight, more: str) -> None:
        content = (
            f"I offer this to your long-term memory, from node '{insight.node}': {insight.text}\n"
            f"[Runtime]: If it will be of use after this run, write it down with memory_write, and "
            f"who found it.{more} Else leave it."
        )
        self._context.enqueue(received, insight.worker, content)

    async def _report(self, received: Received, insight: Insight, policy: str) -> None:
        """Report the offer, once however often it is delivered."""
        data = {"worker": insight.worker, "node": insight.node, "insight": insight.text}
        data |= {"policy": policy} | ({"path": INSIGHTS_FILE} if policy == "accept" else {})
        about = {"ts": insight.offered_at, "entity": insight.worker}
        event = self._context.event("memory.insight", data, "", **about)
        id = self._context.message_id(f"insight.{received.header.id.hex()}")
        await self._runtime.send(RECORDER, ReportEvents(events=(event,)), id=id)

"""TeamBridge: the messages between an external agent and its team.

A message to the agent is recorded in the conversation before the agent sees it. A message of the
agent is sent under an id that is derived from the node and the text, and then recorded; so after a
crash between the two it is sent again as the same message.
"""

from contextlib import suppress

from actors.entity.messenger import Messenger
from actors.worker.context import WorkerContext
from actors.worker.worker_tools import WorkerTools
from agiraph.agent.inbox import IncomingMessage
from agiraph.agent.records import ExternalMessageSent
from agiraph.core.errors import Refused
from agiraph.core.ids import COORDINATOR_NAME, HUMAN_NAME, derived_id, short_derived_id
from agiraph.external.agent_prompts import LOST
from agiraph.external.exchange_files import CHECKPOINT, OUTBOX, ExchangeFolder
from agiraph.external.outbox import OutboxMessage, unsent
from agiraph.tools.ports import NewQuestion

SETTLED_SECONDS = 0.5


class TeamBridge:
    """The messages of one attempt at a node, which `key` names."""

    def __init__(
        self,
        worker: WorkerContext,
        messenger: Messenger,
        worker_tools: WorkerTools,
        exchange: ExchangeFolder,
        key: str,
    ) -> None:
        self._worker = worker
        self._messenger = messenger
        self._tools = worker_tools
        self._exchange = exchange
        self._key = key
        self._since: dict[str, tuple[tuple[int, int], float]] = {}

    def receive(self, *, with_followups: bool = False) -> list[IncomingMessage]:
        """Record the new messages to the agent, write them into `_inbox.md`, and return them."""
        worker = self._worker
        received = worker.inbox.take_into(worker.conversation, with_followups=with_followups)
        if received:
            now = worker.now()
            worker.conversation.append(*(incoming.record(now) for incoming in received))
            self.write_inbox()
        for incoming in received:
            worker.report(*incoming.event)
        return received

    def write_inbox(self) -> None:
        """Write every message so far into `_inbox.md`."""
        self._exchange.write_inbox(self._worker.transcript.outside.messages)

    async def send_outbox(self, *, has_ended: bool = False) -> bool:
        """Send the new messages in `_outbox.md`; return whether any of them was refused.

        A milestone in `_checkpoint.md` and the loss of the agent's session are reported too.
        `has_ended`: the agent does not write there any more.
        """
        await self._report_lost_session()
        await self._report_milestone(has_ended)
        seen = self._exchange.read(OUTBOX)
        if seen is None:
            return False
        is_settled = has_ended or self._is_settled(OUTBOX, seen.stamp)
        sent = self._worker.transcript.outside.sent
        was_refused = False
        for outgoing in unsent(seen.text, sent, is_settled=is_settled):
            was_refused |= not await self._send(outgoing)
        return was_refused

    async def _send(self, outgoing: OutboxMessage) -> bool:
        """Send one message; if that is refused, tell the agent why. Return whether it was sent."""
        key, asked, refusal = f"outbox.{self._key}.{outgoing.key}", None, ""
        try:
            if outgoing.asks and outgoing.to.lower() == HUMAN_NAME:
                question = NewQuestion(question=outgoing.text, waits=False)
                await self._messenger.ask_human(key, question)
                asked = self._messenger.take_effects().asked
            else:
                await self._messenger.send_message(key, outgoing.to, outgoing.text, "steer")
        except Refused as error:
            refusal = str(error)
        self._record(outgoing.key, outgoing.to, asked, outgoing.text if asked else "")
        if refusal:
            self._worker.add_notice(
                f"[Runtime]: Your message to {outgoing.to} was not sent: {refusal}"
            )
            self.write_inbox()
        return not refusal

    async def _report_lost_session(self) -> None:
        outside = self._worker.transcript.outside
        key = f"lost.{self._key}.{outside.lost_at}"
        if not outside.lost_at or key in outside.sent:
            return
        with suppress(Refused):
            text = LOST.format(agent=outside.agent, number=outside.lost_at)
            await self._messenger.send_message(key, COORDINATOR_NAME, text, "steer")
        self._record(key, COORDINATOR_NAME)

    async def _report_milestone(self, has_ended: bool) -> None:
        seen = self._exchange.read(CHECKPOINT)
        if seen is None or not (has_ended or self._is_settled(CHECKPOINT, seen.stamp)):
            return
        key = f"checkpoint.{derived_id(seen.text)}"
        formerly = f"checkpoint.{short_derived_id(seen.text)}"
        if self._worker.transcript.outside.sent.isdisjoint((key, formerly)):
            await self._tools.checkpoint(f"{key}.{self._key}", seen.text.strip()[:4000])
            self._record(key, COORDINATOR_NAME)

    def _record(self, key: str, to: str, asked: str | None = None, question: str = "") -> None:
        now = self._worker.now()
        record = ExternalMessageSent(key=key, to=to, asked=asked, question=question, ts=now)
        self._worker.conversation.append(record)

    def _is_settled(self, name: str, stamp: tuple[int, int]) -> bool:
        now = self._worker.runtime.clock.monotonic()
        return now - self.unchanged_since(name, stamp) >= SETTLED_SECONDS

    def unchanged_since(self, name: str, stamp: tuple[int, int]) -> float:
        """Return since when (monotonic) the file `name` has had the stamp `stamp`."""
        known, since = self._since.get(name, (None, 0.0))
        if known != stamp:
            since = self._worker.runtime.clock.monotonic()
            self._since[name] = (stamp, since)
        return since

"""Leave: what an outside agent asks leave for is judged by the same rules as anybody's action."""

import asyncio

from actors.entity.questions import approval_id, withdraw
from actors.worker.outside.hand import Hand
from agiraph.agent.records import OutsideAllowed, OutsideAsked
from agiraph.agent.transcript import OpenCall
from agiraph.outside.happenings import AskedLeave
from agiraph.turns import ToolCall


class Leave:
    """The rules, for one node. A question to the human outlives neither its start nor its node."""

    def __init__(self, worker: Hand, key: str) -> None:
        """Judge for `worker`; `key` names the node and its attempt."""
        self._worker = worker
        self._key = key
        self._one_at_a_time = asyncio.Lock()

    async def refusal_of(self, asked: AskedLeave) -> str:
        """Return '' if it may be done, else why not; however long that takes to be known."""
        worker = self._worker
        key = f"leave.{self._key}.{worker.transcript.outside.began_at}.{asked.request}"
        call = ToolCall(id=key, name=asked.tool, arguments=asked.arguments)
        async with self._one_at_a_time:
            asking = worker.clearance(OpenCall(call, key))
            if asking is None:
                return ""
            now = worker.runtime.clock.now
            worker.conversation.append(OutsideAsked(key=key, ts=now()))
            cleared = await asking.answer()
            allowed = OutsideAllowed(key=key, message=cleared.message, ts=now())
            worker.conversation.append(allowed)
        return cleared.refusal

    async def withdraw_all(self) -> None:
        """Take back every question that is open: who asked is gone."""
        worker = self._worker
        for key in sorted(worker.transcript.outside.asking):
            identity = approval_id(worker.runtime.address, key)
            await withdraw(worker.runtime, identity, "the one who asked has ended")
            now = worker.runtime.clock.now()
            worker.conversation.append(OutsideAllowed(key=key, ts=now))

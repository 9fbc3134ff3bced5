"""Leave: what an outside agent asks leave for is judged by the same rules as anybody's action."""

import asyncio
import json
from collections import Counter

from actors.entity.questions import approval_id, withdraw
from actors.worker.outside.hand import Hand
from agiraph.agent.records import OutsideAllowed, OutsideAsked
from agiraph.agent.transcript import OpenCall
from agiraph.approvals.policy import subject_of
from agiraph.errors import Refused
from agiraph.ids import derived_id
from agiraph.outside.happenings import AskedLeave
from agiraph.turns import ToolCall

SHOWN_CHARACTERS = 200
MOST_TIMES = 40  # who mends and tests asks for the same test some dozen times; a loop goes on


class AskedTooOften(Refused):
    """It has asked for the same action again and again: it is in a loop that costs money."""


class Leave:
    """The rules, for one node. A question to the human outlives neither its start nor its node."""

    def __init__(self, worker: Hand, key: str) -> None:
        """Judge for `worker`; `key` names the node and its attempt."""
        self._worker = worker
        self._key = key
        self._one_at_a_time = asyncio.Lock()
        self._asked = Counter[str]()

    async def refusal_of(self, asked: AskedLeave) -> str:
        """Return '' if it may be done, else why not; however long that takes to be known.

        Raises AskedTooOften for an action that was asked for too often on this node.
        """
        self._count(asked)
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

    def _count(self, asked: AskedLeave) -> None:
        """Count an action, with all that it is about: an edit is another one for other words."""
        key = derived_id(asked.tool, json.dumps(asked.arguments, sort_keys=True, default=str))
        self._asked[key] += 1
        if self._asked[key] > MOST_TIMES:
            about = f"{asked.tool}: {subject_of(asked.arguments)[:SHOWN_CHARACTERS]}"
            raise AskedTooOften(
                f"it asked more than {MOST_TIMES} times for the same action, {about}"
            )

    async def withdraw_all(self) -> None:
        """Take back every question that is open: who asked is gone."""
        worker = self._worker
        for key in sorted(worker.transcript.outside.asking):
            identity = approval_id(worker.runtime.address, key)
            await withdraw(worker.runtime, identity, "the one who asked has ended")
            now = worker.runtime.clock.now()
            worker.conversation.append(OutsideAllowed(key=key, ts=now))

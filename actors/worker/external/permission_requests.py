"""PermissionRequests: what an outside agent asks leave for is judged by the same rules as anybody's
action."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable

from actors.entity.questions import approval_id, withdraw
from actors.worker.context import WorkerContext
from agiraph.agent.loop import PendingApproval
from agiraph.agent.records import ExternalPermissionAsked, ExternalPermissionDecided
from agiraph.agent.transcript import OpenCall
from agiraph.core.errors import Refused
from agiraph.core.ids import derived_id
from agiraph.core.turns import ToolCall
from agiraph.external.agent_events import PermissionRequested
from agiraph.tools.approvals.policy import subject_of

SHOWN_CHARACTERS = 200
MOST_TIMES = 40  # who mends and tests asks for the same test some dozen times; a loop goes on


class TooManyPermissionRequests(Refused):
    """It has asked for the same action again and again: it is in a loop that costs money."""


class PermissionRequests:
    """The rules, for one node. A question to the human outlives neither its start nor its node."""

    def __init__(
        self,
        worker: WorkerContext,
        approval_for: Callable[[OpenCall], PendingApproval | None],
        key: str,
    ) -> None:
        """Judge for `worker`; `key` names the node and its attempt."""
        self._worker = worker
        self._approval_for = approval_for
        self._key = key
        self._one_at_a_time = asyncio.Lock()
        self._asked = Counter[str]()

    async def refusal_of(self, asked: PermissionRequested) -> str:
        """Return '' if it may be done, else why not; however long that takes to be known.

        Raises TooManyPermissionRequests for an action that was asked for too often on this node.
        """
        self._count(asked)
        worker = self._worker
        key = f"leave.{self._key}.{worker.transcript.outside.began_at}.{asked.request}"
        call = ToolCall(id=key, name=asked.tool, arguments=asked.arguments)
        async with self._one_at_a_time:
            asking = self._approval_for(OpenCall(call, key))
            if asking is None:
                return ""
            now = worker.runtime.clock.now
            worker.conversation.append(ExternalPermissionAsked(key=key, ts=now()))
            cleared = await asking.answer()
            allowed = ExternalPermissionDecided(key=key, message=cleared.message, ts=now())
            worker.conversation.append(allowed)
        return cleared.refusal

    def _count(self, asked: PermissionRequested) -> None:
        """Count an action, with all that it is about: an edit is another one for other words."""
        key = derived_id(asked.tool, json.dumps(asked.arguments, sort_keys=True, default=str))
        self._asked[key] += 1
        if self._asked[key] > MOST_TIMES:
            about = f"{asked.tool}: {subject_of(asked.arguments)[:SHOWN_CHARACTERS]}"
            raise TooManyPermissionRequests(
                f"it asked more than {MOST_TIMES} times for the same action, {about}"
            )

    async def withdraw_all(self) -> None:
        """Take back every question that is open: who asked is gone."""
        worker = self._worker
        for key in sorted(worker.transcript.outside.asking):
            identity = approval_id(worker.runtime.address, key)
            await withdraw(worker.runtime, identity, "the one who asked has ended")
            now = worker.runtime.clock.now()
            worker.conversation.append(ExternalPermissionDecided(key=key, ts=now))

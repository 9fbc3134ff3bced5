"""PermissionRequests: requests of an external agent, decided by the rules for every entity."""

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
# an agent that fixes and tests requests the same test some dozen times; a loop continues
MOST_TIMES = 40


class TooManyPermissionRequests(Refused):
    """The agent has requested the same action too often: it is in a loop that costs money."""


class PermissionRequests:
    """The permission requests of one attempt at a node, which `key` names.

    A question to the human ends with the start of the agent that asked it.
    """

    def __init__(
        self,
        worker: WorkerContext,
        approval_for: Callable[[OpenCall], PendingApproval | None],
        key: str,
    ) -> None:
        self._worker = worker
        self._approval_for = approval_for
        self._key = key
        self._one_at_a_time = asyncio.Lock()
        self._requests = Counter[str]()
        self._number = 0
        """The number of the last request: the agent's own ids may repeat."""

    async def refusal_of(self, requested: PermissionRequested) -> str:
        """Return '' for a permitted action, else the reason; may wait for the human.

        Raises TooManyPermissionRequests for an action that was requested too often on this node.
        """
        self._count(requested)
        worker = self._worker
        self._number += 1
        key = f"leave.{self._key}.{worker.transcript.outside.began_at}.{self._number}"
        call = ToolCall(id=key, name=requested.tool, arguments=requested.arguments)
        async with self._one_at_a_time:
            question = self._approval_for(OpenCall(call, key))
            if question is None:
                return ""
            now = worker.runtime.clock.now
            worker.conversation.append(ExternalPermissionAsked(key=key, ts=now()))
            decided = await question.answer()
            record = ExternalPermissionDecided(key=key, message=decided.message, ts=now())
            worker.conversation.append(record)
        return decided.refusal

    def _count(self, requested: PermissionRequested) -> None:
        """Count an action with all its arguments: an edit with another text is another action."""
        arguments = json.dumps(requested.arguments, sort_keys=True, default=str)
        key = derived_id(requested.tool, arguments)
        self._requests[key] += 1
        if self._requests[key] > MOST_TIMES:
            about = f"{requested.tool}: {subject_of(requested.arguments)[:SHOWN_CHARACTERS]}"
            raise TooManyPermissionRequests(
                f"it asked more than {MOST_TIMES} times for the same action, {about}"
            )

    async def withdraw_all(self) -> None:
        """Withdraw every open question: the agent's start that asked them has ended."""
        worker = self._worker
        for key in sorted(worker.transcript.outside.asking):
            identity = approval_id(worker.runtime.address, key)
            await withdraw(worker.runtime, identity, "the one who asked has ended")
            now = worker.runtime.clock.now()
            worker.conversation.append(ExternalPermissionDecided(key=key, ts=now))

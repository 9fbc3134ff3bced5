"""SharedContextService: the shared context of the run, as its workers ask for it and its
coordinator uses it."""

import json
from typing import Any, Literal

from actors.runtime.runtime import Runtime
from agiraph.board.shared_context import ContextChange, SharedContextStore
from agiraph.core.errors import Refused
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Event
from agiraph.core.turns import JsonObject
from agiraph.messages.body import Body
from agiraph.messages.context import (
    ChangeContext,
    ContextChanged,
    ContextShown,
    ListContext,
    ReadContext,
)
from agiraph.messages.control import RefusedReply
from agiraph.tools.base import as_json
from transport.endpoint import Received

Asked = ReadContext | ListContext | ChangeContext


class SharedContextService:
    """The one place through which a run's context is changed."""

    def __init__(
        self, runtime: Runtime, store: SharedContextStore, agent: AgentId, run: RunId
    ) -> None:
        """Serve `store`."""
        self._runtime = runtime
        self._store = store
        self._agent = agent
        self._run = run

    def read(self, key: str) -> str:
        """Return what stands under a key, as one JSON object. Raises InvalidInput."""
        return as_json(self._store.context.find(key).shown())

    def rows(self) -> str:
        """Return a row for each key, as one JSON object."""
        return as_json({"keys": self._store.context.rows()})

    def change(
        self, cause: str, way: Literal["write", "append"], key: str, value: Any, by: str
    ) -> JsonObject:
        """Carry out a change, once for each cause. Raises InvalidInput, OSError.

        It is reported each time, under a key that makes it one event: a report may have died with
        the process.
        """
        wanted = ContextChange(cause=cause, way=way, key=key, value=value, by=by)
        now = self._runtime.clock.now()
        receipt, _ = self._store.change(wanted, now)
        self._runtime.report(
            Event(
                type="context.written",
                agent_id=self._agent,
                ts=now,
                entity=by,
                run_id=self._run,
                data={"key": receipt.key, "way": way, "version": receipt.version},
                key=f"context:{self._run}:{cause}",
            )
        )
        return receipt.model_dump(mode="json")

    async def take(self, received: Received, asked: Asked, by: str) -> None:
        """Serve one request of a worker; the change stands before the request is done."""
        try:
            answer = self._serve(received, asked, by)
        except Refused as error:
            answer = RefusedReply(reason=str(error), kind=type(error).__name__)
        await self._runtime.reply(received, answer)
        self._runtime.done(received)

    def _serve(self, received: Received, asked: Asked, by: str) -> Body:
        match asked:
            case ReadContext(key=key):
                return ContextShown(text=self.read(key))
            case ListContext():
                return ContextShown(text=self.rows())
            case ChangeContext(way=way, key=key, value=value):
                cause = received.header.id.hex()
                receipt = self.change(cause, way, key, json.loads(value), by)
                return ContextChanged(receipt=receipt)

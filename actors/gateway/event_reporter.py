"""What happened at the human, told to the recorder: once for each cause, through any crash."""

from typing import Any

from actors.gateway.state.agents import AgentDirectory
from actors.runtime.runtime import Runtime
from agiraph.core.clock import Clock
from agiraph.core.ids import HUMAN, HUMAN_NAME, RECORDER, AgentId, derived_message_id
from agiraph.core.models import Event
from agiraph.messages import ReportEvents
from transport.errors import TransportError


class GatewayEventReporter:
    """Sends the gateway's events.

    The message's id follows from the cause (the id of the message that it is about): when the
    cause is handled again after a crash, the router drops what it knows.
    """

    def __init__(self, line: Runtime, agents: AgentDirectory, clock: Clock) -> None:
        self._line = line
        self._agents = agents
        self._clock = clock

    async def tell(
        self,
        type: str,
        agent: AgentId,
        cause: bytes,
        data: dict[str, Any],
        entity: str = HUMAN_NAME,
    ) -> None:
        """Tell one event and wait until the router holds it, or let it follow in the background."""
        known = self._agents.get(agent)
        event = Event(
            type=type,
            agent_id=agent,
            ts=self._clock.now(),
            entity=entity,
            run_id=known.run if known else None,
            data=data,
        )
        id = derived_message_id(HUMAN, f"event:{type}:{cause.hex()}")
        try:
            await self._line.send(RECORDER, ReportEvents(events=(event,)), id=id)
        except TransportError:
            self._line.report(event)

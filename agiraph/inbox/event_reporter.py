"""Events of the gateway, sent to the recorder: once for each cause, also after a crash."""

from typing import Any

from agiraph.core.ids import HUMAN, HUMAN_NAME, RECORDER, AgentId, derived_message_id
from agiraph.core.models import Event
from agiraph.http.errors import ApiError
from agiraph.inbox.bus import Bus
from agiraph.messages.event import ReportEvents
from agiraph.readmodel.agents import AgentDirectory


class GatewayEventReporter:
    """Sends the gateway's events.

    The message's id follows from the cause (the id of the message that it is about), so the router
    drops a report that is repeated after a crash.
    """

    def __init__(self, bus: Bus, agents: AgentDirectory) -> None:
        self._bus = bus
        self._agents = agents

    async def report(
        self,
        type: str,
        agent: AgentId,
        cause: bytes,
        data: dict[str, Any],
        entity: str = HUMAN_NAME,
    ) -> None:
        """Send one event and wait until the router has it; on failure in the background."""
        known = self._agents.get(agent)
        event = Event(
            type=type,
            agent_id=agent,
            ts=self._bus.clock.now(),
            entity=entity,
            run_id=known.run if known else None,
            data=data,
        )
        id = derived_message_id(HUMAN, f"event:{type}:{cause.hex()}")
        try:
            await self._bus.send(RECORDER, ReportEvents(events=(event,)), id=id)
        except ApiError:
            self._bus.report(event)

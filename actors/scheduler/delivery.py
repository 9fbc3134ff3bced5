"""A firing on its way: to its agent's coordinator, who does what it says, or as a callback."""

from actors.runtime.runtime import Runtime
from actors.scheduler.callbacks import folder_of, run_callback
from agiraph.core.ids import CLOCK, RECORDER, AgentId, coordinator_address, derived_message_id
from agiraph.core.models import Event
from agiraph.core.turns import JsonObject
from agiraph.messages import ReportEvents, TriggerFired
from agiraph.triggers.records import Firing
from transport.errors import Nacked


async def deliver(runtime: Runtime, agent: AgentId, firing: Firing, now: float) -> None:
    """Bring a firing to its coordinator and tell that it fired, each once whatever dies.

    Raises TransportError if the router does not take it now.
    """
    body = TriggerFired(
        agent=agent,
        trigger_id=firing.trigger_id,
        firing=firing.id,
        name=firing.name,
        action=firing.action.type,
        payload=firing.action.payload,
        due=firing.due,
        missed=firing.missed,
        lineage=firing.lineage,
        about=firing.about,
    )
    try:
        await runtime.send(coordinator_address(agent), body, id=bytes.fromhex(firing.id))
    except Nacked as error:
        if error.reason == "mailbox_full":
            raise
        runtime.log.warning("nobody takes a firing", agent=agent, reason=str(error))
    await _tell(runtime, agent, "trigger.fired", firing, now, {"about": firing.about})


async def carry_out(runtime: Runtime, agent: AgentId, firing: Firing, now: float) -> None:
    """Run a firing's callback and tell how it ended. Raises TransportError."""
    await _tell(runtime, agent, "trigger.fired", firing, now, {"about": firing.about})
    ended = await run_callback(runtime.home, runtime.config, agent, firing)
    runtime.log.info("callback", agent=agent, trigger=firing.name, ended=ended.told)
    data = {"callback": firing.action.payload.get("callback"), "ended": ended.told}
    data |= {"is_error": not ended.is_well, "output": ended.output}
    await _tell(runtime, agent, "trigger.callback", firing, now, data)
    forget(runtime, firing)


def forget(runtime: Runtime, firing: Firing) -> None:
    """Remove what a callback left behind."""
    from agiraph.tools.command import forget_command

    forget_command(folder_of(runtime.home, firing))


async def _tell(
    runtime: Runtime, agent: AgentId, type: str, firing: Firing, now: float, about: JsonObject
) -> None:
    data: JsonObject = {"trigger_id": firing.trigger_id, "name": firing.name, "firing": firing.id}
    data |= {"action": firing.action.type, "due": firing.due, "lineage": list(firing.lineage)}
    data |= {key: value for key, value in about.items() if value}
    event = Event(type=type, agent_id=agent, ts=now, entity=CLOCK, data=data)
    id = derived_message_id(CLOCK, f"{type}.{firing.id}")
    await runtime.send(RECORDER, ReportEvents(events=(event,)), id=id)

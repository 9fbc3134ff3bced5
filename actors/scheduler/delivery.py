"""The delivery of a firing: to its agent's coordinator, which acts on it, or as a callback."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from actors.runtime.runtime import Runtime
from agiraph.core.ids import (
    CLOCK,
    RECORDER,
    AgentId,
    coordinator_address,
    derived_message_id,
)
from agiraph.core.models import Event
from agiraph.core.turns import JsonObject
from agiraph.messages.event import ReportEvents
from agiraph.messages.trigger import TriggerFired
from agiraph.settings.config import Config
from agiraph.storage.files import make_folder, status_of
from agiraph.storage.home import Home
from agiraph.triggers.records import TriggerRun
from transport.errors import Nacked

KEPT_OUTPUT = 4000


class NoReceiver(Exception):
    """The agent cannot receive: archived, or restored from the archive and not resumed."""


async def deliver(runtime: Runtime, agent: AgentId, firing: TriggerRun, now: float) -> None:
    """Send a firing to its agent's coordinator and report it, each once, also after a crash.

    Raises TransportError if the router does not accept the message now, NoReceiver.
    """
    action = {"action": firing.action.type, "payload": firing.action.payload}
    body = TriggerFired(agent=agent, firing=firing.id, **{**dict(firing), **action})
    try:
        await runtime.send(coordinator_address(agent), body, id=bytes.fromhex(firing.id))
    except Nacked as error:
        if error.reason == "mailbox_full":
            raise
        if error.reason == "unknown_recipient":
            raise NoReceiver(str(error)) from None
        runtime.log.warning("a firing has no receiver", agent=agent, reason=str(error))
    await _report(runtime, agent, "trigger.fired", firing, now, {"about": firing.about})


async def carry_out(runtime: Runtime, agent: AgentId, firing: TriggerRun, now: float) -> None:
    """Run a firing's callback and report its result. Raises TransportError."""
    from agiraph.tools.command import forget_command

    if reason := rule_against(runtime.home, firing):
        await _report(runtime, agent, "trigger.refused", firing, now, {"reason": reason})
        return
    await _report(runtime, agent, "trigger.fired", firing, now, {"about": firing.about})
    ended = await run_callback(runtime.home, runtime.config, agent, firing)
    runtime.log.info("callback", agent=agent, trigger=firing.name, ended=ended.text)
    data = {"callback": firing.action.payload.get("callback"), "ended": ended.text}
    data |= {"is_error": not ended.is_well, "output": ended.output}
    await _report(runtime, agent, "trigger.callback", firing, now, data)
    forget_command(folder_of(runtime.home, firing))


async def _report(
    runtime: Runtime, agent: AgentId, type: str, firing: TriggerRun, now: float, about: JsonObject
) -> None:
    data: JsonObject = {"trigger_id": firing.trigger_id, "name": firing.name, "firing": firing.id}
    data |= {"action": firing.action.type, "due": firing.due, "lineage": list(firing.lineage)}
    data |= {key: value for key, value in about.items() if value}
    event = Event(type=type, agent_id=agent, ts=now, entity=CLOCK, data=data)
    id = derived_message_id(CLOCK, f"{type}.{firing.id}")
    await runtime.send(RECORDER, ReportEvents(events=(event,)), id=id)


def rule_against(home: Home, firing: TriggerRun) -> str:
    """Return why a rule of the person forbids a callback that the team made, '' if none does.

    Nobody can be asked at this point, so a callback that needs approval is refused, too.
    """
    if not firing.is_of_team:
        return ""
    from agiraph.tools.approvals.policy import ActingEntity, actions_of_call
    from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
    from agiraph.tools.approvals.wording import reason_against
    from agiraph.tools.table import tool_names
    from agiraph.tools.triggers import schedule

    policy = ApprovalPolicyFile(home.path, tool_names()).current()
    action: JsonObject = {"type": firing.action.type, "payload": firing.action.payload}
    actions = actions_of_call(schedule.name, {"action": action})
    return reason_against(policy.judge_all(actions, ActingEntity(firing.created_by)))


@dataclass(frozen=True, slots=True)
class CallbackResult:
    """The result of a callback in words, whether it succeeded, and its last output."""

    text: str
    is_well: bool
    output: str = ""


async def run_callback(
    home: Home, config: Config, agent: AgentId, firing: TriggerRun
) -> CallbackResult:
    """Run the callback of a firing, or return the result of a run that a crash interrupted.

    A callback is a command that the settings name, with its own limits and environment. It runs at
    most once for each firing; its runner leaves the outcome in the firing's folder.
    """
    from agiraph.tools.command import CommandLimits, recover_command, run_command

    name = str(firing.action.payload.get("callback", ""))
    command = config.callbacks.get(name)
    if command is None:
        return CallbackResult(f"there is no callback '{name}' in the settings any more", False)
    folder = folder_of(home, firing)
    limits = CommandLimits.of(config.shell, config.triggers.callback_seconds)
    limits = replace(limits, output=KEPT_OUTPUT)
    try:
        if status_of(folder) is not None:
            finished = await recover_command(folder)
        else:
            make_folder(folder.parent, 0o700)
            finished = await run_command(
                command,
                folder=folder,
                cwd=home.path,
                environment=environment_of(config, home, agent, firing),
                limits=limits,
            )
    except (OSError, ValueError) as error:
        return CallbackResult(f"it could not be started: {error}", False)
    if finished is None:
        return CallbackResult("it was interrupted; its outcome is unknown", False)
    if finished.exit_code is None:
        return CallbackResult(f"its time of {limits.seconds:g} s ran out", False, finished.output)
    return CallbackResult(
        f"exit code {finished.exit_code}", finished.exit_code == 0, finished.output
    )


def environment_of(
    config: Config, home: Home, agent: AgentId, firing: TriggerRun
) -> dict[str, str]:
    """Return the variables of a callback: those for a model's shell, and its trigger's."""
    allowed = {name: os.environ[name] for name in config.shell.environment if name in os.environ}
    return allowed | {
        "AGIRAPH_HOME": str(home.path),
        "AGIRAPH_AGENT": agent,
        "AGIRAPH_TRIGGER": firing.trigger_id,
        "AGIRAPH_TRIGGER_NAME": firing.name,
    }


def folder_of(home: Home, firing: TriggerRun) -> Path:
    """Return the folder of a firing's callback; it is removed once its end is reported."""
    return home.system.path / "callbacks" / firing.id

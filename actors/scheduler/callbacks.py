"""One callback: a command that the settings name, bounded, with an environment of its own.

It runs at most once for each firing. How it ended is known also after a death of the clock: the
command's runner leaves the outcome in the firing's folder.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.config import Config
from agiraph.core.ids import AgentId
from agiraph.storage.files import make_folder, status_of
from agiraph.storage.home import Home
from agiraph.triggers.records import Firing

KEPT_OUTPUT = 4000


@dataclass(frozen=True, slots=True)
class CallbackResult:
    """How a callback ended: in words, whether well, and the end of what it said."""

    told: str
    is_well: bool
    output: str = ""


async def run_callback(
    home: Home, config: Config, agent: AgentId, firing: Firing
) -> CallbackResult:
    """Run the callback of a firing, or tell how the run that a crash interrupted has ended."""
    from agiraph.tools.command import CommandLimits, recover_command, run_command

    name = str(firing.action.payload.get("callback", ""))
    command = config.callbacks.get(name)
    if command is None:
        return CallbackResult(f"there is no callback '{name}' in the settings any more", False)
    folder = folder_of(home, firing)
    limits = CommandLimits(
        seconds=config.triggers.callback_seconds,
        output=KEPT_OUTPUT,
        memory_mb=config.shell.memory_mb,
        processes=config.shell.processes,
    )
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


def environment_of(config: Config, home: Home, agent: AgentId, firing: Firing) -> dict[str, str]:
    """Return the variables of a callback: those of a model's shell, and what it is about."""
    allowed = {name: os.environ[name] for name in config.shell.environment if name in os.environ}
    return allowed | {
        "AGIRAPH_HOME": str(home.path),
        "AGIRAPH_AGENT": agent,
        "AGIRAPH_TRIGGER": firing.trigger_id,
        "AGIRAPH_TRIGGER_NAME": firing.name,
    }


def folder_of(home: Home, firing: Firing) -> Path:
    """Return the folder of a firing's callback; gone once its end is told."""
    return home.system.path / "callbacks" / firing.id

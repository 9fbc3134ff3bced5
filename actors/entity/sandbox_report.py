"""The wall, told: whoever gives commands hears whether a sandbox stands round them, and so do you.

Looking takes some milliseconds where the spawner has not looked already, so a coordinator does it
beside its first model call.
"""

import asyncio
from typing import Protocol

from agiraph.core.config import SandboxConfig
from agiraph.core.turns import JsonObject
from agiraph.tools.sandbox.sandbox import Sandbox, find_sandbox
from agiraph.tools.shell import BASH
from agiraph.tools.toolbox import Toolbox

WALLED = (
    "Your commands run in a sandbox. They see your own files, what nodes have published, the "
    "input and the machine's programs; nothing else is there, and `/tmp` is empty at each command."
)
NO_NETWORK = " They have no network."
BARE = (
    "No sandbox stands round your commands ({why}): nothing keeps them from files that are not "
    "yours, so keep to your own."
)
REFUSED = "Commands are refused here until there is a sandbox ({why}): do without them."


class SandboxReporter(Protocol):
    """Who reports to the recorder."""

    def report(self, event: str, data: JsonObject, key: str = "") -> None:
        """Tell the recorder; the same key is the same event."""
        ...


def guidance_of(toolbox: Toolbox, config: SandboxConfig, *called: str) -> str:
    """Return a toolbox's runbook, and what an entity called so has to know of its sandbox."""
    guidance = toolbox.guidance()
    if BASH.name not in toolbox.names:
        return guidance
    wall, has_network = find_sandbox(config), config.has_network(*called)
    return f"{guidance}\n\n### Your sandbox\n\n{in_words(wall, has_network=has_network)}"


def in_words(wall: Sandbox, *, has_network: bool) -> str:
    """Return what a model is told of the wall round its commands."""
    if wall.is_up:
        return WALLED if has_network else WALLED + NO_NETWORK
    return (REFUSED if wall.is_required else BARE).format(why=wall.why_missing)


def effect_of(wall: Sandbox) -> str:
    """Return what it means that no wall stands."""
    if wall.is_required:
        return "commands are refused"
    keeps_from_network = not wall.config.network or bool(wall.config.no_network_for)
    return "commands run without" + (", and with the network" if keeps_from_network else "")


async def tell_of_missing_wall(teller: SandboxReporter, config: SandboxConfig, run: str) -> None:
    """Report, once a run, that commands run without the sandbox that they should have; stay."""
    if config.mode != "none":
        wall = await asyncio.to_thread(find_sandbox, config)
        if not wall.is_up:
            data = {
                "why": wall.why_missing,
                "advice": wall.advice,
                "effect": effect_of(wall),
            }
            teller.report("sandbox.missing", data, key=f"{run}:sandbox")
    await asyncio.get_running_loop().create_future()

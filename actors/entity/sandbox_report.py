"""The texts about the sandbox of commands for models and people.

The probe takes some milliseconds if the spawner has not made it already, so a coordinator makes it
beside its first model call.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from agiraph.core.turns import JsonObject
from agiraph.settings.config import SandboxConfig
from agiraph.tools.sandbox import probe
from agiraph.tools.sandbox.input_news import GIT_COMMANDS, git_commands_data
from agiraph.tools.sandbox.sandbox import Sandbox, find_sandbox
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.shell import bash
from agiraph.tools.toolbox import Toolbox

WALLED = (
    "Your commands run in a sandbox. They see only your own files, published files, the "
    "input, and the machine's programs. `/tmp` is empty at the start of each command."
)
NO_NETWORK = " They have no network."
BARE = (
    "Your commands run without a sandbox ({why}): they can reach all files of this account. Use "
    "only your own files."
)
REFUSED = "Commands are refused until there is a sandbox ({why}). Work without commands."


INPUT_WRITE = (
    " You may change files of the input, but not `.git`, git hooks, and settings of editors, "
    "shells and package managers in it: those are read-only, and `git commit` fails there."
)

Report = Callable[[str, JsonObject, str], None]


def guidance_of(toolbox: Toolbox, config: SandboxConfig, *called: str) -> str:
    """Return a toolbox's runbook, and the facts about its sandbox that an entity must know."""
    guidance = toolbox.guidance()
    if bash.name not in toolbox.names:
        return guidance
    sandbox, has_network = find_sandbox(config), config.has_network(*called)
    return f"{guidance}\n\n### Your sandbox\n\n{in_words(sandbox, has_network=has_network)}"


def in_words(sandbox: Sandbox, *, has_network: bool) -> str:
    """Return the description of a command sandbox for a model."""
    if sandbox.is_up:
        network = "" if has_network else NO_NETWORK
        return WALLED + network + (INPUT_WRITE if sandbox.config.input == "write" else "")
    return (REFUSED if sandbox.is_required else BARE).format(why=sandbox.why_missing)


def effect_of(sandbox: Sandbox) -> str:
    """Return the effect of a missing sandbox."""
    if sandbox.is_required:
        return "commands are refused"
    keeps_from_network = not sandbox.config.network or bool(sandbox.config.no_network_for)
    return "commands run without" + (", and with the network" if keeps_from_network else "")


async def report_sandbox(
    report: Report, config: SandboxConfig, run: str, scope: Scope | None = None
) -> None:
    """Report, once a run, how the sandbox differs from the settings; then wait forever.

    Commands may run without it, or see the input folder of `scope` read-only though they should be
    able to write it. If they can write it, report the commands of the person's git that may run
    files of the folder.
    """
    if config.mode != "none":
        look = partial(find_sandbox, config)
        sandbox = look() if probe.is_known() else await asyncio.to_thread(look)
        if not sandbox.is_up:
            data = {
                "why": sandbox.why_missing,
                "advice": sandbox.advice,
                "effect": effect_of(sandbox),
            }
            report("sandbox.missing", data, f"{run}:sandbox")
        elif scope is not None and config.input == "write":
            guard = await asyncio.to_thread(sandbox.input_guard, scope)
            if guard is not None and guard.why_read_only:
                data = {"folder": str(guard.folder), "why": guard.why_read_only}
                report("sandbox.input_read_only", data, f"{run}:input")
            elif guard is not None and guard.baseline.git_commands:
                data = git_commands_data(str(guard.folder), guard.baseline.git_commands)
                report(GIT_COMMANDS, data, f"{run}:git_commands")
    await asyncio.get_running_loop().create_future()

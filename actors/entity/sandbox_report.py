"""The texts about the sandbox of commands for models and people.

The probe takes some milliseconds if the spawner has not made it already, so a coordinator makes it
beside its first model call.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agiraph.core.turns import JsonObject
from agiraph.settings.config import Config, SandboxConfig
from agiraph.tools.sandbox import probe
from agiraph.tools.sandbox.input_news import GIT_COMMANDS, git_commands_data
from agiraph.tools.sandbox.inventory import inventory
from agiraph.tools.sandbox.managers import is_program
from agiraph.tools.sandbox.sandbox import Sandbox, find_sandbox
from agiraph.tools.scopes.scope import Scope
from agiraph.tools.shell import bash
from agiraph.tools.toolbox import Toolbox

WALLED = (
    "Your commands run in a sandbox. They see only your own files, published files, the "
    "input, and the machine's programs."
)
BARE = (
    "Your commands run without a sandbox ({why}): they can reach all files of this account. Use "
    "only your own files."
)
HEADING = "### This machine\n\n"
OF_WORKER = (
    "Commands write in your folder, in `notebook.md`, `memory.md` and `identity.md`, and in "
    "`/tmp`, which lasts until your node ends. Other workers see only published files."
)
OF_COORDINATOR = (
    "Commands write in the run's folder except `nodes/`, in `MEMORY.md`, in `memory/`, and in "
    "`/tmp`, which is empty at the start of each command (a worker's `/tmp` lasts until its node "
    "ends, and its checks run there). Workers see `_plan.md`, `shared/`, "
    "messages, attachments and published files."
)
NO_HOME = "`HOME` is not set. For a program that needs it: `export HOME=/tmp`."
REFUSED = "Commands are refused until there is a sandbox ({why}). Work without commands."


INPUT_WRITE = (
    " You may change files of the input, but not `.git`, git hooks, and settings of editors, "
    "shells and package managers in it: those are read-only, and `git commit` fails there."
)

Report = Callable[[str, JsonObject, str], None]


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """Where and for whom commands run: the PATH outside, the input folder, the home.

    `called` are the entity's name and its role; `writable` names the folders in which its commands
    write, as its model spells them. `programs` are the lines of `programs_in_words`; without any,
    they are looked up.
    """

    path: str
    input_dir: Path | None
    home: Path
    called: tuple[str, ...]
    writable: str
    programs: tuple[str, ...] = ()


def guidance_of(toolbox: Toolbox, machine: Callable[[], str]) -> str:
    """Return a toolbox's runbook; with `bash`, also the result of `machine`."""
    guidance = toolbox.guidance()
    return f"{guidance}\n\n{machine()}" if bash.name in toolbox.names else guidance


def machine_in_words(config: Config, place: CommandPlace) -> str:
    """Return the section of a prompt about the machine that an entity's commands see.

    Blocks for some milliseconds if it has to look up the programs.
    """
    sandbox, shell = find_sandbox(config.sandbox), config.shell
    if not sandbox.is_up and sandbox.is_required:
        return f"{HEADING}{REFUSED.format(why=sandbox.why_missing)}"
    first = WALLED if sandbox.is_up else BARE.format(why=sandbox.why_missing)
    first += INPUT_WRITE if sandbox.is_up and config.sandbox.input == "write" else ""
    has_network = config.sandbox.has_network(*place.called) or not sandbox.is_up
    programs = place.programs or programs_in_words(
        config.sandbox, place.path, place.input_dir, place.home
    )
    limits = [
        f"{shell.timeout_seconds:,} seconds (`timeout`: up to {shell.max_timeout_seconds:,})",
        *([f"{shell.total_memory_mb:,} MB of memory"] if shell.total_memory_mb else []),
        *([f"{shell.processes:,} processes and threads"] if shell.processes else []),
    ]
    lines = [
        *programs,
        f"Network of commands: {'yes' if has_network else 'no'}.",
        f"Limits of a command with all that it starts: {', '.join(limits)}. You see "
        f"{shell.output_limit:,} bytes of its output; the middle of a longer output is left out.",
        f"`read_file` shows {config.files.read_limit:,} bytes at once.",
        *([place.writable] if sandbox.is_up else []),
        *([NO_HOME] if sandbox.is_up and "HOME" not in shell.environment else []),
    ]
    return HEADING + first + "\n\n" + "\n".join(f"- {line}" for line in lines)


def programs_in_words(
    config: SandboxConfig, path: str, input_dir: Path | None, home: Path
) -> tuple[str, ...]:
    """Return lines about the programs and Python environments that commands with this PATH find.

    The first call in a process blocks for some milliseconds, repeated calls do not.
    """
    tools = find_sandbox(config).tools(path, input_dir, home)
    found = ", ".join(inventory(tools.path)) or "none of the usual ones"
    lines = [f"Programs: {found}. `command -v NAME` looks for others."]
    if environments := _environments_in(input_dir):
        lines.append(f"The input has its own Python environment: {', '.join(environments)}.")
    return tuple(lines)


def _environments_in(input_dir: Path | None) -> list[str]:
    """Return the usual virtual environments of an input folder that have a Python."""
    usual = (".venv", "venv", "env")
    found = [name for name in usual if input_dir and is_program(input_dir / name / "bin/python")]
    return [f"`$AGIRAPH_INPUT/{name}/bin/python`" for name in found]


def effect_of(sandbox: Sandbox) -> str:
    """Return a phrase about how commands run if there is no sandbox."""
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

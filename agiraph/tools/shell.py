"""The shell tool: a command in bash, on the real files, without any secrets."""

import asyncio
import errno
import os

from pydantic import Field

from agiraph.core.errors import InvalidInput, Refused
from agiraph.settings.config import ShellConfig
from agiraph.settings.variables import CERTIFICATE_VARIABLES
from agiraph.tools.base import CallRecovery, ToolParams, tool
from agiraph.tools.command import (
    CommandLimits,
    CommandResult,
    forget_command,
    how_ended,
    recover_command,
    run_command,
)
from agiraph.tools.ports import ToolContext
from agiraph.tools.sandbox.input_news import report_input_news, reported_if_cancelled
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.scopes.named_places import link_named_places, pytest_options

SYSTEM_FOLDERS = ("/etc/ssl/", "/etc/pki/", "/etc/ca-certificates/", "/usr/")
INPUT_VARIABLE = "AGIRAPH_INPUT"
RUN_VARIABLE = "AGIRAPH_RUN"


class BashParams(ToolParams):
    command: str = Field(min_length=1, description="the command to run")
    timeout: int | None = Field(default=None, ge=1, description="seconds; default: 120")


LOST = (
    "[interrupted] The process that supervised the command was killed. Its outcome is unknown. "
    "Check the effects of the command before you repeat it."
)


async def recover(context: ToolContext, params: BashParams) -> str | None:
    """Return the result of a command that an earlier incarnation started, None if unknown."""
    sandbox = find_sandbox(context.config.sandbox)
    async with reported_if_cancelled(sandbox, context.scope, context.report):
        finished = await recover_command(context.call_folder)
    news = await _news(context)
    limits = CommandLimits.of(context.config.shell, _seconds(context, params))
    return _shown(finished, limits, news) if finished else None


def forget(context: ToolContext) -> None:
    """Remove the outcome that `recover` reads."""
    forget_command(context.call_folder)


@tool(
    "Execute a shell command: run code, git, or any command-line tool.",
    idempotent=False,
    recovery=CallRecovery(recover, forget),
)
async def bash(context: ToolContext, params: BashParams) -> str:
    """Run a command in the entity's working folder; return its output and how it ended."""
    shell = context.config.shell
    limits = CommandLimits.of(shell, _seconds(context, params))
    environment = visible_environment(context.environment, shell)
    sandbox = find_sandbox(context.config.sandbox)
    environment.setdefault("PYTEST_ADDOPTS", pytest_options(context.scope))
    moved = await asyncio.to_thread(link_named_places, context.scope)
    enclosure = await asyncio.to_thread(
        sandbox.enclose, context.scope, path=environment["PATH"], keeps_tmp=True
    )
    try:
        async with reported_if_cancelled(sandbox, context.scope, context.report):
            finished = await run_command(
                params.command,
                folder=context.call_folder,
                cwd=context.scope.cwd,
                environment=environment | {"PATH": enclosure.path},
                limits=limits,
                before=enclosure.words,
                standins=enclosure.standins,
            )
    except ValueError as error:  # a NUL or half a surrogate pair in the command
        raise InvalidInput(f"bash cannot take this command ({error})") from None
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        raise InvalidInput("the command is too long; write it to a file and run that") from None
    news = await _news(context, moved)
    if finished is None:
        raise Refused(f"{LOST}\n{news}".rstrip())
    return _shown(finished, limits, news)


async def _news(context: ToolContext, *before: str) -> str:
    """Restore the built-in names, report new autorun files; return the notes for the model.

    `before` are notes from before the command.
    """
    moved = await asyncio.to_thread(link_named_places, context.scope)
    sandbox = find_sandbox(context.config.sandbox)
    news = await report_input_news(sandbox, context.scope, context.report)
    return "\n".join(note for note in (*before, moved, news) if note)


def _seconds(context: ToolContext, params: BashParams) -> int:
    """Return the command's time limit in seconds."""
    shell = context.config.shell
    seconds = params.timeout or shell.timeout_seconds
    if seconds > shell.max_timeout_seconds:
        raise InvalidInput(
            f"timeout {seconds} is too long (possible: up to {shell.max_timeout_seconds} seconds)"
        )
    return seconds


def visible_environment(environment: dict[str, str], shell: ShellConfig) -> dict[str, str]:
    """Return the variables that a command may see: the configured ones, the input and the run.

    Paths of certificates are among them if the sandbox shows their files without further settings.
    """
    names = (*shell.environment, INPUT_VARIABLE, RUN_VARIABLE)
    visible = {name: environment[name] for name in names if name in environment}
    for name in CERTIFICATE_VARIABLES:
        if environment.get(name, "").startswith(SYSTEM_FOLDERS):
            visible[name] = environment[name]
    for name in visible.keys() & {INPUT_VARIABLE, RUN_VARIABLE}:
        # Inside the sandbox, links on the way there do not exist.
        visible[name] = os.path.realpath(visible[name])
    return {"PATH": os.defpath} | visible


def _shown(finished: CommandResult, limits: CommandLimits, news: str) -> str:
    late = f"timed out after {limits.seconds:g} seconds: the command and all it started were killed"
    end = how_ended(finished.exit_code, late, limits)
    gap = "\n" if finished.output and not finished.output.endswith("\n") else ""
    return f"{finished.output}{gap}{end}" + (f"\n{news}" if news else "")

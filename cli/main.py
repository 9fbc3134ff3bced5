"""The `agiraph` command: finds the command's module, runs it, and turns errors into exit codes."""

import gc
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from agiraph.core.errors import unknown
from cli.command_table import ALIASES, AT_HOME, COMMANDS, FAMILIES
from cli.options.everywhere import group_options, is_verbose, with_shared_options

DEBUG_VARIABLE = "AGIRAPH_DEBUG"
COMPLETE_VARIABLE = "_AGIRAPH_COMPLETE"
"""The variable that a shell sets, by the script of `agiraph completion`, to request completions."""


class CommandGroup(click.Group):
    """The group of all commands; a command's module is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with a name or alias, importing its module; None if unknown."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = import_module(entry.module)
        called = cmd_name.replace("-", "_")
        command = getattr(module, called, None) or getattr(module, f"{called}_")
        assert isinstance(command, click.Command)
        with_shared_options(command, _at_home if cmd_name in AT_HOME else None)
        if COMPLETE_VARIABLE in os.environ:
            from cli.options.completion import with_completion

            with_completion(command)
            return command
        if callable(signal.getsignal(signal.SIGINT)):  # else it is ignored
            _let_interrupt(signal.default_int_handler)
        gc.freeze()  # imported objects stay
        gc.enable()
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the words after the options before the command.

        Raises InvalidInput for an argument that is not UTF-8.
        """
        from cli.sanitize import require_utf8

        for number, text in enumerate(args, 1):
            require_utf8(text, f"argument {number}")
        with _ending_at_closed_pipe():  # of --help
            return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command and its words; a usage error lists the known commands."""
        if args and args[0] not in {*COMMANDS, *ALIASES} and not args[0].startswith("-"):
            raise click.UsageError(str(unknown("command", args[0], COMMANDS)), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Return the result of the command; -v prints the traceback of an unexpected error."""
        from cli.exits import is_unexpected

        try:
            with _ending_at_closed_pipe():
                return super().invoke(ctx)
        except Exception as error:
            if os.environ.get(DEBUG_VARIABLE) or (is_verbose() and is_unexpected(error)):
                traceback.print_exception(error)
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands by family, importing none of them."""
        for family in FAMILIES:
            rows = [
                (name, entry.help) for name, entry in COMMANDS.items() if entry.family == family
            ]
            with formatter.section(family):
                formatter.write_dl(rows)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and exit: every error is one line on stderr and an exit code."""
        outside = signal.getsignal(signal.SIGINT)
        try:
            code = super().main(*args, **options | {"standalone_mode": False})
        except (Exception, KeyboardInterrupt) as error:
            _let_interrupt(outside)
            if COMPLETE_VARIABLE in os.environ:
                sys.exit(1)  # no message in the middle of a line
            sys.exit(_report(error))
        _let_interrupt(outside)
        sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def _ending_at_closed_pipe() -> Iterator[None]:
    """Exit silently when the reader of our output has exited; click would exit with 1."""
    try:
        yield
    except BrokenPipeError as error:
        from cli.exits import CLOSED_PIPE, discard_unread, explanation

        if discard_unread():
            sys.exit(CLOSED_PIPE)
        raise click.ClickException(explanation(error)) from error


def _at_home(ctx: click.Context, _option: click.Parameter, _value: Any) -> None:
    """Raise UsageError if --url or the environment names a home on another machine."""
    from cli.options.remote import require_here

    with ctx.scope(cleanup=False):
        require_here()


def _let_interrupt(handler: Any) -> None:
    """Set the handler of Ctrl-C: an exception in a command, else `agiraph.__main__`'s handler."""
    if signal.getsignal(signal.SIGINT) is not handler:
        signal.signal(signal.SIGINT, handler)


def _report(error: BaseException) -> int:
    from cli.exits import discard_unread, exit_code, explanation
    from cli.sanitize import broken_for

    try:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            click.echo(error.format_message(), err=True)
            return exit_code(error)
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(error.ctx.get_usage(), err=True)
        click.echo(broken_for(sys.stderr, f"agiraph: {explanation(error)}"), err=True)
    except BrokenPipeError:
        discard_unread()  # the exit code still shows which error it was
    return exit_code(error)


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # its import takes 20 ms, in every command

        try:
            version = metadata.version("agiraph")
        except metadata.PackageNotFoundError:
            version = "unknown (not installed)"
        click.echo(f"agiraph {version}")
        ctx.exit(0)


@click.group(
    cls=CommandGroup,
    params=group_options(),
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 out of budget, 4 no supervisor, "
    "130 interrupted.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
def agiraph() -> None:
    """Give Agiraph a goal, and a team of AI agents works on it.

    \b
    agiraph init                              find a model to work with
    agiraph run GOAL --input .                work on a goal, with the files here
    agiraph run Survey -i . -m script/survey  a first look, without a key
    agiraph board AGENT                       the nodes of the team's work
    agiraph console AGENT                     talk with it
    agiraph help COMMAND                      options and examples of a command
    """


def main() -> None:
    """Run the command line of this process; exits."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal's encoding may lack a character
    agiraph.main(prog_name="agiraph")

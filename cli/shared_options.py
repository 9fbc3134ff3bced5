"""The options that every command takes, before its name or after it: --home, --json, -q and -v.

A command declares --home and --json (`cli.options`) if it uses them; all else is added to it when
it is loaded.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from agiraph.storage.project_file import chosen_home
from cli.sanitize import broken_for

HOME: Final[dict[str, Any]] = {
    "type": click.Path(path_type=Path, file_okay=False),
    "help": "The home directory [default: AGIRAPH_HOME, that of .agiraph.toml, or ~/.agiraph].",
}
_GIVEN: Final = f"{__name__}.given"


class SharedOption(click.Option):
    """An option that takes its value from a group before the command if the command has none."""

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, click.core.ParameterSource]:
        """Return the value and where it comes from; one on the command line is kept."""
        value, source = super().consume_value(ctx, opts)
        given: dict[str, Any] = ctx.meta.setdefault(_GIVEN, {})
        assert self.name is not None
        if source is click.core.ParameterSource.COMMANDLINE:
            given[self.name] = value
        elif self.name in given:
            return given[self.name], click.core.ParameterSource.COMMANDLINE
        return value, source


def _flag(*names: str, **more: Any) -> SharedOption:
    return SharedOption(names, is_flag=True, expose_value=False, **more)


def group_options() -> list[click.Parameter]:
    """Return the options of the group of all commands; each is for the command that follows."""
    return [_flag("--json", "as_json", help="Print JSON."), *_usual()]


def _usual() -> list[click.Parameter]:
    return [
        SharedOption(["--home"], expose_value=False, **HOME),
        _flag("-q", "--quiet", help="Say only results, questions and errors."),
        _flag("-v", "--verbose", help="Say more on stderr."),
    ]


def with_shared_options(command: click.Command) -> click.Command:
    """Add the shared options that a command and its subcommands do not declare; return it."""
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    no_json = None if inner else _refuse_json
    added = [_flag("--json", "as_json", hidden=True, callback=no_json), *_usual()]
    known = {parameter.name for parameter in command.params}
    command.params += [option for option in added if option.name not in known]
    for one in inner:
        with_shared_options(one)
    return command


def _refuse_json(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        raise click.UsageError(f"'{ctx.command_path}' has no --json", ctx)


def is_quiet() -> bool:
    """Whether the command that runs now was given -q."""
    return _is_given("quiet") and not is_verbose()


def is_verbose() -> bool:
    """Whether the command that runs now was given -v."""
    return _is_given("verbose")


def _is_given(flag: str) -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_GIVEN, {}).get(flag))


def home_of(ctx: click.Context) -> Path:
    """Return the home of a command line that is only completed."""
    named = ctx.meta.get(_GIVEN, {}).get("home")
    return Path(named).expanduser().absolute() if named else chosen_home()


def remark(text: str) -> None:
    """Say on stderr what is worth knowing beside the result; -q silences it."""
    if not is_quiet():
        click.echo(broken_for(sys.stderr, text), err=True)

"""The options of every command, before or after its name: --home, --url, --json, -q and -v.

A command declares --home and --json (`cli.options.shared`) if it uses them; all others are added to
it when it is loaded.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click

from agiraph.storage.home import home_at
from agiraph.storage.project_file import chosen_home
from cli.sanitize import broken_for

HOME: Final[dict[str, Any]] = {
    "type": click.Path(path_type=Path, file_okay=False),
    "help": "The home directory [default: AGIRAPH_HOME, the home in .agiraph.toml, or ~/.agiraph].",
}
URL: Final = "A home on another machine [default: AGIRAPH_URL, or as `login` set it]."
Check = Callable[[click.Context, click.Parameter, Any], None]
_GIVEN: Final = f"{__name__}.given"


class SharedOption(click.Option):
    """An option that takes its value from a group before the command if the command has none."""

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, click.core.ParameterSource]:
        """Return the value and its source; a value on the command line is kept."""
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
    """Return the options of the group of all commands; each applies to the command that follows."""
    return [_flag("--json", "as_json", help="Print JSON."), *_usual(), *_of_url(hidden=False)]


def _usual(check_url: Check | None = None) -> list[click.Parameter]:
    return [
        SharedOption(["--home"], expose_value=False, **HOME),
        SharedOption(
            ["--url"],
            metavar="URL|NAME",
            expose_value=False,
            hidden=check_url is not None,
            callback=check_url,
            help=URL,
        ),
        _flag("-q", "--quiet", help="Say only results, questions and errors."),
        _flag("-v", "--verbose", help="Say more on stderr."),
    ]


def _of_url(*, hidden: bool) -> list[click.Parameter]:
    """Return the options that belong to --url; a command's own help does not list them."""
    return [
        SharedOption(
            ["--token"], expose_value=False, hidden=hidden, help="With --url: the API token."
        ),
        SharedOption(
            ["--ca"],
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            expose_value=False,
            hidden=hidden,
            help="With --url: the authorities to trust (PEM).",
        ),
        _flag("--insecure", hidden=hidden, help="With --url: allow http:// to another machine."),
    ]


def with_shared_options(command: click.Command, check_url: Check | None = None) -> click.Command:
    """Add the shared options that a command and its subcommands do not declare; return it.

    `check_url` is called with the value of --url, also if the option is not given.
    """
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    no_json = None if inner else _refuse_json
    added = [
        _flag("--json", "as_json", hidden=True, callback=no_json),
        *_usual(check_url),
    ]
    added += _of_url(hidden=True)
    known = {parameter.name for parameter in command.params}
    command.params += [option for option in added if option.name not in known]
    for one in inner:
        with_shared_options(one, check_url)
    return command


def _refuse_json(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        raise click.UsageError(f"'{ctx.command_path}' has no --json", ctx)


def is_quiet() -> bool:
    """Whether the running command has the option -q."""
    return _is_given("quiet") and not is_verbose()


def is_verbose() -> bool:
    """Whether the running command has the option -v."""
    return _is_given("verbose")


def _is_given(flag: str) -> bool:
    return bool(given(flag))


def given(option: str) -> Any:
    """Return the value of a shared option on the running command line, None if it is not given."""
    ctx = click.get_current_context(silent=True)
    return ctx.meta.get(_GIVEN, {}).get(option) if ctx is not None else None


def home_of(ctx: click.Context) -> Path:
    """Return the home that an incomplete command line names, for completions."""
    named = ctx.meta.get(_GIVEN, {}).get("home")
    return home_at(named) if named else chosen_home()


def remark(text: str) -> None:
    """Print a remark on stderr, in addition to the result; -q silences it."""
    if not is_quiet():
        click.echo(broken_for(sys.stderr, text), err=True)

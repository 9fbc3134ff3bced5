"""Options that many commands share, and how a command reaches its home and its API."""

import contextlib
import errno
import functools
import gc
import math
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import click

from agiraph.core.errors import InvalidInput, unknown
from agiraph.http.errors import GatewayAway, NotReachable, UrlUnreachable
from agiraph.storage.home import Home, home_at
from agiraph.storage.project_file import chosen_home
from cli.options.everywhere import HOME, SharedOption, is_quiet, remark
from cli.options.remote import checked, chosen_remote, client_of
from cli.sanitize import require_utf8

if TYPE_CHECKING:
    from agiraph.core.money import NamedLimit
    from agiraph.http.client import Client
    from agiraph.http.own_supervisor import OwnSupervisor
    from agiraph.settings.config import Config

ANSWER_SECONDS = 3.0
AWAY_SECONDS = 45.0
"""A gateway that hangs is killed after 30 s by default and restarted a moment later."""
LOOK_SECONDS = 0.2

Command = TypeVar("Command", bound=Callable[..., Any])


def _connect(home: Path) -> "Client":
    from agiraph.http.discovery import read_gateway_address

    read_gateway_address(home)  # raises before the client is imported
    from agiraph.http.client import Client

    return checked(Client.for_home(home), ANSWER_SECONDS)


def _read(home: Path) -> "Client | None":
    gc.disable()  # it takes a fifth of this long import
    try:
        from cli.options.home_reader import client_of_files
    finally:
        gc.freeze()
        gc.enable()
    return client_of_files(home, settings_of(home))


def _supervisor(home: Path) -> "OwnSupervisor":
    from agiraph.http.own_supervisor import OwnSupervisor

    return OwnSupervisor(home)


@dataclass(frozen=True, slots=True)
class CliContext:
    """How a command reaches the API and a supervisor; tests pass another one as `obj`."""

    connect: Callable[[Path], "Client"] = _connect
    read: Callable[[Path], "Client | None"] = _read
    supervisor: Callable[[Path], "OwnSupervisor"] = _supervisor


class Subcommands(click.Group):
    """A group that lists its subcommands in the error for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand and its words; a usage error lists the known subcommands."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(
                str(unknown("subcommand", args[0], self.list_commands(ctx))), ctx
            )
        return super().resolve_command(ctx, args)


def connect(home: Path, *, patience_seconds: float | None = None) -> "Client":
    """Return a client of the supervisor that runs on `home`. Raises NotReachable if there is none.

    Waits AWAY_SECONDS for a gateway that is away while a supervisor runs, then raises GatewayAway.
    """
    patience = AWAY_SECONDS if patience_seconds is None else patience_seconds
    give_up_at = time.monotonic() + patience
    with _waiting_line() as show:
        while True:
            try:
                return cli_context().connect(home)
            except GatewayAway as away:
                if time.monotonic() >= give_up_at:
                    waited = f" (waited {patience:g} s)" if patience else ""
                    raise GatewayAway(f"{away}{waited}") from None
                show(str(away))
            time.sleep(LOOK_SECONDS)


def connect_to_read(home: Path) -> "Client":
    """Return a client of the supervisor that runs on `home`, else one that reads its files.

    With the files, every change raises NotReachable.
    """
    while True:
        try:
            return connect(home)
        except (GatewayAway, UrlUnreachable):
            raise
        except NotReachable:
            client = cli_context().read(home)
        if client is not None:  # else a supervisor runs by now
            if not home.is_dir():  # plain: the home itself
                note = f"there is no home {home} yet; create it with: agiraph run GOAL"
                remark(f"agiraph: {note}")
            return client


def settings_of(home: Path) -> "Config":
    """Return the settings that a supervisor on `home` would have. Raises InvalidInput."""
    from agiraph.settings.config import load_config
    from agiraph.settings.yaml_text import present

    return load_config(*present(Home(home).config))


@contextlib.contextmanager
def _waiting_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the reason of a wait in one line of a terminal's stderr.

    The line is removed at the end.
    """
    began, width = time.monotonic(), 0

    def put(text: str) -> None:
        nonlocal width
        text = text[: shutil.get_terminal_size((80, 24)).columns - 1]
        click.echo(f"\r{text.ljust(width)}" + ("" if text else "\r"), nl=False, err=True)
        width = len(text)

    def show(why: str) -> None:
        if sys.stderr.isatty() and not is_quiet():
            put(f"waiting: {why} ({time.monotonic() - began:.0f} s)")

    try:
        yield show
    finally:
        if width:
            put("")


def cli_context() -> CliContext:
    """Return the context of the running command; on another machine there is only a gateway."""
    remote = chosen_remote()
    if remote is not None:
        return CliContext(connect=lambda _home: client_of(remote))
    found = click.get_current_context().find_object(CliContext)
    return found if found is not None else CliContext()


def _home(_ctx: click.Context, _parameter: click.Parameter, value: Path | None) -> Path:
    home = home_at(value) if value else chosen_home()
    require_utf8(str(home), "home")
    return home


def home_option(command: Command) -> Command:
    """Return the command with --home, which becomes the argument `home`, an absolute path."""
    return click.option("--home", cls=SharedOption, callback=_home, **HOME)(command)


def run_option(command: Command) -> Command:
    """Return the command with --run, which becomes the argument `run_id`."""
    return click.option("--run", "run_id", help="The id of a run [default: the current run].")(
        command
    )


def json_option(what: str) -> Callable[[Command], Command]:
    """Return a decorator that adds --json, which becomes the argument `as_json`."""
    return click.option("--json", "as_json", cls=SharedOption, is_flag=True, help=f"Print {what}.")


def examples(*lines: str) -> str:
    """Return the end of a command's help: one example per line, not re-flowed."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class PositiveNumber(click.FloatRange):
    """A number above zero; `nan` and `inf` are refused."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or refuse the value."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a number above 0.", param, ctx)
        return number


class Parsed(click.ParamType[Any]):
    """The type of an option that `parse` converts; its InvalidInput is a usage error."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the parsed value, or refuse the text."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)


def duration(least: float = 1) -> Parsed:
    """Return the type of a duration: `90`, `30s`, `5m`, `1h30m`, `2d`; becomes seconds."""
    return Parsed("duration", functools.partial(_seconds, least=least))


def _seconds(text: str, *, least: float = 1) -> float:
    from agiraph.core.clock import seconds_of

    return seconds_of(text, "the time", least=least)


def _limit(text: str) -> "NamedLimit":
    from agiraph.core.money import parse_limit

    return parse_limit(text)


def _budget(text: str) -> "NamedLimit":
    from agiraph.core.money import parse_budget

    return parse_budget(text)


def together(
    limits: "Sequence[NamedLimit]",
) -> tuple[float | Literal["none"] | None, int | Literal["none"] | None]:
    """Return the limits in dollars and in tokens; of two limits in one unit the last is used."""
    usd = [one.usd for one in limits if one.usd is not None]
    tokens = [one.tokens for one in limits if one.tokens is not None]
    return usd[-1] if usd else None, tokens[-1] if tokens else None


def _moment(text: str, *, is_past: bool) -> float:
    from agiraph.triggers.timetable import machine_zone, moment_of

    if re.match(r"\d{4}-", text):
        return moment_of(text, machine_zone())
    if re.fullmatch(r"\d{1,2}:\d{2}", text):
        return _time_of_day(text, is_past=is_past)
    try:
        seconds = _seconds(text)
    except InvalidInput:
        known = "such as 18:30, 2026-05-01T09:00 or 2h"
        raise InvalidInput(f"'{text}' is not a time ({known})") from None
    return time.time() + (-seconds if is_past else seconds)


def _time_of_day(text: str, *, is_past: bool) -> float:
    now = datetime.now()
    try:
        then = datetime.strptime(text, "%H:%M").replace(now.year, now.month, now.day)
    except ValueError:
        raise InvalidInput(f"'{text}' is not a time of day") from None
    if is_past and then > now:
        then -= timedelta(days=1)
    if not is_past and then <= now:
        then += timedelta(days=1)
    return then.timestamp()


DURATION: Final = duration()

NOTES_OF: Final = ("project", "all", "none")
AMOUNT: Final = Parsed("amount", _limit)
BUDGET: Final = Parsed("amount", _budget)
"""The budget of a new agent or run: `2`, `$2`, `500k-tokens`; becomes a NamedLimit."""


def notes_option(command: Command) -> Command:
    """Return the command with --notes, which becomes the argument `notes`."""
    return click.option(
        "--notes",
        type=click.Choice(NOTES_OF),
        help="The notes of earlier work in its prompts: of its own project (the "
        "repository or folder of the input), of all projects, or none [default: project].",
    )(command)


def budgets_option(help: str) -> Callable[[Command], Command]:
    """Return a decorator that adds -b/--budget, which becomes the argument `budgets`.

    These are amounts in dollars or tokens; the option is repeatable (`together`).
    """
    return click.option("-b", "--budget", "budgets", type=BUDGET, multiple=True, help=help)


"""A budget: `2`, `$2`, `500k-tokens`, `none`; becomes a NamedLimit."""

PAST_TIME: Final = Parsed("time", functools.partial(_moment, is_past=True))
"""`18:30`, `2026-05-01T09:00`, or a duration before now, `2h`; becomes epoch seconds."""

NEXT_TIME: Final = Parsed("time", functools.partial(_moment, is_past=False))
"""The same formats, for a time after now."""


def require_writable(file: Path) -> None:
    """Raise InvalidInput for a file that could not be written; no file is changed."""
    place = file.resolve()
    try:
        if place.exists():  # plain: where the person wants it
            if not os.access(place, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            os.close(os.open(place, flags, 0o600))  # plain: where the person wants it
            place.unlink()  # plain: made above
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be written ({error.strerror})") from None


def text_argument(value: str, name: str) -> str:
    """Return a text of the command line; `-` is all of stdin. Raises UsageError if empty."""
    text = _all_of_stdin() if value == "-" else value
    if not text.strip():
        raise click.UsageError(f"{name} is empty")
    return text.strip()


def _all_of_stdin() -> str:
    """Return the text on stdin, in any locale. Raises InvalidInput if it is not UTF-8."""
    try:
        return sys.stdin.buffer.read().decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"stdin: is not UTF-8 text (byte {error.start})") from None

"""api_command: declares a command that sends a request to a home's gateway."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.exits import DONE
from cli.options.shared import Subcommands, connect_to_read, examples, home_option, json_option
from cli.output.listing import Shown

if TYPE_CHECKING:
    from agiraph.http.client import Client


def api_command(
    *lines: str,
    json: str,
    name: str | None = None,
    group: click.Group | None = None,
    connects: "Callable[[Path], AbstractContextManager[Client]]" = connect_to_read,
    **more: Any,
) -> Callable[[Callable[..., Shown]], click.Command]:
    """Make a command of a function that receives the client first and returns the result to print.

    `lines` are examples, and `json` describes the output of --json; --json and --home are added.
    The command is added to `group`, if given; `connects` returns the client of a home, which by
    default only reads if no supervisor runs; `more` is for click.
    """

    def decorate(function: Callable[..., Shown]) -> click.Command:
        @functools.wraps(function)
        def run(home: Any, as_json: bool, **arguments: Any) -> int:
            if click.get_current_context().invoked_subcommand is not None:
                return DONE  # a subcommand follows
            with connects(home) as client:
                shown = function(client, **arguments)
            return shown.print(as_json=as_json)

        own: list[click.Parameter] = run.__dict__.pop("__click_params__", [])
        home_option(json_option(json)(run))
        run.__dict__["__click_params__"] += own  # first in --help
        make = group.command if group is not None else click.command
        command: click.Command = make(name, epilog=examples(*lines), **more)(run)
        return command

    return decorate


def api_group(*lines: str, json: str) -> Callable[[Callable[..., Shown]], click.Group]:
    """Make a group that sends a request like such a command if no subcommand is given."""

    def decorate(function: Callable[..., Shown]) -> click.Group:
        make = api_command(*lines, json=json, cls=Subcommands, invoke_without_command=True)
        group = make(function)
        assert isinstance(group, click.Group)
        return group

    return decorate

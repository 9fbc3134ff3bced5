"""`agiraph tokens`: the tokens of the HTTP API of this home."""

from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from agiraph.http.api import CreateTokenRequest, NewTokenView
from agiraph.http.api.access import HOME_TOKEN, SCOPES, Scope
from cli.formats import format_time
from cli.listing import Column, print_json, print_listing, print_result, to_rows
from cli.options import Duration, PositiveNumber, connect, examples, home_option, json_option


def _or_never(value: Any) -> str:
    return format_time(value) if value is not None else "never"


COLUMNS = (
    Column("NAME", "name"),
    Column("SCOPE", "scope"),
    Column("STATUS", "status"),
    Column("CREATED", "created_at", format_time, spare=2),
    Column("BY", "created_by", spare=3),
    Column("EXPIRES", "expires_at", _or_never),
    Column("USED", "last_used_at", _or_never, spare=1),
)
FIELDS = "name, scope, status, created_at, created_by, expires_at, rotated_at, last_used_at"


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "agiraph tokens",
        "agiraph tokens add ci --scope talk --expires 30d",
        "agiraph tokens rotate ci --grace 10m",
        "agiraph tokens revoke ci",
        "agiraph tokens rotate home",
    ),
)
@home_option
@json_option(f"a JSON array: {FIELDS}")
@click.pass_context
def tokens(context: click.Context, home: Path, as_json: bool) -> None:
    """List the API tokens of this home; the commands on this machine use `home`.

    The scope `read` allows reading, `talk` also sending messages and answering questions,
    `control` everything. Changes take effect at once, without a restart.
    """
    if context.invoked_subcommand is None:
        _list(home, as_json)


@tokens.command("list", epilog=examples("agiraph tokens list --json"))
@home_option
@json_option(f"a JSON array: {FIELDS}")
def list_tokens(home: Path, as_json: bool) -> None:
    """List the tokens, including those that ended within the last thirty days."""
    _list(home, as_json)


def _list(home: Path, as_json: bool) -> None:
    with connect(home) as client:
        rows = to_rows(client.tokens())
    print_listing(rows, COLUMNS, as_json=as_json, empty="no tokens")


@tokens.command(
    epilog=examples(
        "agiraph tokens add dashboard",
        "agiraph tokens add ci --scope talk --expires 30d --rate 10",
        "agiraph tokens add backup --scope control > token.txt",
    )
)
@click.argument("name")
@click.option(
    "--scope", type=click.Choice(SCOPES), default="read", show_default=True, help="What it may do."
)
@click.option(
    "--expires", type=Duration(), help="How long it is valid, such as 30d [default: for ever]."
)
@click.option(
    "--rate", type=PositiveNumber(), help="The number of calls that it may make per second."
)
@home_option
@json_option("one JSON object: the token, its secret under `token`")
def add(
    name: str, scope: Scope, expires: float | None, rate: float | None, home: Path, as_json: bool
) -> None:
    """Create the token NAME and print its secret, once: only a digest of it is stored."""
    try:
        wanted = CreateTokenRequest(
            name=name, scope=scope, expires_in_seconds=expires, calls_per_second=rate
        )
    except ValidationError as error:
        raise click.UsageError(_complaint(error)) from None
    with connect(home) as client:
        made = client.add_token(wanted)
    _show(made, as_json)


@tokens.command(
    epilog=examples("agiraph tokens rotate ci --grace 10m", "agiraph tokens rotate home")
)
@click.argument("name")
@click.option("--grace", type=Duration(), help="How long the old secret stays valid [default: 0].")
@home_option
@json_option("one JSON object: the token, its new secret under `token`")
def rotate(name: str, grace: float | None, home: Path, as_json: bool) -> None:
    """Give the token NAME a new secret and print it.

    The secret of `home` is written to system/token, where the commands find it.
    """
    with connect(home) as client:
        made = client.rotate_token(name, grace_seconds=grace or 0)
    if name == HOME_TOKEN and not as_json:
        click.echo("rotated: the new secret is in system/token", err=True)
        return
    _show(made, as_json)


@tokens.command(epilog=examples("agiraph tokens revoke ci"))
@click.argument("name")
@home_option
@json_option("one JSON object: the token")
def revoke(name: str, home: Path, as_json: bool) -> None:
    """Revoke the token NAME, and log out the browsers that logged in by a link of it."""
    with connect(home) as client:
        ended = client.revoke_token(name)
    print_result(ended, f"revoked: {ended.name}", as_json=as_json)


def _show(made: NewTokenView, as_json: bool) -> None:
    if as_json:
        print_json(to_rows([made])[0])
        return
    click.echo(made.token)
    until = f" until {format_time(made.expires_at)}" if made.expires_at is not None else ""
    click.echo(f"shown only once; '{made.name}' has scope {made.scope}{until}", err=True)


def _complaint(error: ValidationError) -> str:
    first = error.errors()[0]
    if first["loc"] == ("name",):
        return "NAME: at most 40 of a-z, 0-9, '.', '_' and '-', the first a letter or a digit"
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"

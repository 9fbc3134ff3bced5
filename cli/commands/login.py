"""`agiraph login`, `sessions`, `logout`: browsers that may use the HTTP API."""

from pathlib import Path

import click

from agiraph.http.api.access import SCOPES, Scope
from cli.formats import format_time
from cli.listing import Column, print_json, print_listing, to_rows
from cli.options import Duration, connect, examples, home_option, json_option

COLUMNS = (
    Column("ID", "id"),
    Column("SCOPE", "scope"),
    Column("SINCE", "created_at", format_time, spare=1),
    Column("UNTIL", "expires_at", format_time),
    Column("BY", "created_by", spare=2),
    Column("BROWSER", "browser", wide=True),
)


@click.command(
    epilog=examples(
        "agiraph login",
        "agiraph login --open",
        "agiraph login --scope read --for 12h",
        "agiraph login --at https://atlas.example",
    )
)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="control",
    show_default=True,
    help="What the browser may do.",
)
@click.option("--for", "lasts", type=Duration(), help="How long it stays logged in, such as 12h.")
@click.option("--open", "opens", is_flag=True, help="Open the link in this machine's browser.")
@click.option("--at", metavar="URL", help="The gateway's address as that browser reaches it.")
@home_option
@json_option("one JSON object: url, scope, expires_at, session_seconds")
def login(
    scope: Scope, lasts: float | None, opens: bool, at: str | None, home: Path, as_json: bool
) -> None:
    """Print a login link that works once, within a few minutes."""
    with connect(home) as client:
        made = client.begin_login(scope=scope, session_seconds=lasts)
        url = (at or client.url).rstrip("/") + made.path
    is_open = opens and _open(url)
    if as_json:
        row = to_rows([made])[0]
        print_json({"url": url, **{key: row[key] for key in row if key != "path"}})
        return
    if not is_open:
        click.echo(url)
    click.echo(
        f"the link works once, until {format_time(made.expires_at)}, with scope {scope}", err=True
    )


def _open(url: str) -> bool:
    import webbrowser

    return webbrowser.open(url)


@click.command(epilog=examples("agiraph sessions", "agiraph sessions --json"))
@home_option
@json_option("a JSON array: id, scope, created_by, created_at, expires_at, browser")
def sessions(home: Path, as_json: bool) -> None:
    """List the browsers that are logged in."""
    with connect(home) as client:
        rows = to_rows(client.sessions())
    print_listing(rows, COLUMNS, as_json=as_json, empty="no browsers are logged in")


@click.command(epilog=examples("agiraph logout 3fa9c1d2", "agiraph logout --all"))
@click.argument("session", required=False)
@click.option("--all", "everyone", is_flag=True, help="Log out every browser.")
@home_option
@json_option("a JSON array: the sessions that were ended")
def logout(session: str | None, everyone: bool, home: Path, as_json: bool) -> None:
    """Log out the browser with the id SESSION."""
    if everyone == (session is not None):
        raise click.UsageError("name a session (`agiraph sessions` lists them), or --all")
    with connect(home) as client:
        ids = [one.id for one in client.sessions()] if session is None else [session]
        ended = [client.end_session(id) for id in ids]
    if as_json:
        print_json(to_rows(ended))
    else:
        click.echo(f"logged out: {', '.join(one.id for one in ended) or 'none'}")

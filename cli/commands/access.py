"""`agiraph tokens`, `login`, `ui`, `logins`, `logout`: access to the API of this home."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from agiraph.core.record import misfit_in_words
from agiraph.http.api import CreateTokenRequest, NewTokenView
from agiraph.http.api.access import HOME_TOKEN, SCOPES, Scope
from agiraph.http.remotes import checked_url
from agiraph.settings.config import ui_folder
from cli.api_command import api_command, api_group
from cli.browser import how_to_reach, link_of, open_browser, ui_login, user_of_browser
from cli.commands.remotes import log_in_at
from cli.options.everywhere import given, remark
from cli.options.remote import is_elsewhere
from cli.options.shared import (
    DURATION,
    Parsed,
    PositiveNumber,
    connect,
    examples,
    home_option,
    json_option,
)
from cli.output.formats import format_time
from cli.output.listing import Column, Done, Listing, Shown

if TYPE_CHECKING:
    from agiraph.http.client import Client


def _or_never(value: Any) -> str:
    return format_time(value) if value is not None else "never"


TOKENS = (
    Column("NAME", "name"),
    Column("SCOPE", "scope"),
    Column("STATUS", "status"),
    Column("CREATED", "created_at", format_time, spare=2),
    Column("BY", "created_by", spare=3),
    Column("EXPIRES", "expires_at", _or_never),
    Column("USED", "last_used_at", _or_never, spare=1),
)
LOGINS = (
    Column("ID", "id"),
    Column("SCOPE", "scope"),
    Column("SINCE", "created_at", format_time, spare=1),
    Column("UNTIL", "expires_at", format_time),
    Column("BY", "created_by", spare=2),
    Column("BROWSER", "browser", wide=True),
)
CALLS = (
    Column("TIME", "ts", format_time),
    Column("WHO", "", lambda call: str(call["who"] or call["client"] or "unknown")),
    Column("CALL", "", lambda call: f"{call['method']} {call['path']}".strip(), wide=True),
    Column("STATUS", "status", lambda status: str(status or "open"), align="right"),
    Column("MS", "ms", lambda ms: "" if ms is None else f"{ms:.0f}", align="right", spare=1),
    Column("REASON", "reason", wide=True, spare=2),
)
FIELDS = "name, scope, status, created_at, created_by, expires_at, rotated_at, last_used_at"


@api_group(
    "agiraph tokens",
    "agiraph tokens add ci --scope talk --expires 30d",
    "agiraph tokens rotate ci --grace 10m",
    "agiraph tokens revoke ci",
    "agiraph tokens rotate home",
    json=f"a JSON array: {FIELDS}",
)
def tokens(client: "Client") -> Shown:
    """List the API tokens of this home; the commands on this machine use `home`.

    The scope `read` allows reading, `talk` also sending messages and answering questions,
    `control` everything. Changes take effect at once, without a restart.
    """
    return _tokens(client)


@api_command(
    "agiraph tokens list --json", json=f"a JSON array: {FIELDS}", name="list", group=tokens
)
def list_tokens(client: "Client") -> Shown:
    """List the tokens, including tokens that ended within the last thirty days."""
    return _tokens(client)


def _tokens(client: "Client") -> Listing:
    return Listing(client.tokens(), TOKENS, "no tokens")


@api_command(
    "agiraph tokens add dashboard",
    "agiraph tokens add ci --scope talk --expires 30d --rate 10",
    "agiraph tokens add backup --scope control > token.txt",
    json="one JSON object: the token, its secret under `token`",
    group=tokens,
)
@click.argument("name")
@click.option(
    "--scope", type=click.Choice(SCOPES), default="read", show_default=True, help="Its permissions."
)
@click.option(
    "--expires", type=DURATION, help="How long it is valid, such as 30d [default: for ever]."
)
@click.option(
    "--rate", type=PositiveNumber(), help="The number of calls that it may make per second."
)
def add(
    client: "Client", name: str, scope: Scope, expires: float | None, rate: float | None
) -> Shown:
    """Create the token NAME and print its secret, once: only a digest of it is stored."""
    try:
        wanted = CreateTokenRequest(
            name=name, scope=scope, expires_in_seconds=expires, calls_per_second=rate
        )
    except ValidationError as error:
        raise click.UsageError(_complaint(error)) from None
    return _secret(client.add_token(wanted))


@api_command(
    "agiraph tokens rotate ci --grace 10m",
    "agiraph tokens rotate home",
    json="one JSON object: the token, its new secret under `token`",
    group=tokens,
)
@click.argument("name")
@click.option("--grace", type=DURATION, help="How long the old secret stays valid [default: 0].")
def rotate(client: "Client", name: str, grace: float | None) -> Shown:
    """Give the token NAME a new secret and print it.

    The secret of `home` is written to system/token, where the commands find it.
    """
    made = client.rotate_token(name, grace_seconds=grace or 0)
    if name == HOME_TOKEN:
        return Done(made, "", remark="rotated: the new secret is in system/token")
    return _secret(made)


@api_command("agiraph tokens revoke ci", json="one JSON object: the token", group=tokens)
@click.argument("name")
def revoke(client: "Client", name: str) -> Shown:
    """Revoke the token NAME, and log out the browsers that logged in by a link of it."""
    ended = client.revoke_token(name)
    return Done(ended, f"revoked: {ended.name}")


def _secret(made: NewTokenView) -> Done:
    until = f" until {format_time(made.expires_at)}" if made.expires_at is not None else ""
    remark = f"shown only once; '{made.name}' has scope {made.scope}{until}"
    return Done(made, made.token or "", remark=remark)


def _complaint(error: ValidationError) -> str:
    first = error.errors()[0]
    if first["loc"] == ("name",):
        return "NAME: at most 40 of a-z, 0-9, '.', '_' and '-', the first a letter or a digit"
    return f"{'.'.join(map(str, first['loc']))}: {misfit_in_words(first)}"


@api_command(
    "agiraph audit",
    "agiraph audit --refused --limit 20",
    "agiraph audit --json | jq -r .[].who",
    json="a JSON array: ts, id, who, login, method, path, client, status, ms, reason, held_back",
)
@click.option("--refused", is_flag=True, help="Only calls that were refused, and refused machines.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="How many, counted from the last.",
)
def audit(client: "Client", refused: bool, limit: int) -> Shown:
    """List the last calls of the API, the newest last: caller, call and outcome."""
    calls = client.audit(limit=limit, refused=refused)
    return Listing(calls, CALLS, "no call was refused" if refused else "no calls yet")


# --- browsers ------------------------------------------------------------------------------------


@click.command(
    epilog=examples(
        "agiraph login",
        "agiraph login --open",
        "agiraph login --scope read --for 12h",
        "agiraph login --at https://atlas.example",
        "agiraph login --url https://atlas.example           # asks for the token",
        "agiraph login --url https://atlas.example --name atlas < token.txt",
    ),
)
@click.option(
    "--scope", type=click.Choice(SCOPES), help="The permissions of the browser [default: control]."
)
@click.option("--for", "lasts", type=DURATION, help="How long it stays logged in, such as 12h.")
@click.option("--open", "opens", is_flag=True, help="Open the link in this machine's browser.")
@click.option(
    "--at",
    type=Parsed("URL", checked_url),
    metavar="URL",
    help="The gateway's address as that browser reaches it.",
)
@click.option("-n", "--name", help="With --url: the name that it has from now on.")
@home_option
@json_option("one JSON object: url, scope, expires_at, login_seconds (--url: url, name, scope)")
def login(
    scope: Scope | None,
    lasts: float | None,
    opens: bool,
    at: str | None,
    name: str | None,
    home: Path,
    as_json: bool,
) -> int:
    """Print a login link for a browser, which works once; or, with --url, log this machine in.

    With --url the token is kept in your config folder, and the commands here are from now on for
    that home on another machine: by default, or where its --name is given as --url.
    """
    if given("url"):
        if scope or lasts or opens or at:
            raise click.UsageError(
                "--scope, --for, --open and --at are for a browser; for one at a home on another "
                "machine: log in there by --url first, then `agiraph login` without it"
            )
        return log_in_at(str(given("url")), name).print(as_json=as_json)
    if name is not None:
        raise click.UsageError("--name needs --url: it names a home on another machine")
    with connect(home) as client:
        user = user_of_browser(client.url) if opens and not at else None
        made = client.create_login_link(scope=scope or "control", login_seconds=lasts, user=user)
        url = (at or client.url).rstrip("/") + made.path
    is_open = opens and open_browser(url)
    until = f"until {format_time(made.expires_at)}, with scope {scope or 'control'}"
    record = {"url": url} | made.model_dump(mode="json", exclude={"path"})
    shown = Done(record, "" if is_open else url, f"the link works once, {until}")
    return shown.print(as_json=as_json)


@click.command(
    epilog=examples("agiraph ui", "agiraph ui my-agent", "agiraph ui --no-browser"),
)
@click.argument("agent", required=False)
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@home_option
@json_option("one JSON object: url, scope, expires_at, login_seconds")
def ui(agent: str | None, no_browser: bool, home: Path, as_json: bool) -> int:
    """Open the web UI in a browser, at AGENT if it is named, and print the link.

    The link logs a browser in, once, within a few minutes. It needs a running supervisor
    (`agiraph up`); `agiraph login` makes links for other browsers, and with fewer rights.
    """
    with connect(home) as client:
        id = client.agent(agent).id if agent is not None else None
        made = ui_login(client, id, opens=not no_browser)
        url = link_of(client, made)
    is_open = not no_browser and open_browser(url)
    record = {"url": url} | made.model_dump(mode="json", exclude={"path"})
    said = "opened in the browser; the link" if is_open else f"{how_to_reach(url)}: it"
    until = f"works once, until {format_time(made.expires_at)}"
    code = Done(record, url, f"{said} {until}").print(as_json=as_json)
    if not (
        is_elsewhere() or (ui_folder() / "index.html").is_file()
    ):  # plain: what `make ui` builds
        remark("the web UI is not built here: type `make ui` in the clone, then load it again")
    return code


@api_command(
    "agiraph logins",
    "agiraph logins --json",
    json="a JSON array: id, scope, created_by, created_at, expires_at, browser",
)
def logins(client: "Client") -> Shown:
    """List the browsers that are logged in."""
    return Listing(client.logins(), LOGINS, "no browsers are logged in")


@api_command(
    "agiraph logout 3fa9c1d2",
    "agiraph logout --all",
    json="a JSON array: the browsers that were logged out",
)
@click.argument("login", required=False)
@click.option("-a", "--all", "everyone", is_flag=True, help="Log out every browser.")
def logout(client: "Client", login: str | None, everyone: bool) -> Shown:
    """Log out the browser with the id LOGIN (`agiraph logins` lists them)."""
    if everyone == (login is not None):
        raise click.UsageError("name a login (`agiraph logins` lists them), or --all")
    ids = [one.id for one in client.logins()] if login is None else [login]
    ended = [client.end_login(id) for id in ids]
    return Done(ended, f"logged out: {', '.join(one.id for one in ended) or 'none'}")

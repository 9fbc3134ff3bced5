"""`agiraph remotes`, and the implementation of `agiraph login --url`: homes on other machines."""

import os
import re
import sys
from dataclasses import replace
from typing import Final

import click

from agiraph.core.errors import InvalidInput
from agiraph.http.remotes import Remote, read_remotes, remotes_file, write_remotes
from cli.options.remote import as_given, client_of
from cli.options.shared import Subcommands, examples, json_option
from cli.output.formats import yes_or_no
from cli.output.listing import Column, Done, Listing
from cli.sanitize import require_utf8

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
REMOTES: Final = (
    Column("NAME", "name"),
    Column("URL", "url", wide=True),
    Column("DEFAULT", "default", yes_or_no),
    Column("CA", "ca", spare=1),
    Column("INSECURE", "insecure", yes_or_no, spare=2),
)


@click.group(
    cls=Subcommands,
    invoke_without_command=True,
    epilog=examples("agiraph remotes", "agiraph remotes forget atlas"),
)
@json_option("a JSON array: name, url, default, ca, insecure")
@click.pass_context
def remotes(ctx: click.Context, as_json: bool) -> None:
    """List the homes on other machines that `agiraph login --url` has made known here.

    The default home is used by commands that name no home. Tokens are not shown.
    """
    if ctx.invoked_subcommand is not None:
        return
    found = read_remotes(remotes_file(os.environ))
    rows = [
        {
            "name": remote.name,
            "url": remote.url,
            "default": remote.url == found.default,
            "ca": remote.ca,
            "insecure": remote.insecure,
        }
        for remote in found.known.values()
    ]
    Listing(rows, REMOTES, "no homes on other machines").print(as_json=as_json)


@remotes.command(epilog=examples("agiraph remotes forget atlas"))
@click.argument("remote")
@json_option("one JSON object: url")
def forget(remote: str, as_json: bool) -> int:
    """Forget REMOTE, a name or a URL, and the token for it; the token itself stays valid."""
    file = remotes_file(os.environ)
    known = read_remotes(file)
    found = known.find(remote)
    if found.url not in known.known:
        raise InvalidInput(f"'{remote}' is not known here (`agiraph remotes` lists what is)")
    write_remotes(file, known.without(found))
    ended = "`agiraph tokens revoke` at its home ends the token"
    return Done({"url": found.url}, f"forgotten: {found.url}", ended).print(as_json=as_json)


def log_in_at(named: str, name: str | None) -> Done:
    """Store the token for the gateway `named`, if it is valid; return the output.

    Raises ApiError.
    """
    if name is not None and not NAME.fullmatch(name):
        raise click.UsageError("--name: at most 40 letters, digits, '.', '_' and '-'")
    file = remotes_file(os.environ)
    known = read_remotes(file)
    remote = as_given(replace(known.find(named), token=""))
    if not remote.token:
        remote = replace(remote, token=_asked_token(remote))
    remote = replace(remote, name=name or remote.name)
    with client_of(remote) as client:
        who = client.whoami()
    write_remotes(file, known.with_remote(remote))
    record = {"url": remote.url, "name": remote.name, "scope": who.scope}
    way = f"--url {remote.name}" if remote.name else "no --home and no --url"
    hint = f"commands with {way} are for it from now on; `agiraph remotes forget` ends that"
    return Done(record, f"logged in at {remote.url} with scope {who.scope}", hint)


def _asked_token(remote: Remote) -> str:
    """Return the token that the person types, or the first line of a pipe."""
    if sys.stdin.isatty():
        typed = click.prompt(f"API token for {remote.url}", hide_input=True, err=True)
    else:
        typed = sys.stdin.readline()
    token = str(typed).strip()
    require_utf8(token, "the token")
    if not token.isascii() or not token or " " in token:
        raise InvalidInput("that is not a token (`agiraph tokens add NAME` at its home makes one)")
    return token

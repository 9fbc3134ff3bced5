"""The home on another machine that a command is for, if any, and the way to its gateway."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from agiraph.http.remotes import Remote, checked_url, read_remotes, remotes_file, require_private
from agiraph.storage.home import HOME_VARIABLE
from agiraph.storage.project_file import project_file
from cli.options.everywhere import given

if TYPE_CHECKING:
    from agiraph.http.client import Client

URL_VARIABLE: Final = "AGIRAPH_URL"
TOKEN_VARIABLE: Final = "AGIRAPH_TOKEN"
ANSWER_SECONDS: Final = 10.0
_CHOSEN: Final = f"{__name__}.chosen"


def chosen_remote() -> Remote | None:
    """Return the home on another machine that the running command is for; None: a home here.

    The order of precedence is --url, --home, AGIRAPH_URL, other names of a home of this machine,
    and the default set by `agiraph login --url`. Raises InvalidInput for an address that is wrong,
    or to which the token would be sent unencrypted.
    """
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return None
    if _CHOSEN not in ctx.meta:
        ctx.meta[_CHOSEN] = _chosen()
    chosen: Remote | None = ctx.meta[_CHOSEN]
    return chosen


def require_here() -> None:
    """Raise UsageError if the running command is for a home on another machine."""
    remote = chosen_remote()
    if remote is not None:
        path = click.get_current_context().command_path
        raise click.UsageError(
            f"'{path}' works on the files and processes of a home: type it on the machine of "
            f"{remote.label}, or name a home of this machine with --home"
        )


def is_elsewhere() -> bool:
    """Whether the running command is for a home on another machine."""
    return chosen_remote() is not None


def _chosen() -> Remote | None:
    named, home = given("url"), given("home")
    if named and home:
        raise click.UsageError("--url and --home cannot be used together: each names a home")
    if not home:
        remotes = read_remotes(remotes_file(os.environ))
        named = named or os.environ.get(URL_VARIABLE) or ("" if _has_home() else remotes.default)
        if named:
            return as_given(remotes.find(named))
    for option in ("token", "ca", "insecure"):
        if given(option):
            raise click.UsageError(f"--{option} needs --url: it is for a home on another machine")
    return None


def _has_home() -> bool:
    """Whether the environment or the project names a home of this machine."""
    if os.environ.get(HOME_VARIABLE):
        return True
    file = project_file()
    return file is not None and file.home is not None


def as_given(remote: Remote) -> Remote:
    """Return a remote with the values of the command line and the environment.

    AGIRAPH_TOKEN is for the gateway that AGIRAPH_URL names, else for a gateway without a token.
    Raises InvalidInput if the token would be sent unencrypted.
    """
    meant, token = os.environ.get(URL_VARIABLE, ""), os.environ.get(TOKEN_VARIABLE, "")
    of_meant, of_any = (token, "") if meant else ("", token)
    if meant and meant not in (remote.name, remote.url):
        of_meant = token if "://" in meant and checked_url(meant) == remote.url else ""
    ca = os.path.abspath(given("ca")) if given("ca") else remote.ca
    found = replace(
        remote,
        token=given("token") or of_meant or remote.token or of_any,
        ca=ca,
        insecure=bool(given("insecure")) or remote.insecure,
    )
    require_private(found)
    return found


def client_of(remote: Remote) -> "Client":
    """Return a client of a gateway on another machine. Raises NotReachable, InvalidInput."""
    from agiraph.http.client import Client

    if not remote.token:
        raise click.UsageError(
            f"no token for {remote.url} (possible: agiraph login --url {remote.url}, --token, or "
            f"the variable {TOKEN_VARIABLE})"
        )
    return checked(Client(remote.url, remote.token, ca=remote.ca or None), ANSWER_SECONDS)


def checked(client: "Client", within_seconds: float) -> "Client":
    """Return `client` if its gateway answers; else close it and raise NotReachable."""
    try:
        client.check(within_seconds)
    except BaseException:
        client.close()
        raise
    return client

"""The web UI in a browser: its login link, and whether this machine has a browser to open it."""

import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from agiraph.http.api import LoginLinkView
    from agiraph.http.client import Client

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
SCREENS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER")


def ui_login(client: "Client", agent: str | None = None, *, opens: bool = True) -> "LoginLinkView":
    """Return a new login link that leads to the web UI, there to an agent (by its id).

    `opens`: the link is for this machine's browser, if there is one.
    """
    page = f"/ui/agents/{agent}" if agent is not None else "/ui/"
    return client.create_login_link(next=page, user=user_of_browser(client.url) if opens else None)


def user_of_browser(url: str) -> int | None:
    """Return the only user that may use a login link that this machine's browser opens.

    The link is in the command line of the browser, which every user of the machine can read. None
    if no browser is opened, or if the home is on another machine.
    """
    is_here = urlsplit(url).hostname in LOOPBACK
    return os.getuid() if is_here and has_browser() else None


def link_of(client: "Client", login: "LoginLinkView") -> str:
    """Return a login link in the form for a browser on this machine."""
    return client.url.rstrip("/") + login.path


def open_browser(url: str) -> bool:
    """Open a URL in the person's browser; return whether a browser was opened.

    A browser that would take over the terminal is not opened, unless BROWSER names it.
    """
    return has_browser() and webbrowser.open(url)


def has_browser() -> bool:
    """Whether this machine has a screen, and so probably a browser."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in SCREENS)


def how_to_reach(url: str) -> str:
    """Return how to open a link in a browser on another machine, if this one is used over SSH."""
    if not os.environ.get("SSH_CONNECTION"):
        return "open the link in a browser"
    port = url.partition("://")[2].partition("/")[0].rpartition(":")[2]
    return f"open the link in your browser, through `ssh -L {port}:127.0.0.1:{port} THIS_MACHINE`"

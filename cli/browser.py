"""The web UI in a browser: a link that logs it in, and whether this machine has one to open."""

import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agiraph.http.api import LoginView
    from agiraph.http.client import Client

SCREENS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER")


def ui_login(client: "Client", agent: str | None = None) -> "LoginView":
    """Make a login link that leads to the web UI, there to an agent (by its id)."""
    return client.begin_login(next=f"/ui/agents/{agent}" if agent is not None else "/ui/")


def link_of(client: "Client", login: "LoginView") -> str:
    """Return a login link as a browser on this machine opens it."""
    return client.url.rstrip("/") + login.path


def open_browser(url: str) -> bool:
    """Open a URL in the person's browser; return whether there is one.

    A browser that would take over the terminal is not opened, unless BROWSER names it.
    """
    has_screen = sys.platform == "darwin" or any(os.environ.get(name) for name in SCREENS)
    return has_screen and webbrowser.open(url)


def how_to_reach(url: str) -> str:
    """Return how a browser on another machine comes to a link, where this one is used over SSH."""
    if not os.environ.get("SSH_CONNECTION"):
        return "open the link in a browser"
    port = url.partition("://")[2].partition("/")[0].rpartition(":")[2]
    return f"open the link in your browser, through `ssh -L {port}:127.0.0.1:{port} THIS_MACHINE`"

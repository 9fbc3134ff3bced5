"""`agiraph-host`: runs the host process of a folder, and first joins a home with an invitation."""

import gc
import os
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import click
import setproctitle

from actors.host.host import Host, HostOptions
from actors.host.joining import join_home
from actors.runtime.kinds import KINDS
from actors.runtime.runtime import run_loop
from agiraph.core.errors import AgiraphError, InvalidInput
from agiraph.core.hosts import Invitation, read_invitation
from agiraph.core.ids import slug
from agiraph.logs.log import set_up_logging
from agiraph.logs.log_file import LogFile
from agiraph.storage.host_folder import (
    FOLDER_VARIABLE,
    HostFolder,
    HostRecord,
    folder_for,
    joined_folder,
)

EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_CRASHED = 70
"""The program that runs the host, such as systemd, starts it again."""
INVITATION_VARIABLE = "AGIRAPH_INVITATION"
NAME_VARIABLE = "AGIRAPH_HOST_NAME"
LABELS_VARIABLE = "AGIRAPH_HOST_LABELS"
LOG_BYTES, LOG_FILES = 8 * 1024 * 1024, 2


@click.command(name="agiraph-host")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help=f"The host's folder [default: {FOLDER_VARIABLE}, or the one in ~/.agiraph-host].",
)
@click.pass_obj
def command(kinds: Mapping[str, str], folder: Path | None) -> None:
    """Run the workers that a home places on this machine, until you stop this command.

    The machine must have joined the home: with `agiraph host join LINE`, or now with the line in
    AGIRAPH_INVITATION, or in the file that it names (and AGIRAPH_HOST_NAME, AGIRAPH_HOST_LABELS),
    as containers do.
    """
    try:
        sys.exit(run(folder, dict(os.environ), kinds))
    except AgiraphError as error:
        say(str(error))
        sys.exit(EXIT_USAGE if isinstance(error, InvalidInput) else EXIT_REFUSED)
    except OSError as error:
        say(f"{error.filename or folder}: {error.strerror or error}")
        sys.exit(EXIT_CRASHED)
    except Exception:
        traceback.print_exc()
        sys.exit(EXIT_CRASHED)


def main(kinds: Mapping[str, str] = KINDS) -> None:
    """Run the command; `kinds` maps each kind of process to the function that runs it."""
    command(obj=kinds)


def run(named: Path | None, environ: dict[str, str], kinds: Mapping[str, str]) -> int:
    """Run the host of a folder until it ends; return the exit code.

    Raises AgiraphError, OSError.
    """
    gc.freeze()  # the imported modules stay
    gc.enable()
    os.umask(0o077)
    line = environ.pop(INVITATION_VARIABLE, "")  # no process of a worker may see it
    folder = HostFolder(named) if named is not None else None
    if folder is None and not line:
        folder = joined_folder(environ)
    if folder is None or (line and not folder.has_joined):
        folder = _joined(folder, line, environ)
    record = folder.record()
    setproctitle.setproctitle(f"agiraph: host {record.name}")
    set_up_logging(file=LogFile(folder.log, LOG_BYTES, LOG_FILES))
    run_loop(Host(HostOptions(folder, environ, kinds, say)).run())
    return 0


def _joined(folder: HostFolder | None, line: str, environ: Mapping[str, str]) -> HostFolder:
    """Return the folder of a host; join by an invitation unless it has joined before."""
    if line.startswith("/"):
        line = Path(line).read_text()  # plain: the file that a person or an orchestrator gave
    named = environ.get(NAME_VARIABLE) or read_invitation(line, 0).name or own_name()
    chosen = folder or folder_for(named, environ)
    if not chosen.has_joined:  # else the container was started again
        labels = environ.get(LABELS_VARIABLE, "").replace(",", " ").split()
        join(read_invitation(line, time.time()), named, tuple(labels), chosen)
    return chosen


def join(
    invitation: Invitation, name: str, labels: tuple[str, ...], folder: HostFolder
) -> HostRecord:
    """Join a home, print a line about it, return the record.

    Raises Refused, Unavailable, OSError.
    """
    record = run_loop(join_home(folder, invitation, name, labels))
    say(f"joined the home at {record.url} as host {record.name}; its files: {folder.path}")
    return record


def own_name() -> str:
    """Return this machine's name in the form of a host's name."""
    return slug(socket.gethostname().partition(".")[0], fallback="host")


def say(text: str) -> None:
    """Print a line; a line that cannot be written (full disk) is lost."""
    with suppress(OSError):
        print(f"agiraph-host: {text}", file=sys.stderr, flush=True)

"""`agiraph host join`, `run`, `leave` and `unit`: on the machine that is a host, or becomes one."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from agiraph.core.errors import Refused, Unavailable
from agiraph.core.hosts import read_invitation
from agiraph.storage.files import read_text
from agiraph.storage.host_folder import HostFolder, folder_for, joined_folder
from agiraph.storage.supervisor_note import pid_here
from cli.exits import DONE
from cli.options.everywhere import remark
from cli.options.shared import examples

STOP_SECONDS: Final = 15.0

folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The host's folder [default: AGIRAPH_HOST_FOLDER, or the only folder in ~/.agiraph-host].",
)


def _folder(named: Path | None) -> HostFolder:
    return HostFolder(named) if named is not None else joined_folder(os.environ)


@click.command(
    epilog=examples(
        "agiraph host join agiraph-invitation:1:...",
        "agiraph host join agiraph-invitation:1:... --name north --label gpu --no-run",
    )
)
@click.argument("line")
@click.option("--name", "-n", help="Its name [default: this machine's name].")
@click.option("--label", "labels", multiple=True, help="A label for placement; repeatable.")
@click.option("--no-run", is_flag=True, help="Only join; `agiraph host run` runs it.")
@folder_option
def join(
    line: str, name: str | None, labels: tuple[str, ...], no_run: bool, folder: Path | None
) -> int:
    """Join a home with the LINE of `agiraph host invite`, and run its workers on this machine.

    The line works once. Joined, the machine needs it no more: it has a key of its own.
    """
    from actors.host.main import join as join_now
    from actors.host.main import own_name

    invitation = read_invitation(line, time.time())
    called = name or invitation.name or own_name()
    chosen = HostFolder(folder) if folder is not None else folder_for(called, os.environ)
    join_now(invitation, called, labels, chosen)
    return DONE if no_run else _run(chosen)


@click.command(epilog=examples("agiraph host run", "agiraph host run --folder /srv/agiraph-host"))
@folder_option
def run(folder: Path | None) -> int:
    """Run the workers that the home places on this machine, until you stop this command.

    `agiraph-host` is the same command. The home may be away, or this machine: it tries for ever to
    reach it. If it cannot for longer than its lease, it kills its processes.
    """
    chosen = _folder(folder)
    chosen.record()  # raises Refused
    return _run(chosen)


def _run(folder: HostFolder) -> int:
    """Replace this process by the host process of a folder; does not return."""
    os.execv(sys.executable, _command(folder))


def _command(folder: HostFolder) -> list[str]:
    return [sys.executable, "-P", "-m", "agiraph", "_host", "--folder", str(folder.path)]


@click.command(epilog=examples("agiraph host leave", "agiraph host leave --force"))
@click.option("--force", is_flag=True, help="Forget the home even if it cannot be told.")
@folder_option
def leave(force: bool, folder: Path | None) -> int:
    """Leave the home for good: this machine's key is forgotten, here and there.

    A running host is stopped first. Files of its workers stay in its folder.
    """
    from actors.host.joining import leave_home
    from actors.runtime.runtime import run_loop

    chosen = _folder(folder)
    record = chosen.record()
    with _stopped(chosen):
        try:
            run_loop(leave_home(chosen))
        except (Refused, Unavailable) as error:
            if not force:
                raise type(error)(
                    f"{error} (--force forgets the home without telling it)"
                ) from None
            chosen.leave()
    remark(f"{record.name} is no host of the home at {record.url} any more; files: {chosen.path}")
    return DONE


@contextmanager
def _stopped(folder: HostFolder) -> Iterator[None]:
    """Stop the host process that uses a folder, and lock the folder during the block.

    Raises HomeLocked if the process does not exit within STOP_SECONDS.
    """
    from agiraph.storage.home_folders import HomeLock, HomeLocked

    lock = HomeLock(folder.path, folder.lock, "the host's folder", "agiraph-host")
    give_up_at = time.monotonic() + STOP_SECONDS
    is_asked = False
    while True:
        try:
            lock.acquire()
            break
        except HomeLocked:
            if time.monotonic() > give_up_at:
                raise
            if not is_asked and (pid := read_text(folder.lock).strip()).isdecimal():
                if (here := pid_here(int(pid), folder.lock.parent)) is not None:
                    os.kill(here, signal.SIGTERM)
                is_asked = True
    try:
        yield
    finally:
        lock.release()


@click.command(
    epilog=examples(
        "agiraph host unit > ~/.config/systemd/user/agiraph-host.service",
        "systemctl --user enable --now agiraph-host",
    )
)
@folder_option
def unit(folder: Path | None) -> int:
    """Print a systemd unit that runs this host at each start of the machine."""
    from cli.login_service import systemd_unit

    chosen = _folder(folder)
    chosen.record()  # raises Refused
    path = os.environ.get("PATH", os.defpath)
    click.echo(systemd_unit(_command(chosen), chosen.path, path, "host"), nl=False)
    return DONE

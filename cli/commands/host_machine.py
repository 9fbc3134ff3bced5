"""`agiraph host join`, `run`, `leave` and `unit`: on the machine that is a host, or becomes one."""

import os
import sys
from pathlib import Path

import click

from agiraph.storage.host_folder import HostFolder, joined_folder
from cli.exits import DONE
from cli.options import examples

folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The host's folder [default: AGIRAPH_HOST_FOLDER, or the one in ~/.agiraph-host].",
)


def _folder(named: Path | None) -> HostFolder:
    return HostFolder(named) if named is not None else joined_folder(os.environ)


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
    command = [sys.executable, "-P", "-m", "agiraph", "_host", "--folder", str(chosen.path)]
    path = os.environ.get("PATH", os.defpath)
    click.echo(systemd_unit(command, chosen.path, path, "host"), nl=False)
    return DONE

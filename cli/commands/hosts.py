"""`agiraph host`: the other machines of a home, from its own machine and from theirs."""

import click

from cli.commands import host_machine
from cli.options import examples

OF_THE_MACHINE = (host_machine.unit,)
"""What is run on the machine that is a host, or becomes one; it needs no home."""


@click.group(
    epilog=examples(
        "agiraph host unit > ~/.config/systemd/user/agiraph-host.service",
    )
)
def host() -> None:
    """Let other machines run the agents of a home, or join a home with this machine."""


for command in OF_THE_MACHINE:
    host.add_command(command)

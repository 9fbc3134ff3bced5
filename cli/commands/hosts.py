"""`agiraph host`: the other machines of a home, from its own machine and from theirs.

`agiraph move`: a worker, from one machine to another.
"""

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from agiraph.core.errors import InvalidInput
from agiraph.core.hosts import LABEL_PATTERN, NAME_PATTERN, UPLINK_PATTERN, HostAct
from cli.api_command import api_command
from cli.commands import host_machine
from cli.options.everywhere import remark
from cli.options.shared import DURATION, Parsed, Subcommands, examples
from cli.output.formats import as_is, format_age, format_count, format_short_size, format_time
from cli.output.listing import Column, Done, JsonObject, Listing, Shown

if TYPE_CHECKING:
    from agiraph.http.client import Client

JOIN = "agiraph host join"
CLOSED = (
    "no other machine can join: this home does not listen (agiraph up --listen tcp://ADDR:PORT)"
)
NONE = "no hosts; invite one with: agiraph host invite"
OF_HOSTS = "one JSON object: hosts (a list), listens_at, invitations"


def _matching(pattern: str, what: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if re.fullmatch(pattern, text):
            return text
        raise InvalidInput(f"'{text}' is not {what}")

    return check


OF_THE_MACHINE = (host_machine.join, host_machine.run, host_machine.leave, host_machine.unit)
"""Commands that run on the machine that is a host, or becomes one; they need no home."""
LETTERS = "at most 63 of a-z, 0-9 and '-', the first a letter or a digit"
NAME = Parsed("NAME", _matching(NAME_PATTERN, f"a host's name ({LETTERS})"))
LABEL = Parsed("LABEL", _matching(LABEL_PATTERN, "a label, as gpu or has:docker"))
URL = Parsed("URL", _matching(UPLINK_PATTERN, "tcp://HOST:PORT, as in tcp://home.example:7400"))


def _state(row: JsonObject) -> str:
    return f"{row['state']}, cordoned" if row["is_cordoned"] else str(row["state"])


def _memory(row: JsonObject) -> str:
    total = (row["facts"] or {}).get("memory_bytes", 0)
    free = format_short_size(row["free_memory_bytes"])
    return f"{free}/{format_short_size(total)}" if free else ""


def _milliseconds(value: Any) -> str:
    return f"{1000 * value:.0f} ms" if isinstance(value, int | float) else ""


def _skew(value: Any) -> str:
    return f"{value:+.1f} s" if isinstance(value, int | float) else ""


def _fact(name: str) -> Callable[[JsonObject], str]:
    return lambda row: as_is((row["facts"] or {}).get(name))


def _labels(value: Any) -> str:
    return ", ".join(value or ())


HOSTS = (
    Column("HOST", "name"),
    Column("STATE", "", _state),
    Column("PROCESSES", "processes", format_count, align="right"),
    Column("CORES", "", _fact("cores"), align="right", spare=2),
    Column("LOAD", "load", lambda load: f"{load:.1f}", align="right", spare=1),
    Column("FREE", "", _memory, align="right", spare=3),
    Column("LATENCY", "latency_seconds", _milliseconds, align="right", spare=5),
    Column("SKEW", "skew_seconds", _skew, align="right", spare=6),
    Column("LEASE", "lease_seconds", format_age, align="right", spare=4),
    Column("VERSION", "", _fact("version"), spare=8),
    Column("SEEN", "seen_at", format_time, spare=7),
    Column("LABELS", "labels", _labels, wide=True),
)


@click.group(
    cls=Subcommands,
    epilog=examples(
        "agiraph host invite              # prints the line to run there",
        "agiraph host list",
        "agiraph host join agiraph-invitation:1:...   # on the other machine",
        "agiraph host unit > ~/.config/systemd/user/agiraph-host.service",
        "agiraph host drain build-2       # before that machine is shut down",
    ),
)
def host() -> None:
    """Let other machines run the workers of a home, or join a home with this machine."""


for command in OF_THE_MACHINE:
    host.add_command(command)


@api_command(
    "agiraph host invite",
    "agiraph host invite --name build-2 --label gpu --for 10m",
    "agiraph host invite --url tcp://home.example:7400",
    json="one JSON object: line, expires_at",
    group=host,
)
@click.option("-n", "--name", type=NAME, help="The host's name [default: it chooses its own].")
@click.option("--label", "labels", type=LABEL, multiple=True, help="A label of it; repeatable.")
@click.option(
    "--for", "seconds", type=DURATION, help="How long it is valid [default: 1h, as the settings]."
)
@click.option("--url", type=URL, help="How that machine reaches this one, if not where it listens.")
def invite(
    client: "Client",
    name: str | None,
    labels: tuple[str, ...],
    seconds: float | None,
    url: str | None,
) -> Shown:
    """Print the command with which one other machine joins this home, once.

    It contains a key: the first machine that runs it becomes the host.
    """
    from agiraph.http.api import InviteHostRequest

    asked = InviteHostRequest(name=name, labels=labels, seconds=seconds, url=url)
    made = client.invite_host(asked)
    until = f"it works once, until {format_time(made.expires_at)}"
    return Done(made, f"{JOIN} {made.line}", f"run this on the other machine; {until}")


@api_command(
    "agiraph host list",
    "agiraph host list --json",
    json="a JSON array: name, state, labels, processes, load, lease_seconds and more",
    name="list",
    group=host,
)
def list_hosts(client: "Client") -> Shown:
    """List the hosts of this home: state, processes, load, latency, skew of the clock, lease.

    A host that is `away` is silent, and its lease still runs (or it has not called since the home
    started, and nothing ran there); a `lost` host is silent, and its processes were started
    elsewhere.
    """
    found = client.hosts()
    if found.problem:
        remark(f"agiraph: no host can connect: {found.problem}")
    elif not (found.listens_at or found.hosts):
        remark(f"agiraph: {CLOSED}")
    waiting = f" (open invitations: {found.invitations})" if found.invitations else ""
    return Listing(found.hosts, HOSTS, NONE + waiting)


def _steering(act: HostAct, effect: str, done: str) -> click.Command:
    """Return the command for one act; its output is HOST and `done`."""

    @api_command(f"agiraph host {act} build-2", json=OF_HOSTS, name=act, help=effect, group=host)
    @click.argument("host")
    def command(client: "Client", host: str) -> Shown:
        return Done(client.steer_host(host, act), f"{host}: {done}")

    return command


cordon = _steering("cordon", "Give HOST no new work; its processes stay there.", "no new work")
uncordon = _steering("uncordon", "Let a cordoned HOST have new work again.", "gets work again")
drain = _steering(
    "drain",
    "Give HOST no new work, and move its processes elsewhere, each between two of its steps.",
    "no new work; its processes move to other hosts",
)


@api_command(
    "agiraph host label build-2 gpu has:docker",
    "agiraph host label build-2        # takes all away",
    json=OF_HOSTS,
    group=host,
)
@click.argument("host")
@click.argument("labels", type=LABEL, nargs=-1)
def label(client: "Client", host: str, labels: tuple[str, ...]) -> Shown:
    """Give HOST these LABELS, in place of earlier ones.

    Labels that it found itself (`linux`, `has:docker`) stay.
    """
    from agiraph.http.api import LabelHostRequest

    changed = client.label_host(host, LabelHostRequest(labels=labels))
    now = next((one.labels for one in changed.hosts if one.name == host), labels)
    return Done(changed, f"{host}: {_labels(now) or 'no labels'}")


@api_command(
    "agiraph host remove build-2",
    "agiraph host remove build-2 --yes",
    "agiraph host remove build-2 --force   # also entities that must run there",
    json=OF_HOSTS,
    group=host,
)
@click.argument("host")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--force", is_flag=True, help="Also with workers that can run nowhere else.")
def remove(client: "Client", host: str, yes: bool, force: bool) -> Shown:
    """Drain HOST and refuse its key from then on; it can come back only by another invitation.

    Workers that ask for HOST by name, or for labels that no other machine has, keep it from being
    removed: move them (`agiraph move`), or use --force, which kills them; they then wait for a
    machine, and `agiraph ps` says for which.
    """
    if not yes and not click.confirm(f"Remove {host} for good?", err=True):
        raise click.ClickException("nothing was removed")
    return Done(client.remove_host(host, force=force), f"{host} is removed")


@api_command(
    "agiraph move alice build-2",
    "agiraph move my-agent/alice home",
    "agiraph move alice                # wherever there is most room",
    json="one JSON object: address, host, incarnation",
)
@click.argument("entity")
@click.argument("host", required=False)
def move(client: "Client", entity: str, host: str | None) -> Shown:
    """Move the worker ENTITY to HOST (`home`: the machine of the home), between two of its steps.

    Nothing of its work is lost or done twice. Coordinators stay at home.
    """
    wanted = NAME(host) if host is not None else None
    began = time.monotonic()
    moved = client.move(entity, host=wanted)
    took = f"after {time.monotonic() - began:.1f} s"
    return Done(moved, f"{moved.address} continues on {moved.host}", took)

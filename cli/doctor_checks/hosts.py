"""The other machines of the home: reachability, version, clock, and the need for the uplink."""

from typing import Final

from agiraph import __version__
from agiraph.core.hosts import HostInfo
from agiraph.http.discovery import is_held
from agiraph.http.errors import ApiError, NotReachable
from cli.doctor_checks.check import DoctorCheck, DoctorContext, ok, warn

MOST_SKEW_SECONDS: Final = 5.0
ANYWHERE: Final = ("tcp://0.0.0.0:", "tcp://*:", "tcp://[::]:")


def check_hosts(context: DoctorContext) -> DoctorCheck:
    """Check that every host is reachable and ready, and that no unneeded port is open."""
    from agiraph.http.client import Client

    home, listens_at = context.home, context.settings().hosts.listen
    if not is_held(home.path):
        return ok(f"other machines join at {listens_at}" if listens_at else "none")
    try:
        with Client.for_home(home.path) as client:
            found = client.hosts()
    except (ApiError, NotReachable) as error:
        return warn(f"the hosts are not known: {error}", f"see the logs in {home.system.logs}")
    if found.problem:
        return warn(f"no host can connect: {found.problem}", "free the port, or set hosts.listen")
    if not found.hosts:
        return _empty(found.listens_at, found.invitations)
    wrong = [text for one in found.hosts for text in wrong_with(one)]
    if wrong:
        return warn("; ".join(wrong), "agiraph host list; a lost one for good: agiraph host remove")
    cordoned = [one.name for one in found.hosts if one.is_cordoned]
    more = f"; cordoned: {', '.join(cordoned)}" if cordoned else ""
    return ok(f"{len(found.hosts)} are ready, at {found.listens_at}{more}")


def _empty(listens_at: str, invitations: int) -> DoctorCheck:
    if not listens_at:
        return ok("none")
    if invitations:
        return ok(f"none yet; open invitations to {listens_at}: {invitations}")
    if listens_at.startswith(ANYWHERE):
        detail = f"{listens_at} is open to every network, and no host has joined"
        return warn(detail, "invite one (agiraph host invite), or remove hosts.listen")
    return ok(f"none; they could join at {listens_at}")


def wrong_with(host: HostInfo) -> list[str]:
    """Return the problems of a host, as text."""
    wrong = []
    if host.state != "ready":
        wrong.append(f"{host.name} is {host.state}: it cannot be reached")
    version = host.facts.version if host.facts else ""
    if version and minor_of(version) != minor_of(__version__):
        wrong.append(f"{host.name} has Agiraph {version}, not {__version__}")
    if host.skew_seconds is not None and abs(host.skew_seconds) > MOST_SKEW_SECONDS:
        wrong.append(f"the clock of {host.name} is {host.skew_seconds:+.0f} s off")
    return wrong


def minor_of(version: str) -> tuple[str, ...]:
    """Return major and minor number; versions that differ in them do not work together."""
    return tuple(version.split(".")[:2])

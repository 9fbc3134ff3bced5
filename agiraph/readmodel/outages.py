"""Outages: services that cannot be kept running, and the runs that they suspend; pure.

A service is restarted without a limit, after growing pauses. After more consecutive failures than
an entity may have (`supervisor.intensity`), and until it is ready again, it is an outage. A run is
suspended by an outage if one of its entities waits for an answer of the service and no other entity
can continue. Both are in the process table, and no record is needed: the run continues by itself
when the service answers. Commands that wait for a suspended run end after twice as many failures;
with the default settings that is about a minute.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from agiraph.core.ids import agent_of
from agiraph.core.models import ServiceOutage
from agiraph.messages.child import ChildInfo

LASTING: Final = 2


def outages_of(table: Iterable[ChildInfo], most_faults: int) -> dict[str, ServiceOutage]:
    """Return the services with more than `most_faults` consecutive failures, by address."""
    return {
        child.address: ServiceOutage(
            service=child.address,
            faults=child.faults,
            cause=child.cause or "unknown",
            is_lasting=child.faults >= LASTING * most_faults,
        )
        for child in table
        if child.state in ("starting", "backing_off")
        and child.faults > most_faults
        and agent_of(child.address) is None
    }


def outage_of_run(
    team: Sequence[ChildInfo], outages: Mapping[str, ServiceOutage]
) -> ServiceOutage | None:
    """Return the outage that suspends the run of a team, None if the run can continue.

    Of several outages, return the service with the most failures.
    """
    awaited = {at for child in team if child.state == "ready" for at in child.awaits}
    needed = [outages[at] for at in awaited if at in outages]
    stuck = {*outages, *(child.address for child in team)}
    if not needed or any(_can_continue(child, stuck) for child in team):
        return None
    return max(needed, key=lambda one: (one.faults, one.service))


def _can_continue(child: ChildInfo, stuck: set[str]) -> bool:
    """Whether a process can continue its work or start without answers of `stuck` processes."""
    match child.state:
        case "ready":
            return child.doing.state == "busy" and stuck.isdisjoint(child.awaits)
        case "backing_off":
            return child.next_start is not None  # otherwise it waits for a machine
        case "starting":
            return True
        case _:
            return False

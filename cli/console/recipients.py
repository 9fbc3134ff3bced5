"""Recipients: whom `@name`, `@*` or a plain line of the person means. Pure."""

from collections.abc import Iterable

from agiraph.core.errors import unknown
from agiraph.core.ids import COORDINATOR_NAME, Address, AgentId, coordinator_address, slug
from agiraph.http.api import WorkerView

EVERYONE = "*"


def recipients(agent: AgentId, workers: Iterable[WorkerView], to: str) -> list[tuple[str, Address]]:
    """Return the names and addresses that `to` means; raise InvalidInput that lists the known."""
    coordinator = (COORDINATOR_NAME, coordinator_address(agent))
    if to.casefold() == COORDINATOR_NAME:
        return [coordinator]
    alive = [worker for worker in workers if worker.status != "stopped"]
    if to == EVERYONE:
        return [coordinator, *((worker.name, Address(worker.address)) for worker in alive)]
    for worker in alive:
        if to in (worker.id, worker.name) or slug(to) == slug(worker.name):
            return [(worker.name, Address(worker.address))]
    raise unknown("recipient", to, [*(worker.name for worker in alive), COORDINATOR_NAME, EVERYONE])

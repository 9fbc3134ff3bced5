"""The team of a plan: the workers that its nodes and roles name, each once."""

from agiraph.board.names import check_worker_name
from agiraph.core.errors import InvalidInput
from agiraph.core.specs import WorkerSpec


def add_worker(worker: WorkerSpec, workers: dict[str, WorkerSpec], place: str) -> str:
    """Put a worker among those of the plan; the same name is the same worker."""
    try:
        key = check_worker_name(worker.name).casefold()
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None
    known = workers.setdefault(key, worker)
    for field in ("model", "type", "agent_command"):
        asked, has = getattr(worker, field), getattr(known, field)
        if asked is not None and asked != has:
            raise InvalidInput(
                f"{place}: worker '{known.name}' has {field} {has!r} already, not {asked!r}"
            )
    return known.name

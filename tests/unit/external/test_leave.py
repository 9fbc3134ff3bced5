"""How often an outside agent may ask for the same action on one node."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from actors.worker.external.permission_requests import (
    MOST_TIMES,
    PermissionRequests,
    TooManyPermissionRequests,
)
from agiraph.external.agent_events import PermissionRequested


def leave() -> PermissionRequests:
    """Return the rules of a worker that has none: everything may be done."""
    outside = SimpleNamespace(began_at="1", asking=set())
    worker: Any = SimpleNamespace(transcript=SimpleNamespace(outside=outside))
    return PermissionRequests(worker, lambda _opened: None, "n.1")


def test_the_same_action_may_be_asked_for_many_times_and_not_for_ever() -> None:
    async def main() -> None:
        asking = leave()
        same = [
            PermissionRequested(str(n), "bash", {"command": "make test"})
            for n in range(MOST_TIMES + 1)
        ]
        for asked in same[:-1]:
            assert await asking.refusal_of(asked) == ""
        for n in range(MOST_TIMES):
            edit = PermissionRequested(f"e{n}", "write_file", {"path": "a.py", "content": f"{n}"})
            assert await asking.refusal_of(edit) == ""
        with pytest.raises(
            TooManyPermissionRequests, match=r"more than 40 times .* action, bash: make test"
        ):
            await asking.refusal_of(same[-1])

    asyncio.run(main())

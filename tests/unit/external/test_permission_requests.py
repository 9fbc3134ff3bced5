"""How often an external agent may ask for the same action on one node."""

from types import SimpleNamespace
from typing import Any

import pytest

from actors.worker.external.permission_requests import (
    MOST_TIMES,
    PermissionRequests,
    TooManyPermissionRequests,
)
from agiraph.external.agent_events import PermissionRequested


async def test_repeated_permission_requests_for_one_action_are_bounded() -> None:
    state = SimpleNamespace(outside=SimpleNamespace(began_at="1", asking=set()))
    worker: Any = SimpleNamespace(transcript=state)
    requests = PermissionRequests(worker, lambda _opened: None, "n.1")
    same = PermissionRequested("r", "bash", {"command": "make test"})
    for number in range(MOST_TIMES):
        assert await requests.refusal_of(same) == ""
        other = {"path": "a.py", "content": f"{number}"}
        assert await requests.refusal_of(PermissionRequested("e", "write_file", other)) == ""
    message = r"more than 40 times .* action, bash: make test"
    with pytest.raises(TooManyPermissionRequests, match=message):
        await requests.refusal_of(same)

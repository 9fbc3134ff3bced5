"""A run whose workers get no machine: it waits for one, and then names the reason why it cannot
continue."""

from pathlib import Path

import pytest

from agiraph.core.turns import ModelRequest, ModelResponse, ToolCall, Usage
from agiraph.messages.child import ChildTable, StartChild
from tests.fakes.simulated_home import SimulatedHome, coordinator_args, simulate_machine
from transport.endpoint import Endpoint, Received


class WithoutMachines(SimulatedHome):
    """A home in which no worker can be started."""

    async def _supervise(self, endpoint: Endpoint, received: Received) -> None:
        match received.body:
            case StartChild(spec=spec) if spec.kind == "worker":
                self._specs[spec.address] = spec
                self._announce()
            case _:
                await super()._supervise(endpoint, received)

    def _table(self) -> ChildTable:
        rows = super()._table().children
        return ChildTable(
            children=tuple(
                row.model_copy(update={"state": "backing_off"}) if row.kind == "worker" else row
                for row in rows
            )
        )


def lead(request: ModelRequest) -> ModelResponse:
    """Create one node, and wait for it."""
    calls = sum(turn.role == "assistant" for turn in request.turns)
    if calls == 0:
        call = ToolCall(id="1", name="create_work_node", arguments={"name": "a", "task": "Do it"})
    else:
        call = ToolCall(id=str(calls + 1), name="wait", arguments={})
    return ModelResponse(text="", tool_calls=(call,), stop_reason="tool_use", usage=Usage())


def test_run_without_a_machine_ends_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate_machine(monkeypatch, 0)
    run = WithoutMachines(tmp_path, lead).play(
        coordinator_args(), most_seconds=7200, most_calls=200
    )
    assert run.crashes == []
    assert (run.status, "for a machine" in (run.reason or "")) == ("failed", True)

"""Groups of children with real processes: who falls with whom, and who follows whom."""

import os
import signal
from typing import Any

from tests.integration.house import House, until


def started(house: House, agent: str, strategy: str, *names: str, **spec: Any) -> list[int]:
    """Start a group in order; return the pids."""
    for name in names:
        house.start(f"{agent}/{name}", group="g", strategy=strategy, **spec)
        house.await_row(f"{agent}/{name}", state="ready")
    return [house.row(f"{agent}/{name}")["pid"] for name in names]


def test_one_for_all_begins_again_together(house: House) -> None:
    pids = started(house, "all", "one_for_all", "a", "b", "c")
    os.kill(pids[1], signal.SIGKILL)
    for name in ("a", "b", "c"):
        house.await_row(f"all/{name}", state="ready", incarnation=2)
    order = [house.births(f"all/{name}")[1]["pid"] for name in ("b", "a", "c")]
    assert len(set(order) | set(pids)) == 6


def test_rest_for_one_spares_those_before(house: House) -> None:
    pids = started(house, "rest", "rest_for_one", "a", "b", "c")
    os.kill(pids[1], signal.SIGKILL)
    house.await_row("rest/c", state="ready", incarnation=2)
    assert house.row("rest/b")["incarnation"] == 2
    assert house.row("rest/a")["pid"] == pids[0]


def test_a_stopped_one_of_a_group_is_not_started_with_the_others(house: House) -> None:
    pids = started(house, "some", "one_for_all", "a", "b", "c")
    house.stop_child("some/c")
    os.kill(pids[0], signal.SIGKILL)
    house.await_row("some/b", state="ready", incarnation=2)
    assert house.row("some/c")["state"] == "stopped"
    assert house.row("some/c")["incarnation"] == 1


def test_a_group_is_given_up_together_and_its_owner_told_of_each(house: House) -> None:
    started(house, "bad", "one_for_all", "a", intensity=1)
    house.start(
        "bad/b", group="g", strategy="one_for_all", intensity=1, args={"crash_after_ready": True}
    )
    house.await_row("bad/b", state="failed")
    row = house.await_row("bad/a", state="failed")
    assert "bad/b of its group was given up" in row["cause"]

    def told() -> bool:
        return {"bad/a", "bad/b"} <= {one["address"] for one in house.failures()}

    until(told, "the owner hears of both")

"""A worker's progress according to the supervisor, the router and files."""

from typing import Any

import pytest

from actors.coordinator.progress_watch import MACHINE_SECONDS, UNREAD_SECONDS, SeenWorkers
from agiraph.board.progress import WorkerState
from agiraph.core.ids import Address, WorkerId
from agiraph.core.models import EntityState
from agiraph.messages.child import ChildInfo

ADA = WorkerId("ada-1")
NO_HOLD = EntityState()
WAITS = {"doing": EntityState(state="waiting_for_message")}


def row(state: Any, **more: Any) -> ChildInfo:
    return ChildInfo(address=Address("shop-1/ada-1"), kind="worker", state=state, **more)


def seen(process: ChildInfo | None, hold: EntityState = NO_HOLD, unread: int = 0) -> WorkerState:
    return SeenWorkers().state_of(ADA, process, hold, unread, now=100.0)


@pytest.mark.parametrize(
    ("process", "state"),
    [
        (None, "at_work"),
        (row("starting"), "at_work"),
        (row("stopping"), "at_work"),
        (row("backing_off", next_start=101.0), "at_work"),
        (row("ready", doing=EntityState(state="busy", step="bash: make")), "at_work"),
        (row("ready"), "at_work"),
        (row("ready", **WAITS), "waiting"),
        (row("parked"), "parked"),
        (row("stopped"), "stopped"),
        (row("failed"), "ended"),
        (row("exited"), "ended"),
    ],
)
def test_process_is_at_work_unless_it_waits(process: ChildInfo | None, state: str) -> None:
    assert seen(process) == WorkerState(state)  # type: ignore[arg-type]


def test_paused_or_asking_worker_is_held() -> None:
    assert seen(row("parked"), EntityState(state="paused")).is_held
    assert seen(
        row("ready", **WAITS), EntityState(state="waiting_for_human", step="Which one?")
    ).is_held


def test_a_process_may_wait_for_a_machine_for_a_while() -> None:
    workers, lacks = SeenWorkers(), row("backing_off")

    def at(now: float, process: ChildInfo = lacks) -> str:
        return workers.state_of(ADA, process, NO_HOLD, 0, now).process

    assert at(0.0) == "at_work"
    assert at(MACHINE_SECONDS - 1) == "at_work"
    assert at(MACHINE_SECONDS) == "without_machine"
    assert at(MACHINE_SECONDS + 1, row("ready", **WAITS)) == "waiting"
    assert at(MACHINE_SECONDS + 2) == "at_work", "it waits anew"


def test_unread_message_counts_until_a_live_process_had_time_to_read_it() -> None:
    workers, waits = SeenWorkers(), row("ready", **WAITS)

    def has_mail(now: float, unread: int, process: ChildInfo = waits) -> bool:
        return workers.state_of(ADA, process, NO_HOLD, unread, now).has_mail

    assert not has_mail(0.0, 0)
    assert has_mail(1.0, 1)
    assert has_mail(UNREAD_SECONDS, 1)
    assert not has_mail(UNREAD_SECONDS + 1, 1), "it is to wait for the end of the node"
    assert has_mail(UNREAD_SECONDS + 2, 2), "another message has come"
    assert has_mail(1000.0, 2, row("parked")), "a message wakes it"

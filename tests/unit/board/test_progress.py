"""Progress: detection of a standstill, the coordinator's notice, and its consequences."""

from typing import Any

import pytest

from actors.coordinator.board_notifications import notice
from agiraph.board.commands import (
    BlockNode,
    CancelNode,
    Command,
    EndCycle,
    FailNode,
    MoveNode,
    NoteStandstill,
    StopRun,
    UnblockNode,
)
from agiraph.board.progress import (
    MOST_NOTICES,
    CoordinatorState,
    WorkerState,
    commands_after,
    find_standstill,
    lines_of,
)
from agiraph.core.ids import WorkerId
from agiraph.core.models import Standstill
from tests.unit.board.board_driver import BoardDriver

IDLE = CoordinatorState("for events of its board or a message", since=4.0)
ASKS = CoordinatorState("for the human", since=4.0, asks_human=True)


def two_waiting_workers(**terms: Any) -> BoardDriver:
    """Two workers, each of which waits for a message."""
    driver = BoardDriver(**terms)
    driver.busy("a", "ada")
    driver.busy("b", "bob")
    driver.do(BlockNode("a", (), until=600.0))
    driver.do(BlockNode("b", (), until=600.0))
    return driver


def states(driver: BoardDriver, **known: WorkerState) -> dict[WorkerId, WorkerState]:
    """Return the states of the team: live processes, but for those named."""
    return {one.id: known.get(one.name, WorkerState("waiting")) for one in driver.board.team}


def found_on(
    driver: BoardDriver,
    coordinator: CoordinatorState = IDLE,
    next_due: float | None = None,
    **known: WorkerState,
) -> Standstill | None:
    return find_standstill(driver.board, states(driver, **known), coordinator, next_due)


def standstill_of(driver: BoardDriver, **known: Any) -> Standstill:
    found = found_on(driver, **known)
    assert found is not None
    return found


def react(driver: BoardDriver, found: Standstill, *, is_led: bool = True) -> list[type[Command]]:
    commands = commands_after(driver.board, found, is_led=is_led)
    for command in commands:
        driver.do(command)
    return [type(command) for command in commands]


def test_team_whose_members_all_wait_for_a_message_is_at_a_standstill() -> None:
    driver = two_waiting_workers()
    assert lines_of(standstill_of(driver)) == [
        "ada (node 'a') waits for a message since 1970-01-01T00:00:10Z",
        "bob (node 'b') waits for a message since 1970-01-01T00:00:11Z",
        "coordinator waits for events of its board or a message since 1970-01-01T00:00:04Z",
    ]


@pytest.mark.parametrize("process", ["waiting", "parked"])
def test_a_waiting_worker_may_have_a_process_or_not(process: Any) -> None:
    assert found_on(two_waiting_workers(), ada=WorkerState(process))


@pytest.mark.parametrize(
    "state",
    [
        WorkerState("at_work"),
        WorkerState("stopped"),
        WorkerState("waiting", is_held=True),
        WorkerState("parked", is_held=True),
        WorkerState("parked", has_mail=True),
    ],
    ids=["its process starts", "a person stopped it", "asks", "asks without a process", "mail"],
)
def test_a_run_moves_while_one_of_its_workers_can_continue(state: WorkerState) -> None:
    assert found_on(two_waiting_workers(), ada=state) is None


def test_a_run_moves_while_a_worker_is_at_work() -> None:
    driver = two_waiting_workers()
    driver.busy("c", "cyd")
    assert found_on(driver, cyd=WorkerState("at_work")) is None
    driver.done("c")
    assert found_on(driver)


def test_a_run_moves_until_a_timer_or_trigger_is_due() -> None:
    assert found_on(two_waiting_workers(), next_due=10_000.0) is None


def test_requested_time_is_a_timer_and_the_default_timeout_is_not() -> None:
    driver = two_waiting_workers()
    driver.do(UnblockNode("a"))
    driver.do(BlockNode("a", (), until=100.0, is_timer=True))
    assert found_on(driver) is None


def test_moved_node_prevents_a_standstill() -> None:
    driver = two_waiting_workers()
    driver.worker("cyd")
    driver.do(MoveNode("a", worker="cyd", cause="m"))
    assert found_on(driver) is None


def test_run_without_open_nodes_or_between_cycles_is_not_at_a_standstill() -> None:
    driver = two_waiting_workers(mode="infinite")
    assert found_on(driver)
    driver.do(EndCycle("c", "notes", 100.0))
    assert found_on(driver) is None
    driver = two_waiting_workers()
    for node in ("a", "b"):
        driver.do(CancelNode(node))
    assert found_on(driver) is None
    driver = two_waiting_workers()
    driver.do(StopRun("stopped", "enough"))
    assert found_on(driver) is None


def test_pending_nodes_are_listed_with_their_obstacle() -> None:
    driver = two_waiting_workers(max_workers=2)
    driver.node("after", "a")
    driver.node("kept", worker="bob")
    driver.node("free")
    told = lines_of(standstill_of(driver))
    assert [line.partition(" since")[0] for line in told[2:5]] == [
        "node 'after', which no worker has, waits for 'a'",
        "node 'kept', which no worker has, waits for bob, which has node 'b'",
        "node 'free', which no worker has, waits for a free worker",
    ]


def test_a_process_that_has_ended_or_finds_no_machine_is_named() -> None:
    driver = two_waiting_workers()
    driver.do(UnblockNode("a"))
    for process, waits in (("ended", "its process"), ("without_machine", "a machine")):
        for has_mail in (False, True):
            state = WorkerState(process, has_mail=has_mail)  # type: ignore[arg-type]
            assert f"waits for {waits}" in lines_of(standstill_of(driver, ada=state))[0]


def test_the_coordinator_is_notified_twice_and_then_the_run_fails() -> None:
    driver = two_waiting_workers()
    for number in range(1, MOST_NOTICES + 1):
        assert react(driver, standstill_of(driver)) == [NoteStandstill]
        assert driver.board.standstill is not None
        assert driver.board.standstill.notices == number
        assert driver.board.standstill.since == 11.0
    assert react(driver, standstill_of(driver)) == [StopRun]
    assert driver.board.run is not None
    assert driver.board.run.status == "failed"
    assert "ada (node 'a') waits for a message" in (driver.board.run.reason or "")
    assert driver.board.standstill is None


def test_standstill_notices_restart_after_the_coordinator_acted() -> None:
    driver = two_waiting_workers()
    for _ in range(5):
        react(driver, standstill_of(driver))
        driver.do(UnblockNode("a"))
        assert driver.board.standstill is None
        driver.do(BlockNode("a"))
    react(driver, standstill_of(driver))
    assert driver.board.standstill is not None
    assert driver.board.standstill.notices == 1


def test_standstill_notice_names_waiting_entities_and_possible_actions() -> None:
    driver = two_waiting_workers()
    [event] = driver.events(*commands_after(driver.board, standstill_of(driver), is_led=True))
    told = notice(driver.board, event, ())
    assert told is not None
    for words in ("ada (node 'a')", "bob (node 'b')", "send_message", "cancel_node",
                  "assign_worker", "ask_human", "finish", "notice 1 of 2"):  # fmt: skip
        assert words in told


def test_coordinator_that_waits_for_the_human_gets_no_standstill_notice() -> None:
    driver = two_waiting_workers()
    found = standstill_of(driver, coordinator=ASKS)
    assert react(driver, found) == [NoteStandstill]
    assert driver.board.standstill is not None
    assert driver.board.standstill.for_human
    assert react(driver, found) == []
    assert react(driver, standstill_of(driver)) == [NoteStandstill], "the human has answered"


def test_run_without_a_leading_model_ends_waits_for_messages() -> None:
    driver = two_waiting_workers()
    assert react(driver, standstill_of(driver), is_led=False) == [UnblockNode, UnblockNode]
    assert {driver.at(name).status for name in ("a", "b")} == {"running"}


def test_run_without_a_leading_model_fails_nodes_that_cannot_start() -> None:
    driver = BoardDriver(max_workers=1)
    driver.busy("top", "ada")
    driver.node("part", parent="top")
    driver.do(BlockNode("top", ("part",)))
    assert react(driver, standstill_of(driver), is_led=False) == [FailNode]
    assert (driver.at("part").status, driver.at("top").status) == ("failed", "blocked")
    assert found_on(driver) is None, "the wait for it has ended"

"""Progress: when a run stands still, what its coordinator is told, and what follows."""

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
from tests.unit.board.desk import Desk

IDLE = CoordinatorState("for events of its board or a message", since=4.0)
ASKS = CoordinatorState("for the human", since=4.0, asks_human=True)


def both_wait(**terms: Any) -> Desk:
    """Two workers, each of which waits for a message."""
    desk = Desk(**terms)
    desk.busy("a", "ada")
    desk.busy("b", "bob")
    desk.do(BlockNode("a", (), until=600.0))
    desk.do(BlockNode("b", (), until=600.0))
    return desk


def states(desk: Desk, **known: WorkerState) -> dict[WorkerId, WorkerState]:
    """Return the states of the team: live processes, but for those named."""
    return {one.id: known.get(one.name, WorkerState("waiting")) for one in desk.board.team}


def found_on(
    desk: Desk,
    coordinator: CoordinatorState = IDLE,
    next_due: float | None = None,
    **known: WorkerState,
) -> Standstill | None:
    return find_standstill(desk.board, states(desk, **known), coordinator, next_due)


def standstill_of(desk: Desk, **known: Any) -> Standstill:
    found = found_on(desk, **known)
    assert found is not None
    return found


def react(desk: Desk, found: Standstill, *, is_led: bool = True) -> list[type[Command]]:
    commands = commands_after(desk.board, found, is_led=is_led)
    for command in commands:
        desk.do(command)
    return [type(command) for command in commands]


def test_a_team_of_which_everybody_waits_for_a_message_stands_still() -> None:
    desk = both_wait()
    assert lines_of(standstill_of(desk)) == [
        "ada (node 'a') waits for a message since 1970-01-01T00:00:10Z",
        "bob (node 'b') waits for a message since 1970-01-01T00:00:11Z",
        "coordinator waits for events of its board or a message since 1970-01-01T00:00:04Z",
    ]


@pytest.mark.parametrize("process", ["waiting", "parked"])
def test_a_waiting_worker_may_have_a_process_or_not(process: Any) -> None:
    assert found_on(both_wait(), ada=WorkerState(process))


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
    assert found_on(both_wait(), ada=state) is None


def test_a_run_moves_while_a_worker_is_at_work() -> None:
    desk = both_wait()
    desk.busy("c", "cyd")
    assert found_on(desk, cyd=WorkerState("at_work")) is None
    desk.done("c")
    assert found_on(desk)


def test_a_run_moves_until_a_timer_or_trigger_is_due() -> None:
    assert found_on(both_wait(), next_due=10_000.0) is None


def test_a_time_that_a_worker_has_asked_for_is_a_timer_and_the_default_is_none() -> None:
    desk = both_wait()
    desk.do(UnblockNode("a"))
    desk.do(BlockNode("a", (), until=100.0, is_timer=True))
    assert found_on(desk) is None


def test_a_node_that_is_moved_moves() -> None:
    desk = both_wait()
    desk.worker("cyd")
    desk.do(MoveNode("a", worker="cyd", cause="m"))
    assert found_on(desk) is None


def test_a_run_without_open_nodes_or_between_two_cycles_or_at_its_end_does_not_stand_still() -> (
    None
):
    desk = both_wait(mode="infinite")
    assert found_on(desk)
    desk.do(EndCycle("c", "notes", 100.0))
    assert found_on(desk) is None
    desk = both_wait()
    for node in ("a", "b"):
        desk.do(CancelNode(node))
    assert found_on(desk) is None
    desk = both_wait()
    desk.do(StopRun("stopped", "enough"))
    assert found_on(desk) is None


def test_what_cannot_begin_is_named_with_what_it_waits_for() -> None:
    desk = both_wait(max_workers=2)
    desk.node("after", "a")
    desk.node("kept", worker="bob")
    desk.node("free")
    told = lines_of(standstill_of(desk))
    assert [line.partition(" since")[0] for line in told[2:5]] == [
        "node 'after', which no worker has, waits for 'a'",
        "node 'kept', which no worker has, waits for bob, which has node 'b'",
        "node 'free', which no worker has, waits for a free worker",
    ]


def test_a_process_that_has_ended_or_finds_no_machine_is_named() -> None:
    desk = both_wait()
    desk.do(UnblockNode("a"))
    for process, waits in (("ended", "its process"), ("without_machine", "a machine")):
        for has_mail in (False, True):
            state = WorkerState(process, has_mail=has_mail)  # type: ignore[arg-type]
            assert f"waits for {waits}" in lines_of(standstill_of(desk, ada=state))[0]


def test_the_coordinator_is_notified_twice_and_then_the_run_fails() -> None:
    desk = both_wait()
    for number in range(1, MOST_NOTICES + 1):
        assert react(desk, standstill_of(desk)) == [NoteStandstill]
        assert desk.board.standstill is not None
        assert desk.board.standstill.notices == number
        assert desk.board.standstill.since == 11.0
    assert react(desk, standstill_of(desk)) == [StopRun]
    assert desk.board.run is not None
    assert desk.board.run.status == "failed"
    assert "ada (node 'a') waits for a message" in (desk.board.run.reason or "")
    assert desk.board.standstill is None


def test_a_coordinator_that_acts_is_notified_anew_when_the_run_stands_still_again() -> None:
    desk = both_wait()
    for _ in range(5):
        react(desk, standstill_of(desk))
        desk.do(UnblockNode("a"))
        assert desk.board.standstill is None
        desk.do(BlockNode("a"))
    react(desk, standstill_of(desk))
    assert desk.board.standstill is not None
    assert desk.board.standstill.notices == 1


def test_a_notice_names_who_waits_and_what_can_be_done() -> None:
    desk = both_wait()
    [event] = desk.events(*commands_after(desk.board, standstill_of(desk), is_led=True))
    told = notice(desk.board, event, ())
    assert told is not None
    for words in ("ada (node 'a')", "bob (node 'b')", "send_message", "cancel_node",
                  "assign_worker", "ask_human", "finish", "notice 1 of 2"):  # fmt: skip
        assert words in told


def test_a_coordinator_that_waits_for_the_human_is_given_no_notice_and_the_run_lives() -> None:
    desk = both_wait()
    found = standstill_of(desk, coordinator=ASKS)
    assert react(desk, found) == [NoteStandstill]
    assert desk.board.standstill is not None
    assert desk.board.standstill.for_human
    assert react(desk, found) == []
    assert react(desk, standstill_of(desk)) == [NoteStandstill], "the human has answered"


def test_without_a_model_that_leads_a_wait_for_a_message_ends() -> None:
    desk = both_wait()
    assert react(desk, standstill_of(desk), is_led=False) == [UnblockNode, UnblockNode]
    assert {desk.at(name).status for name in ("a", "b")} == {"running"}


def test_without_a_model_that_leads_what_cannot_begin_fails() -> None:
    desk = Desk(max_workers=1)
    desk.busy("top", "ada")
    desk.node("part", parent="top")
    desk.do(BlockNode("top", ("part",)))
    assert react(desk, standstill_of(desk), is_led=False) == [FailNode]
    assert (desk.at("part").status, desk.at("top").status) == ("failed", "blocked")
    assert found_on(desk) is None, "the wait for it has ended"

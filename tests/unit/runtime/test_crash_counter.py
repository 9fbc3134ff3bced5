"""The cause of a crash: the message or the step in hand, if the fault was the process's own."""

import asyncio
import errno
from pathlib import Path

import pytest

from actors.runtime.crash_counter import (
    CrashCounter,
    ProcessNote,
    file_name,
    is_repeated_crash,
    read_note,
)
from actors.supervisor.processes.causes import fault_of
from agiraph.messages.child import ExitCause
from tests.fakes.irregular_files import UNREADABLE

POISON, OTHER, THIRD = "70" * 16, "6f" * 16, "74" * 16


def life(tmp_path: Path, last_end: str = "", *taken: str) -> CrashCounter:
    """Start an incarnation after `last_end`, and handle these messages in it together."""
    attempts = CrashCounter(tmp_path, "shop.ada", 1, last_end)
    for id in taken:
        attempts.begin(id)
    attempts.close()
    return attempts


def test_message_in_hand_at_three_crashes_is_poison(tmp_path: Path) -> None:
    life(tmp_path, "", POISON)
    assert not life(tmp_path, "boom", POISON).is_poison(POISON)
    assert not life(tmp_path, "boom", POISON).is_poison(POISON)
    last = life(tmp_path, "boom")
    assert last.is_poison(POISON)
    last.forget(POISON)
    assert not life(tmp_path, "").is_poison(POISON)


def test_kills_from_outside_are_not_counted(tmp_path: Path) -> None:
    life(tmp_path, "", POISON)
    for _ in range(5):
        assert not life(tmp_path, "", POISON).is_poison(POISON)


def test_acknowledged_message_is_not_blamed(tmp_path: Path) -> None:
    for _ in range(5):
        attempts = life(tmp_path, "boom", OTHER, POISON)
        attempts.done(OTHER)
        attempts.done(POISON)
        attempts.close()
        assert not attempts.is_poison(POISON)
        assert not attempts.is_poison(OTHER)


def test_a_step_without_progress_is_stuck_after_three_own_deaths(tmp_path: Path) -> None:
    assert not life(tmp_path).is_stuck_at("7")
    assert not life(tmp_path, "boom").is_stuck_at("7")
    assert not life(tmp_path, "boom").is_stuck_at("8")
    assert not life(tmp_path, "boom").is_stuck_at("8")
    assert life(tmp_path, "boom").is_stuck_at("8")


def test_a_torn_file_counts_nothing(tmp_path: Path) -> None:
    (tmp_path / "shop.ada.json").write_text("{")
    (tmp_path / "shop.ada.taking").write_bytes(b"short")
    assert not life(tmp_path, "boom").is_stuck_at("1")


def test_faults_are_distinguished_from_kills_and_orderly_ends() -> None:
    def end(kind: str, **about: int) -> str:
        return fault_of(ExitCause.model_validate({"kind": kind, "text": "x", **about}))

    assert fault_of(None) == ""
    assert end("signal", signal=9) == end("signal", signal=15) == ""
    assert end("exit", exit_code=0) == end("exit", exit_code=77) == ""
    assert end("ordered", signal=9) == end("no_space", exit_code=74) == ""
    assert end("signal", signal=11) == end("exit", exit_code=1) == "x"
    assert end("hung", signal=9) == end("out_of_memory", signal=9) == "x"


def test_note_of_an_incarnation_can_be_read_after_its_end(tmp_path: Path) -> None:
    assert read_note(tmp_path, "shop/ada", 2) is None
    attempts = CrashCounter(tmp_path, file_name("shop/ada"), 2, "")
    attempts.doing("busy: bash")
    assert read_note(tmp_path, "shop/ada", 2) == ProcessNote(2, False, "busy: bash")
    assert read_note(tmp_path, "shop/ada", 3) is None
    attempts.ready()
    attempts.doing("ü" * 400)
    noted = read_note(tmp_path, "shop/ada", 2)
    assert noted is not None
    assert noted.is_ready
    assert noted.step.startswith("üüü")
    attempts.doing("")
    assert read_note(tmp_path, "shop/ada", 2) == ProcessNote(2, True, "")


@pytest.mark.parametrize("kind", UNREADABLE)
def test_irregular_marker_is_replaced(tmp_path: Path, kind: str) -> None:
    UNREADABLE[kind](tmp_path / "shop.ada.taking")
    attempts = CrashCounter(tmp_path, file_name("shop/ada"), 2, "")
    attempts.doing("busy: bash")
    assert read_note(tmp_path, "shop/ada", 2) == ProcessNote(2, False, "busy: bash")
    attempts.close()


def test_noted_step_does_not_hide_the_received_message(tmp_path: Path) -> None:
    first = CrashCounter(tmp_path, "shop.ada", 1, "")
    first.doing("busy: bash")
    first.begin(POISON)
    first.begin(OTHER)
    first.doing("busy: grep")
    second = CrashCounter(tmp_path, "shop.ada", 2, "it broke down")
    assert second._counts == {POISON: 1, OTHER: 1}


def test_process_that_only_noted_steps_has_received_no_message(tmp_path: Path) -> None:
    CrashCounter(tmp_path, "shop.ada", 1, "").doing("busy: bash")
    assert CrashCounter(tmp_path, "shop.ada", 2, "it broke down")._counts == {}


def test_repeated_crash_over_one_message_is_recognized_from_the_files(tmp_path: Path) -> None:
    known = []
    for last_end in ("", "boom", "boom", "boom"):
        life(tmp_path, last_end, POISON)
        known.append(is_repeated_crash(tmp_path, "shop/ada"))
    assert known == [False, True, True, False]
    life(tmp_path, "", OTHER)
    assert not is_repeated_crash(tmp_path, "shop/ada")
    life(tmp_path)
    assert not is_repeated_crash(tmp_path, "shop/ada")


def test_waiting_message_is_not_blamed(tmp_path: Path) -> None:
    attempts = life(tmp_path, "", OTHER, POISON)
    attempts.end(OTHER)
    attempts.close()
    second = life(tmp_path, "boom")
    assert (second.is_suspect(POISON), second.is_suspect(OTHER)) == (True, False)


def test_messages_in_hand_at_a_crash_are_handled_alone_until_done(tmp_path: Path) -> None:
    assert life(tmp_path, "", OTHER, POISON).together([OTHER, POISON, THIRD]) == 3
    attempts = life(tmp_path, "boom")
    assert attempts.together([OTHER, POISON]) == 1
    assert attempts.together([THIRD, OTHER]) == 1
    attempts.done(OTHER)
    assert attempts.together([THIRD, OTHER, POISON]) == 2
    attempts.close()


async def test_suspect_message_waits_until_no_other_is_handled(tmp_path: Path) -> None:
    life(tmp_path, "", POISON)

    attempts = life(tmp_path, "boom", OTHER)
    await attempts.turn_of(THIRD)
    waiting = asyncio.ensure_future(attempts.turn_of(POISON))
    await asyncio.sleep(0)
    assert not waiting.done()
    attempts.end(OTHER)
    async with asyncio.timeout(5):
        await waiting
    attempts.close()


def test_full_disk_does_not_prevent_receiving_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = life(tmp_path)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("actors.runtime.crash_counter.os.pwrite", full)
    attempts.begin(POISON)
    attempts.doing("busy")
    attempts.done(POISON)
    attempts.close()

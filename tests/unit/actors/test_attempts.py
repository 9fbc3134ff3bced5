"""Who is blamed for a process's death: the message or the step it was at, if it was its own."""

import errno
from pathlib import Path

import pytest

from actors.attempts import Attempts, file_name, last_step
from actors.supervisor.causes import own_fault
from agiraph.messages import Cause

POISON, OTHER = b"p" * 16, b"o" * 16


def life(tmp_path: Path, last_end: str = "", *taken: bytes) -> Attempts:
    """Begin a life after `last_end`, and take these messages in it."""
    attempts = Attempts(tmp_path, "shop.ada", last_end)
    for id_ in taken:
        attempts.taking(id_)
    attempts.close()
    return attempts


def test_three_own_deaths_with_a_message_in_hand_make_it_poison(tmp_path: Path) -> None:
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


def test_what_is_done_is_not_blamed(tmp_path: Path) -> None:
    for _ in range(5):
        attempts = life(tmp_path, "boom", OTHER, POISON)
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


def test_own_faults_are_told_from_kills_and_orderly_ends() -> None:
    def end(kind: str, **about: int) -> str:
        return own_fault(Cause.model_validate({"kind": kind, "text": "x", **about}))

    assert own_fault(None) == ""
    assert end("signal", signal=9) == end("signal", signal=15) == ""
    assert end("exit", exit_code=0) == end("exit", exit_code=77) == ""
    assert end("ordered", signal=9) == end("no_space", exit_code=74) == ""
    assert end("signal", signal=11) == end("exit", exit_code=1) == "x"
    assert end("hung", signal=9) == end("out_of_memory", signal=9) == "x"


def test_what_an_incarnation_does_can_be_read_when_it_is_dead(tmp_path: Path) -> None:
    assert last_step(tmp_path, "shop/ada", 2) is None
    attempts = Attempts(tmp_path, file_name("shop/ada"), "")
    attempts.doing(2, "busy: bash")
    assert last_step(tmp_path, "shop/ada", 2) == "busy: bash"
    assert last_step(tmp_path, "shop/ada", 3) is None
    attempts.doing(2, "ü" * 400)
    noted = last_step(tmp_path, "shop/ada", 2)
    assert noted is not None
    assert noted.startswith("üüü")
    attempts.doing(2, "")
    assert last_step(tmp_path, "shop/ada", 2) == ""


def test_a_step_that_was_noted_does_not_hide_which_message_was_taken(tmp_path: Path) -> None:
    first = Attempts(tmp_path, "shop.ada", "")
    first.doing(1, "busy: bash")
    first.taking(POISON)
    first.doing(1, "busy: grep")
    second = Attempts(tmp_path, "shop.ada", "it broke down")
    assert second._counts == {POISON.hex(): 1}


def test_a_process_that_only_noted_steps_has_taken_no_message(tmp_path: Path) -> None:
    Attempts(tmp_path, "shop.ada", "").doing(1, "busy: bash")
    assert Attempts(tmp_path, "shop.ada", "it broke down")._counts == {}


def test_a_full_disk_keeps_nobody_from_taking_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = life(tmp_path)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("actors.attempts.os.pwrite", full)
    attempts.taking(POISON)
    attempts.doing(1, "busy")
    attempts.done(POISON)
    attempts.close()

"""The register on a full disk: orders wait, events are written later."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agiraph.core.ids import Address
from agiraph.messages.child import ChildSpec
from agiraph.readmodel.child_register import ChildRegister, DesiredStateSet, ProcessStarted

ADA = Address("shop/ada")

Fill = Callable[[bool], None]


@pytest.fixture
def fill(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fill]:
    """Return a function that fills the disk, or makes room."""

    def full(fd: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:

        def act(is_full: bool) -> None:
            patch.undo()
            if is_full:
                patch.setattr("agiraph.storage.journal.append_all", full)

        yield act


def test_event_counts_at_once_and_is_written_with_the_next(tmp_path: Path, fill: Fill) -> None:
    path = tmp_path / "children.journal"
    register = ChildRegister(path)
    register.declare(ChildSpec(address=ADA, kind="worker"))
    fill(True)
    register.note(ProcessStarted(address=ADA, pid=7, started_at=1.0, boot="b"))
    register.rest(DesiredStateSet(address=ADA, desired="parked", cause=None))
    assert register.table.rows[ADA].desired == "parked"
    with pytest.raises(OSError, match="No space"):
        register.allot(ADA)
    assert register.table.next_incarnation(ADA) == 1, "what was not written does not count"
    fill(False)
    assert register.allot(ADA) == 1
    register.close()
    again = ChildRegister(path)
    assert again.table == register.table
    again.close()


def test_a_child_that_is_forgotten_on_a_full_disk_stays_forgotten(
    tmp_path: Path, fill: Fill
) -> None:
    path = tmp_path / "children.journal"
    register = ChildRegister(path)
    register.declare(ChildSpec(address=ADA, kind="worker"))
    fill(True)
    register.forget(ADA)
    assert ADA not in register.table.rows
    fill(False)
    register.note(DesiredStateSet(address=ADA, desired="stopped", cause=None))
    register.close()
    again = ChildRegister(path)
    assert ADA not in again.table.rows
    again.close()

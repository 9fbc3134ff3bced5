"""Mailboxes on disk: across restarts, versions, damage, full disks; and the file stays small."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.irregular_files import UNREADABLE
from transport import mailbox_file
from transport.errors import NotStored, StoreRefused
from transport.mailbox_file import Durability, check_durability
from transport.mailboxes import COMPACT_FROM, DUPLICATE, FULL, Mailbox, Mailboxes
from transport.stored_mailboxes import StoredMailboxes


def ident(n: int) -> bytes:
    """Return the n-th id."""
    return n.to_bytes(16, "big")


class MailboxFolder:
    """A folder with a file of mailboxes that is opened again and again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "system" / "mailboxes.db"
        self.logged: list[str] = []
        self._open: StoredMailboxes | None = None

    def open(self, **options: int) -> StoredMailboxes:
        self.close()
        self._open = StoredMailboxes(self.path, log=self.logged.append, **options)  # type: ignore[arg-type]
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.stat().st_size for file in self.path.parent.iterdir())


@pytest.fixture
def store_file(tmp_path: Path) -> Iterator[MailboxFolder]:
    store_file = MailboxFolder(tmp_path)
    yield store_file
    store_file.close()


def waiting(boxes: StoredMailboxes, address: str) -> list[tuple[int, bytes]]:
    """Return number and blob of the waiting messages."""
    return [(int.from_bytes(one.id, "big"), one.blob) for one in boxes.undone(address, 10_000)]


def test_committed_messages_are_kept_in_order_after_a_restart(store_file: MailboxFolder) -> None:
    boxes = store_file.open()
    for n in (3, 1, 2):
        boxes.accept("bob", ident(n), b"%d" % n)
    boxes.accept("eve", ident(3), b"for eve")
    boxes.commit()
    boxes.accept("bob", ident(9), b"never promised")
    boxes = store_file.open()
    assert waiting(boxes, "bob") == [(3, b"3"), (1, b"1"), (2, b"2")]
    assert waiting(boxes, "eve") == [(3, b"for eve")]
    assert boxes.depths() == {"bob": (3, 3), "eve": (1, 7)}
    assert boxes.accept("bob", ident(4), b"4") > boxes.undone("bob", 9)[2].position


def test_acknowledged_messages_stay_known_after_a_restart(store_file: MailboxFolder) -> None:
    boxes = store_file.open()
    for n in range(5):
        boxes.accept("bob", ident(n), b"x")
    boxes.commit()
    for n in (1, 2, 4):
        assert boxes.done("bob", ident(n))
    boxes.commit()
    boxes = store_file.open()
    assert [n for n, _ in waiting(boxes, "bob")] == [0, 3]
    assert not boxes.done("bob", ident(1))
    assert boxes.accept("bob", ident(1), b"x") == DUPLICATE
    assert boxes.accept("bob", ident(3), b"x") == DUPLICATE
    assert boxes.accept("eve", ident(1), b"x") > 0


def test_message_acknowledged_before_its_commit_is_known_afterwards(
    store_file: MailboxFolder,
) -> None:
    boxes = store_file.open()
    boxes.accept("bob", ident(1), b"x")
    boxes.done("bob", ident(1))
    boxes.commit()
    boxes = store_file.open()
    assert boxes.depths() == {}
    assert boxes.accept("bob", ident(1), b"x") == DUPLICATE


def test_the_last_done_ids_are_remembered_and_the_rest_pruned(
    store_file: MailboxFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox_file, "PRUNE_FROM", 4)
    boxes = store_file.open(known_done=10)
    for n in range(100):
        boxes.accept("bob", ident(n), b"x")
        boxes.commit()
        boxes.done("bob", ident(n))
    boxes.commit()
    boxes = store_file.open(known_done=10)
    assert boxes.accept("bob", ident(90), b"x") == DUPLICATE
    assert boxes.accept("bob", ident(89), b"x") > 0
    store_file.close()
    with sqlite3.connect(store_file.path) as db:
        assert db.execute("SELECT count(*) FROM done").fetchone()[0] < 16
    db.close()


def test_mailbox_bounds_apply_across_a_restart(store_file: MailboxFolder) -> None:
    boxes = store_file.open(max_messages=2, max_bytes=10)
    boxes.accept("bob", ident(1), bytes(6))
    boxes.commit()
    boxes = store_file.open(max_messages=2, max_bytes=10)
    assert boxes.accept("bob", ident(2), bytes(5)) == FULL
    assert boxes.accept("bob", ident(2), bytes(4)) > 0
    assert boxes.accept("bob", ident(3), b"") == FULL


def test_messages_beyond_the_memory_are_read_from_the_file(store_file: MailboxFolder) -> None:
    boxes = store_file.open(memory_bytes=10)
    for n in range(5):
        boxes.accept("bob", ident(n), b"%d" % n * 8)
        boxes.commit()
    assert waiting(boxes, "bob") == [(n, b"%d" % n * 8) for n in range(5)]
    for n in range(5):
        boxes.done("bob", ident(n))
    boxes.commit()
    assert store_file.open().depths() == {}


def test_messages_of_a_removed_address_are_deleted_from_the_file(store_file: MailboxFolder) -> None:
    boxes = store_file.open()
    for address in ("bob", "eve"):
        boxes.accept(address, ident(1), b"x")
    boxes.commit()
    boxes.accept("bob", ident(2), b"x")
    assert boxes.discard("bob") == 2
    assert boxes.discard("nobody") == 0
    boxes.commit()
    boxes = store_file.open()
    assert boxes.depths() == {"eve": (1, 1)}
    assert boxes.accept("bob", ident(1), b"x") > 0


def test_full_disk_rolls_back_the_batch_and_is_logged_once(store_file: MailboxFolder) -> None:
    boxes = store_file.open()
    boxes.accept("bob", ident(1), b"kept")
    boxes.accept("bob", ident(2), b"kept")
    boxes.commit()
    pages = boxes._file._db.execute("PRAGMA page_count").fetchone()[0]
    boxes._file._db.execute(f"PRAGMA max_page_count = {pages}")
    boxes.done("bob", ident(1))
    for n in (3, 4):
        boxes.accept("eve", ident(n), bytes(100_000))
        with pytest.raises(NotStored, match="full") as error:
            boxes.commit()
        assert error.value.taken_back == {("eve", ident(n))}
    assert boxes.depths() == {"bob": (1, 4)}
    boxes.commit()  # acknowledged messages need no room
    boxes._file._db.execute("PRAGMA max_page_count = 1000000")
    assert boxes.accept("eve", ident(3), bytes(100_000)) > 0
    boxes.commit()
    assert len(store_file.logged) == 1
    boxes = store_file.open()
    assert boxes.depths() == {"bob": (1, 4), "eve": (1, 100_000)}


def test_a_corrupt_file_is_moved_aside_whole_and_named_in_the_log(
    store_file: MailboxFolder,
) -> None:
    noise = b"this is no database " * 1000
    store_file.path.parent.mkdir()
    for round_ in (1, 2):
        store_file.close()
        store_file.path.write_bytes(noise)
        boxes = store_file.open()
        assert boxes.depths() == {}
        aside = store_file.path.with_name(f"mailboxes.db.corrupt-{round_}")
        assert aside.read_bytes() == noise
        assert aside.name in store_file.logged[-1]
        assert len(store_file.logged) == round_


def test_a_damaged_page_is_found_when_the_file_is_opened(store_file: MailboxFolder) -> None:
    boxes = store_file.open()
    for n in range(500):
        boxes.accept("bob", ident(n), bytes(100))
    boxes.commit()
    store_file.close()
    data = bytearray(store_file.path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\xaa" * 4096
    store_file.path.write_bytes(data)
    assert store_file.open().depths() == {}
    assert "corrupt-1" in store_file.logged[0]
    assert store_file.path.with_name("mailboxes.db.corrupt-1").read_bytes() == bytes(data)


def test_a_file_cut_to_nothing_keeps_its_log(store_file: MailboxFolder) -> None:
    store_file.path.parent.mkdir()
    store_file.path.write_bytes(b"")
    wal = store_file.path.with_name("mailboxes.db-wal")
    wal.write_bytes(b"what came last")
    store_file.open()
    aside = store_file.path.with_name("mailboxes.db.corrupt-1-wal")
    assert aside.read_bytes() == b"what came last"


def test_a_file_has_one_owner_and_is_private(store_file: MailboxFolder) -> None:
    store_file.open()
    with pytest.raises(StoreRefused, match="locked"):
        StoredMailboxes(store_file.path)
    assert {file.stat().st_mode & 0o077 for file in store_file.path.parent.iterdir()} == {0}
    assert store_file.path.parent.stat().st_mode & 0o077 == 0


def test_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "system").write_text("a file")
    with pytest.raises(StoreRefused, match=r"mailboxes\.db"):
        StoredMailboxes(tmp_path / "system" / "mailboxes.db")


def test_unknown_durability_is_refused_with_the_known_ones() -> None:
    assert [check_durability(one) for one in ("full", "normal")] == ["full", "normal"]
    with pytest.raises(StoreRefused, match="full, normal"):
        check_durability("sometimes")


@pytest.mark.parametrize(("durability", "syncs"), [("full", 2), ("normal", 0)])
def test_full_durability_syncs_the_log_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability, syncs: int
) -> None:
    boxes = StoredMailboxes(tmp_path / "mailboxes.db", durability=durability)
    synced: list[str] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.readlink(f"/dev/fd/{fd}")))
    for id_ in (bytes(16), bytes(15) + b"1"):
        boxes.accept("bob", id_, b"hello")
        boxes.commit()
        boxes.sync()
    assert synced == [str(tmp_path / "mailboxes.db-wal")] * syncs
    boxes.close()


def test_file_stays_small_during_fifty_thousand_messages(store_file: MailboxFolder) -> None:
    boxes = store_file.open(known_done=10_000)
    batch = 250
    before: list[bytes] = []
    for start in range(0, 50_000, batch):
        for id_ in before:
            boxes.done("bob", id_)
        before = [ident(n) for n in range(start, start + batch)]
        for id_ in before:
            boxes.accept("bob", id_, bytes(200))
        boxes.commit()
    assert store_file.size < 8 * 1024 * 1024
    store_file.close()
    assert store_file.size < 1024 * 1024


def test_file_shrinks_after_a_flood(
    store_file: MailboxFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox_file, "TIDY_EVERY", 4)
    boxes = store_file.open()
    for n in range(1_000):
        boxes.accept("bob", ident(n), bytes(16_000))
    boxes.commit()
    assert store_file.size > 16_000_000
    for n in range(1_000):
        boxes.done("bob", ident(n))
    for n in range(1_000, 1_040):
        boxes.commit()
        boxes.accept("bob", ident(n), b"")
    store_file.close()
    assert store_file.size < 6_000_000


def test_message_accepted_again_after_its_removal_is_queued_once() -> None:
    box = Mailbox()
    box.put(1, ident(1), 1, b"x")
    box.take(ident(1))
    box.put(2, ident(1), 1, b"x")
    assert [entry.position for _, entry in box.following(10, 0)] == [2]


def test_order_is_kept_during_thousands_of_messages() -> None:
    boxes = Mailboxes()
    for n in range(4 * COMPACT_FROM):
        boxes.accept("bob", ident(n), b"x")
    for n in range(3 * COMPACT_FROM):
        boxes.done("bob", ident(n))
    found = [one.id for one in boxes.undone("bob", 10_000)]
    assert found == [ident(n) for n in range(3 * COMPACT_FROM, 4 * COMPACT_FROM)]


@pytest.mark.parametrize("kind", UNREADABLE)
def test_irregular_file_is_refused(store_file: MailboxFolder, kind: str) -> None:
    store_file.path.parent.mkdir(parents=True, exist_ok=True)
    UNREADABLE[kind](store_file.path)
    with pytest.raises(StoreRefused, match=r"mailboxes\.db cannot be opened: "):
        store_file.open()

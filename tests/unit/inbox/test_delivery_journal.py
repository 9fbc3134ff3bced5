"""The ledger: its records survive, also when a long journal became one record."""

from pathlib import Path

import pytest

from agiraph.core.errors import Corrupt
from agiraph.inbox.channels import delivery_journal
from agiraph.inbox.channels.delivery_journal import DeliveryJournal
from tests.unit.notifications.notices import notice, webhook


def filled(path: Path) -> DeliveryJournal:
    """Return a ledger with notices that wait, went out and were given up."""
    kept = DeliveryJournal(path)
    kept.write({"type": "opened", "channels": ["phone"], "reads_events": False, "thread": 0})
    for number in range(4):
        told = notice(f"n{number}", options=("a", "b"))
        record = kept.queue.noticing(told, {"phone": webhook()}, 5.0, {"thread": number})
        assert record is not None
        kept.write(record)
    first, second, *_ = kept.queue.deliveries
    kept.write({"type": "delivered", "id": first, "at": 6.0})
    kept.write({"type": "dead", "id": second, "error": "503", "at": 7.0})
    kept.write({"type": "away", "at": 8.0, "until": None, "channel": "phone"})
    return kept


@pytest.mark.parametrize("long", [3, 2000])
def test_delivery_state_is_restored_after_a_restart(
    tmp_path: Path, long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_journal, "LONG", long)
    path = tmp_path / "channels.jsonl"
    kept = filled(path)
    before = kept.queue.state()
    kept.close()
    for _ in range(2):
        again = DeliveryJournal(path)
        assert again.queue.state() == before
        again.close()
    assert (len(path.read_text().splitlines()) == 1) == (long == 3)
    last = DeliveryJournal(path)
    last.write({"type": "back", "at": 9.0})
    last.close()
    last = DeliveryJournal(path)
    assert last.queue.away is None
    last.close()


def test_unused_journal_creates_no_file(tmp_path: Path) -> None:
    kept = DeliveryJournal(tmp_path / "channels.jsonl")
    kept.close()
    assert list(tmp_path.iterdir()) == []


def test_a_record_of_another_kind_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "channels.jsonl"
    kept = filled(path)
    kept._journal.append({"type": "nonsense"})  # type: ignore[union-attr]
    kept.close()
    with pytest.raises(Corrupt, match="record 9 is none of a channel"):
        DeliveryJournal(path)

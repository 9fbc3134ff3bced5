"""`agiraph doctor` names a journal that was cut between two records, if events prove it."""

from pathlib import Path

import pytest

from agiraph.core.turns import JsonObject
from agiraph.storage.home import Home
from agiraph.storage.journal import encode_record
from cli.doctor_checks.check import DoctorCheck, DoctorContext
from cli.doctor_checks.damage import check_ends

RUN = "20261126-222235-5bf5e5"


def checked(home: Path, records: list[JsonObject], keys: list[str]) -> DoctorCheck:
    agent = Home(home).agent("shop-1")
    journal = agent.run(RUN).journal
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_bytes(b"".join(map(encode_record, records)))
    events = [{"seq": n, "key": key} for n, key in enumerate(keys, start=1)]
    agent.events.write_bytes(b"".join(map(encode_record, events)))
    return check_ends(DoctorContext(Home(home), {}))


STARTED: JsonObject = {"type": "run.started", "epoch": "e1"}
OTHER: JsonObject = {"type": "node.created"}
KEYS = [f"board:{RUN}.e1:{place}:0" for place in range(4)]


def test_a_journal_with_all_records_of_its_events_is_whole(tmp_path: Path) -> None:
    assert checked(tmp_path, [STARTED, OTHER, OTHER, OTHER], [*KEYS, ""]).status == "ok"


@pytest.mark.parametrize("left", range(4))
def test_a_journal_that_was_cut_between_records_is_named(tmp_path: Path, left: int) -> None:
    check = checked(tmp_path, [STARTED, OTHER, OTHER, OTHER][:left], KEYS)
    assert check.status == "warn"
    assert str(Home(tmp_path).agent("shop-1").run(RUN).journal) in check.detail
    assert f"has {left} records" in check.detail
    assert "record 4" in check.detail
    assert check.advice


def test_events_of_another_epoch_or_run_prove_nothing(tmp_path: Path) -> None:
    restored: JsonObject = {"type": "epoch.began", "epoch": "e2"}
    assert checked(tmp_path, [STARTED, restored], KEYS).status == "ok"
    assert checked(tmp_path, [STARTED], [f"board:other.e1:{n}:0" for n in range(9)]).status == "ok"
    assert checked(tmp_path, [STARTED], ["", "x", "board:a:b:c"]).status == "ok"

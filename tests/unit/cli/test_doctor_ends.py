"""`agiraph doctor` names journals and event logs that were cut between two records."""

from pathlib import Path

import pytest

from agiraph.agent.conversation import Conversation
from agiraph.agent.records import InputReceived, ModelAnswered, StateChanged
from agiraph.core.ids import WorkerId
from agiraph.core.turns import JsonObject
from agiraph.storage.home import Home
from agiraph.storage.journal import encode_record
from cli.doctor_checks.check import DoctorCheck, DoctorContext
from cli.doctor_checks.ends import check_ends

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


# --- conversations and event logs ----------------------------------------------------------------

ADA = "ada-1a2b3c"


class RestingAgent:
    """An agent at rest, whose coordinator and worker have each answered three times."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.agent = self.home.agent("shop-1")
        self.worker = self.agent.run(RUN).worker(WorkerId(ADA)).conversation
        self.keys = list[str]()
        for path, address in (
            (self.agent.conversation, "shop-1/coordinator"),
            (self.worker, f"shop-1/{ADA}"),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.answer(path, address)
        self.record()

    def answer(self, path: Path, address: str) -> None:
        conversation = Conversation(path)
        for number in range(3):
            conversation.append(StateChanged(what="away", ts=1.0))
            conversation.append(InputReceived(content="Go on", from_name="runtime", ts=2.0))
            conversation.append(ModelAnswered(text=f"Answer {number}", model="a/b", ts=3.0))
            place = conversation.transcript.place
            self.keys += [f"{address}:model.answered:{place}", f"{address}:tool.called:{place}.0"]
        conversation.close()

    def record(self, keys: list[str] | None = None) -> None:
        events = enumerate(self.keys if keys is None else keys, start=1)
        self.agent.events.write_bytes(
            b"".join(encode_record({"seq": n, "key": key}) for n, key in events)
        )

    def check(self) -> DoctorCheck:
        return check_ends(DoctorContext(self.home, {}))


def cut(path: Path, left: int) -> int:
    """Leave the first records of a journal; return how many it had."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:left]))
    return len(lines)


def test_conversations_with_all_answers_of_the_events_are_whole(tmp_path: Path) -> None:
    assert RestingAgent(tmp_path).check().status == "ok"


@pytest.mark.parametrize("left", range(9))
@pytest.mark.parametrize("is_worker", [False, True])
def test_a_conversation_that_was_cut_between_records_is_named(
    tmp_path: Path, left: int, *, is_worker: bool
) -> None:
    cut_agent = RestingAgent(tmp_path)
    path = cut_agent.worker if is_worker else cut_agent.agent.conversation
    assert cut(path, left) == 10
    check = cut_agent.check()
    assert check.status == "warn"
    assert f"{path} has lost its end" in check.detail
    assert "step 6" in check.detail


@pytest.mark.parametrize("left", range(12))
def test_an_event_log_that_was_cut_between_records_is_named(tmp_path: Path, left: int) -> None:
    cut_agent = RestingAgent(tmp_path)
    cut_agent.record(cut_agent.keys[:left])
    check = cut_agent.check()
    if left == 11:  # without the event of the last call, which may not have begun
        assert check.status == "ok"
    else:
        assert check.status == "warn"
        assert check.detail.startswith(f"{cut_agent.agent.events} ends before ")


def test_a_log_of_which_only_the_end_is_read_proves_nothing_about_an_old_worker(
    tmp_path: Path,
) -> None:
    cut_agent = RestingAgent(tmp_path)
    events = [
        {"seq": 5000 + n, "key": key} for n, key in enumerate(cut_agent.keys) if ADA not in key
    ]
    cut_agent.agent.events.write_bytes(b"".join(map(encode_record, events)))
    assert cut_agent.check().status == "ok"


def test_a_conversation_that_continued_after_a_loss_has_an_epoch_of_its_own(tmp_path: Path) -> None:
    cut_agent = RestingAgent(tmp_path)
    cut(cut_agent.worker, 5)
    with cut_agent.worker.open("ab") as file:
        file.write(encode_record({"kind": "epoch.began", "epoch": "ee", "after": "", "ts": 1.0}))
        file.write(encode_record({"kind": "noted", "what": "paused", "ts": 1.0}))
    assert cut_agent.check().status == "ok"


def test_the_log_of_a_home_in_use_may_be_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_agent = RestingAgent(tmp_path)
    cut_agent.record(cut_agent.keys[:4])
    monkeypatch.setattr("cli.doctor_checks.ends.is_held", lambda home: True)
    assert cut_agent.check().status == "ok"

"""Epochs: the keys of steps, also after a journal lost its end."""

import json
import shutil
from pathlib import Path

import pytest

from agiraph.agent.conversation import Conversation
from agiraph.agent.event_replay import RECORDS_REPLAYED, replayed_events
from agiraph.agent.records import (
    CallFinished,
    CallStarted,
    InputReceived,
    ModelAnswered,
    StateChanged,
)
from agiraph.core.errors import Corrupt
from agiraph.core.ids import new_epoch
from agiraph.core.turns import ToolCall

LIST = ToolCall(id="c1", name="bash", arguments={"command": "ls -l"})
REMOVE = ToolCall(id="c1", name="bash", arguments={"command": "rm -rf /data"})
HEARD = InputReceived(content="Go on", from_name="board", ts=1.0)


@pytest.fixture(autouse=True)
def epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let epochs be random, as they are."""
    monkeypatch.setattr("agiraph.agent.conversation.new_epoch", new_epoch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "conversation.jsonl"


def said(call: ToolCall) -> ModelAnswered:
    return ModelAnswered(tool_calls=(call,), model="a/b", ts=2.0)


def done(conversation: Conversation) -> None:
    conversation.append(
        CallStarted(call_id="c1", name="bash", ts=3.0),
        CallFinished(call_id="c1", name="bash", content="out", ts=4.0),
    )


def keys_of(conversation: Conversation) -> list[str]:
    return [opened.key for opened in conversation.transcript.open_calls]


def damaged_after(path: Path, records: int) -> None:
    """Let a bit of the record behind so many records be another one."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[records] = lines[records].replace(b'"kind":"', b'"kinb":"', 1)
    path.write_bytes(b"".join(lines))


def restore(path: Path) -> None:
    """Follow the note: continue with the whole records."""
    with pytest.raises(Corrupt, match="mv "):
        Conversation(path)
    [good] = path.parent.glob("*.good-*")
    shutil.move(good, path)


def test_repeated_position_after_a_loss_gets_new_keys(path: Path) -> None:
    lost = Conversation(path)
    lost.append(HEARD, HEARD, said(LIST))
    keys = keys_of(lost)
    done(lost)
    lost.close()
    damaged_after(path, 3)
    restore(path)
    again = Conversation(path)
    assert again.transcript.position == 2
    again.append(said(REMOVE))
    assert again.transcript.position == 3
    assert set(keys_of(again)).isdisjoint(keys)
    again.close()


def test_step_begun_before_the_loss_keeps_its_key_after_restarts(path: Path) -> None:
    lost = Conversation(path)
    lost.append(HEARD, said(LIST))
    keys, place = keys_of(lost), lost.transcript.place
    done(lost)
    lost.close()
    damaged_after(path, 3)
    restore(path)
    for _ in range(2):
        again = Conversation(path)
        assert (keys_of(again), again.transcript.place) == (keys, place)
        again.close()


def test_two_restores_of_the_same_file_have_different_epochs(path: Path) -> None:
    lost = Conversation(path)
    lost.append(HEARD, HEARD)
    lost.close()
    damaged_after(path, 2)
    restore(path)
    kept = path.read_bytes()
    places = set()
    for _ in range(2):
        path.write_bytes(kept)
        again = Conversation(path)
        again.append(HEARD)
        places.add(again.transcript.place)
        again.close()
    assert len(places) == 2


def test_a_journal_without_an_epoch_opens_and_begins_one_with_the_next_record(path: Path) -> None:
    lines = [one.model_dump(mode="json") for one in (HEARD, said(LIST))]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    old = Conversation(path)
    assert (keys_of(old), old.transcript.place) == (["2.0"], "2")
    done(old)
    old.append(said(REMOVE))
    [key] = keys_of(old)
    assert key.endswith("-5.0")
    assert len(key) == 32 + len("-5.0")
    old.close()
    again = Conversation(path)
    assert keys_of(again) == [key]
    told = [one.key for one in replayed_events(again.lately(RECORDS_REPLAYED))]
    assert told[:2] == ["2", "2.0"]
    assert told[-1] == key.partition(".")[0]
    again.close()


def test_epoch_record_does_not_advance_the_position(path: Path) -> None:
    conversation = Conversation(path)
    assert conversation.place(1).endswith("-1")
    conversation.append(HEARD, StateChanged(what="away", ts=2.0), said(LIST))
    assert conversation.transcript.position == 2
    assert conversation.place(0) == conversation.transcript.place
    conversation.close()


def test_each_answer_has_an_id_for_its_possible_message(path: Path) -> None:
    conversation = Conversation(path)
    first, second = (ModelAnswered(text="The plan has ended.", ts=3.0) for _ in range(2))
    conversation.append(HEARD, first, second)
    assert conversation.transcript.said_message == second.message != first.message
    told = [one.data["message"] for one in replayed_events(conversation.lately(2))]
    assert told == [first.message, second.message]
    conversation.close()
    again = Conversation(path)
    assert again.transcript.said_message == second.message
    again.close()

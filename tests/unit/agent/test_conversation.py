"""A conversation's records: written at once or later."""

from pathlib import Path

from agiraph.agent.conversation import Conversation
from agiraph.agent.records import InputReceived

HEARD = InputReceived(content="Go on", from_name="runtime", ts=1.0)


def test_written_record_applies_at_once_and_callbacks_wait_for_the_sync(
    tmp_path: Path,
) -> None:
    conversation, done = Conversation(tmp_path / "conversation.jsonl"), list[str]()
    conversation.when_recorded(lambda: done.append("first"))
    conversation.write(HEARD)
    assert len(conversation.transcript.turns) == 1
    assert done == []
    assert len(Conversation(conversation.path).transcript.turns) == 1, "a killed process loses none"
    conversation.sync()
    assert done == ["first"]
    conversation.when_recorded(lambda: done.append("second"))
    conversation.sync()
    assert done == ["first"], "nothing was written since"


def test_append_syncs_earlier_writes(tmp_path: Path) -> None:
    conversation, done = Conversation(tmp_path / "conversation.jsonl"), list[str]()
    conversation.when_recorded(lambda: done.append("first"))
    conversation.write(HEARD)
    conversation.append(HEARD)
    assert done == ["first"]
    assert len(Conversation(conversation.path).transcript.turns) == 2

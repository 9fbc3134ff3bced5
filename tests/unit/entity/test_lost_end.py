"""A conversation that has lost its end: its open calls are answered, and no id comes again."""

from pathlib import Path
from typing import Any

import pytest

from actors.runtime.crash_counter import CrashCounter
from agiraph.agent.records import CallStarted, InputReceived, ModelAnswered
from agiraph.core.ids import new_epoch
from agiraph.core.turns import ToolCall
from tests.unit.entity.contexts import entity_context

ADDRESS = "shop/ada-1"
HEARD = InputReceived(content="Go on", from_name="runtime", ts=1.0)
CALL = ModelAnswered(
    tool_calls=(ToolCall(id="c1", name="schedule", arguments={}),), model="a/b", ts=2.0
)
STARTED = CallStarted(call_id="c1", name="schedule", ts=3.0)


@pytest.fixture(autouse=True)
def epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let epochs be random, as they are."""
    monkeypatch.setattr("agiraph.agent.conversation.new_epoch", new_epoch)


def life(home: Path, incarnation: int) -> Any:
    """Return the context of an incarnation, with the note of the previous incarnation."""
    context, line = entity_context(home, ADDRESS)
    attempts: Any = CrashCounter(home / "attempts", "shop.ada-1", incarnation, "")
    line.attempts = attempts  # type: ignore[attr-defined]
    context.begin_after_loss()
    return context


def end(context: Any) -> None:
    context.conversation.close()
    context.runtime.attempts.close()


def test_open_calls_of_a_conversation_that_was_cut_are_interrupted_under_other_ids(
    tmp_path: Path,
) -> None:
    first = life(tmp_path, 1)
    first.conversation.append(HEARD, CALL, STARTED)
    whole = (path := first.conversation.path).read_bytes()
    place = first.conversation.place(1)
    first.conversation.append(HEARD, HEARD)
    first.runtime.attempts.doing("busy")
    end(first)
    path.write_bytes(whole)
    second = life(tmp_path, 2)
    assert not second.transcript.open_calls
    assert "its outcome is unknown" in path.read_text()
    assert second.conversation.place(0) != place
    epoch = second.transcript.epoch
    second.runtime.attempts.doing("busy")
    end(second)
    third = life(tmp_path, 3)
    assert third.transcript.epoch == epoch
    end(third)


def test_a_whole_conversation_keeps_its_open_calls(tmp_path: Path) -> None:
    first = life(tmp_path, 1)
    first.conversation.append(HEARD, CALL, STARTED)
    first.runtime.attempts.doing("busy")
    epoch = first.transcript.epoch
    end(first)
    second = life(tmp_path, 2)
    assert [opened.call.id for opened in second.transcript.open_calls] == ["c1"]
    assert second.transcript.epoch == epoch
    end(second)

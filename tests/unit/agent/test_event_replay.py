"""A conversation's last records repeat the same events, under the same keys."""

from pathlib import Path

from agiraph.agent.conversation import Conversation
from agiraph.agent.event_replay import RECORDS_REPLAYED, called, compacted, replayed_events
from agiraph.agent.records import (
    CallFinished,
    CallStarted,
    ConversationCompacted,
    InputReceived,
    LoopDetected,
    ModelAnswered,
    NodeClosed,
    PlanMade,
    StateChanged,
)
from agiraph.core.ids import NodeId
from agiraph.core.turns import ToolCall
from tests.unit.entity.contexts import entity_context


def heard(text: str = "Go on") -> InputReceived:
    return InputReceived(content=text, from_name="board", ts=1.0)


def notice(text: str) -> InputReceived:
    return InputReceived(content=text, from_name="runtime", ts=1.0)


def said(*ids: str, interrupted: bool = False) -> ModelAnswered:
    calls = tuple(ToolCall(id=id, name="bash", arguments={"command": id}) for id in ids)
    return ModelAnswered(text="So.", tool_calls=calls, model="a/b", interrupted=interrupted, ts=2.0)


def started(id: str) -> CallStarted:
    return CallStarted(call_id=id, name="bash", ts=3.0)


def finished(id: str) -> CallFinished:
    return CallFinished(call_id=id, name="bash", content="out", ts=4.0)


def opened(tmp_path: Path) -> Conversation:
    return Conversation(tmp_path / "conversation.jsonl")


def keys(conversation: Conversation) -> list[tuple[str, str]]:
    return [(one.type, one.key) for one in replayed_events(conversation.lately(RECORDS_REPLAYED))]


def test_last_step_is_replayed_with_its_original_keys(tmp_path: Path) -> None:
    conversation = opened(tmp_path)
    conversation.append(heard(), said("x", "y"))
    steps = [one.key for one in conversation.transcript.open_calls]
    assert steps == ["e-2.0", "e-2.1"]
    conversation.append(started("x"), finished("x"), started("y"))
    assert keys(conversation) == [
        ("model.answered", "e-2"),
        ("tool.called", "e-2.0"),
        ("tool.result", "e-2.0"),
        ("tool.called", "e-2.1"),
    ]


def test_warnings_and_compactions_are_replayed(tmp_path: Path) -> None:
    conversation = opened(tmp_path)
    conversation.append(
        heard(),
        LoopDetected(count=3, call="bash(x)", content="Stop.", ts=5.0),
        ConversationCompacted(turns=(), cause="full", tokens_before=9, tokens_after=3, ts=6.0),
    )
    warned, shortened = replayed_events(conversation.lately(RECORDS_REPLAYED))
    assert (warned.type, warned.key, warned.data["count"]) == ("tool.loop", "e-2", 3)
    assert (shortened.type, shortened.key) == ("memory.compacted", "e-3")


def test_absence_does_not_advance_the_position_or_keys(tmp_path: Path) -> None:
    conversation = opened(tmp_path)
    conversation.append(heard(), StateChanged(what="away", ts=2.0), said("x"))
    conversation.append(StateChanged(what="away", ts=900.0))
    assert keys(conversation) == [("model.answered", "e-2")]
    conversation.close()
    assert opened(tmp_path).transcript.position == 2


def test_earlier_work_is_not_reported_and_an_interrupted_answer_is(tmp_path: Path) -> None:
    conversation = opened(tmp_path)
    conversation.append(heard(), said())
    conversation.append(NodeClosed(node_id=NodeId("n"), status="completed", ts=3.0))
    conversation.append(said(interrupted=True))
    assert keys(conversation) == [("model.answered", "e-4")]


def test_only_recent_records_are_replayed(tmp_path: Path) -> None:
    conversation = opened(tmp_path)
    for _ in range(300):
        conversation.append(heard("x" * 1000), said())
    told = keys(conversation)
    assert 0 < len(told) <= RECORDS_REPLAYED
    assert told[-1] == ("model.answered", "e-600")


def test_replayed_event_keeps_its_time(tmp_path: Path) -> None:
    context, line = entity_context(tmp_path, "a/coordinator")
    context.conversation.append(heard(), said())
    context.replay_events()
    assert [(one.type, one.ts) for one in line.reported] == [("model.answered", 2.0)]
    assert line.reported[0].key.endswith("model.answered:e-2")


def test_text_of_the_runtime_is_reported_when_it_is_added_and_replayed_with_its_key(
    tmp_path: Path,
) -> None:
    context, line = entity_context(tmp_path, "a/coordinator")
    context.conversation.append(heard(), notice("One call is left."), said())
    context.conversation.append(PlanMade(text="First look.", ts=3.0))
    context.replay_events()
    told = [one for one in line.reported if one.type == "message.notice"]
    assert [(one.data["content"], one.ts) for one in told] == [
        ("One call is left.", 1.0),
        ("First look.", 3.0),
    ] * 2
    assert [one.key for one in told[:2]] == [one.key for one in told[2:]]
    assert len({one.key for one in told}) == 2


def test_event_of_a_call_has_the_arguments_that_are_not_json() -> None:
    broken = ToolCall(id="x", name="bash", malformed='{"command": "ls')
    assert called(broken, "e-1.0", 1.0).data["malformed"] == '{"command": "ls'
    assert "malformed" not in called(ToolCall(id="y", name="bash"), "e-1.1", 1.0).data


def test_event_of_a_compaction_has_the_summary() -> None:
    record = ConversationCompacted(
        turns=(), summary="Ten offers.", cause="full", tokens_before=9, tokens_after=3, ts=6.0
    )
    assert compacted(record, "e-3").data["summary"] == "Ten offers."

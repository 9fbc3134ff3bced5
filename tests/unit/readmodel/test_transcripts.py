"""Transcripts: the call of a step is found by the place of its answer."""

from pathlib import Path

from agiraph.agent.conversation import Conversation
from agiraph.agent.records import CallFinished, CallStarted, ModelAnswered, StateChanged
from agiraph.core.turns import ToolCall
from agiraph.readmodel.transcripts import transcript_page


def test_call_with_a_reused_id_is_found_by_its_step(tmp_path: Path) -> None:
    conversation = Conversation(tmp_path / "conversation.jsonl")
    steps = []
    for number in range(3):
        conversation.append(StateChanged(what="away", ts=1.0))
        calls = tuple(ToolCall(id=id, name="bash") for id in ("call_0", "call_1"))
        conversation.append(ModelAnswered(tool_calls=calls, ts=2.0))
        steps += [opened.key for opened in conversation.transcript.open_calls]
        for opened in list(conversation.transcript.open_calls):
            id = opened.call.id
            conversation.append(CallStarted(call_id=id, name="bash", ts=3.0))
            text = f"result {number} of {id}"
            conversation.append(CallFinished(call_id=id, name="bash", content=text, ts=4.0))
    conversation.close()

    def found(step: str) -> list[tuple[str, str | None]]:
        page = transcript_page(conversation.path, 0, 100, None, step=step)
        return [(entry.kind, entry.content) for entry in page.entries]

    told = [found(step) for step in steps]
    assert told == [
        [("tool.started", None), ("tool.finished", f"result {number} of call_{index}")]
        for number in range(3)
        for index in range(2)
    ]
    assert found("nowhere") == found(f"{steps[0]}9") == []

"""A message answers the last message between the same two entities."""

from agiraph.agent.records import CallFinished, InputReceived, ModelAnswered
from agiraph.agent.replies import ReplyReference, header
from agiraph.agent.transcript import Transcript
from agiraph.core.turns import ToolCall


def heard(message: str, name: str = "human", text: str = "How far are you?") -> InputReceived:
    return InputReceived(content=header(name, "") + text, from_name=name, ts=1.0, message=message)


def said(*calls: ToolCall, text: str | None = None) -> ModelAnswered:
    return ModelAnswered(text=text, tool_calls=calls, ts=1.0)


def test_last_message_of_each_sender_is_unanswered() -> None:
    transcript = Transcript.fold([heard("01"), heard("02", text="And?"), heard("03", "Ada", "Hi")])
    assert transcript.mail.unanswered["human"] == ReplyReference("02", "And?")
    assert transcript.mail.unanswered["ada"] == ReplyReference("03", "Hi")


def test_a_message_is_answered_once() -> None:
    call = ToolCall(id="1", name="send_message", arguments={"to": "@Ada", "content": "Hello"})
    sent = CallFinished(call_id="1", name="send_message", content="Sent.", ts=1.0)
    transcript = Transcript.fold([heard("03", "Ada", "Hi"), said(call), sent])
    assert "ada" not in transcript.mail.unanswered


def test_plain_text_answers_the_human() -> None:
    transcript = Transcript.fold([heard("01"), said(text="Half way.")])
    assert transcript.mail.spoke_to == ReplyReference("01", "How far are you?")
    transcript.apply(said(text="Nearly done."))
    assert transcript.mail.spoke_to == ReplyReference()


def test_the_board_is_never_answered() -> None:
    news = InputReceived(content="[Board]: done", from_name="board", ts=1.0, message="01")
    assert Transcript.fold([news]).mail.unanswered == {}


def test_question_without_wait_is_pending_until_its_answer_arrives() -> None:
    call = ToolCall(id="1", name="ask_human", arguments={"question": "Which?", "wait": False})
    asked = CallFinished(call_id="1", name="ask_human", content="Asked.", asked="q-1", ts=1.0)
    transcript = Transcript.fold([heard("01"), said(call), asked])
    assert transcript.mail.pending == {"q-1": "Which?"}
    assert len(transcript.mail.human) == 1, "a question is not the human's word"
    transcript.apply(heard("02").model_copy(update={"answers": "q-1"}))
    assert transcript.mail.pending == {}

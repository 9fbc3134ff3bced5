"""Old pictures leave the conversation: by their number, and by compaction."""

from agiraph.agent.compaction import CompactionContext, shorten, tokens_of
from agiraph.agent.old_pictures import KEPT_PICTURES, MOST_PICTURES
from agiraph.agent.records import RECORD, CallFinished, ModelAnswered
from agiraph.agent.transcript import Transcript
from agiraph.core.turns import Picture, ToolCall, ToolTurn, pictures_in
from tests.unit.agent.conversations import are_whole, heard


def picture(number: int) -> Picture:
    return Picture(
        digest=f"{number:064x}", media_type="image/png", name=f"{number}.png", width=800, height=600
    )


def looked(transcript: Transcript, number: int) -> None:
    """Let the model look at a picture."""
    call = ToolCall(id=f"c{number}", name="read_file", arguments={"path": f"{number}.png"})
    transcript.apply(ModelAnswered(tool_calls=(call,), ts=0))
    finished = CallFinished(
        call_id=call.id,
        name=call.name,
        content=f"{number}.png: PNG image",
        pictures=(picture(number),),
        ts=0,
    )
    transcript.apply(RECORD.validate_python(finished.model_dump()))


def transcript_of(pictures: int) -> Transcript:
    transcript = Transcript()
    heard(transcript, "Draw.")
    for number in range(pictures):
        looked(transcript, number)
    return transcript


def names(transcript: Transcript) -> list[str]:
    return [one.name for one in pictures_in(transcript.turns)]


def test_pictures_are_shown_up_to_their_limit() -> None:
    assert len(names(transcript_of(MOST_PICTURES))) == MOST_PICTURES


def test_the_oldest_pictures_become_lines_of_text_beyond_the_limit() -> None:
    transcript = transcript_of(MOST_PICTURES + 1)
    left = range(MOST_PICTURES + 1 - KEPT_PICTURES, MOST_PICTURES + 1)
    assert names(transcript) == [f"{number}.png" for number in left]
    first = next(turn for turn in transcript.turns if isinstance(turn, ToolTurn))
    assert first.content == (
        "0.png: PNG image\n[0.png: this picture is no longer shown; read the file to see it again]"
    )
    assert are_whole(transcript.turns)


def test_a_compacted_conversation_shows_only_the_last_picture() -> None:
    shortened = shorten(
        transcript_of(5), CompactionContext("Draw."), intro="Intro.", summary="", budget=9000
    )
    assert [one.name for one in pictures_in(shortened.turns)] == ["4.png"]
    assert tokens_of(shortened) <= 9000


def test_a_picture_that_does_not_fit_is_dropped_by_compaction() -> None:
    shortened = shorten(
        transcript_of(5), CompactionContext("Draw."), intro="Intro.", summary="", budget=900
    )
    assert pictures_in(shortened.turns) == []
    assert "4.png: this picture is no longer shown" in repr(shortened.turns)
    assert tokens_of(shortened) <= 900
    assert are_whole(shortened.turns)

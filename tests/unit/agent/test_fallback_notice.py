"""A conversation says where another model than the wanted one answers, and where it stops to."""

from agiraph.agent.loop import stand_in_notice
from agiraph.agent.records import ModelAnswered
from agiraph.agent.transcript import Transcript
from agiraph.core.turns import ModelResponse

WANTED, OTHER = "anthropic/big", "openai/other"


def said(model: str, instead_of: str = "") -> ModelAnswered:
    return ModelAnswered(text="x", model=model, instead_of=instead_of, ts=1.0)


def notices(*answers: ModelAnswered) -> list[str]:
    """Return the notice before each of these answers, '' for none."""
    transcript, told = Transcript(), []
    for answer in answers:
        response = ModelResponse(model=answer.model, instead_of=answer.instead_of, why="it is busy")
        heard = stand_in_notice(transcript, response, answer)
        for record in heard:
            transcript.apply(record)
        transcript.apply(answer)
        told.append(heard[0].content if heard else "")
    return told


def test_fallback_is_reported_once_at_its_start_and_once_at_its_end() -> None:
    first, fell, still, back = notices(
        said(WANTED), said(OTHER, WANTED), said(OTHER, WANTED), said(WANTED)
    )
    assert (first, still) == ("", "")
    assert OTHER in fell
    assert WANTED in fell
    assert "it is busy" in fell
    assert f"{WANTED} answers again" in back


def test_first_answer_by_a_fallback_model_is_reported() -> None:
    assert OTHER in notices(said(OTHER, WANTED))[0]

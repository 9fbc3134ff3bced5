"""Pictures count in every estimate of a request's tokens, by their size."""

from agiraph.agent.context_window import estimate_turn
from agiraph.core.turns import Picture, ToolTurn, UserTurn, without_pictures
from agiraph.llm.token_counts import MOST_PICTURE_TOKENS, input_size
from tests.unit.llm.requests import ask


def picture(width: int, height: int) -> Picture:
    return Picture(
        digest="0" * 64, media_type="image/png", name="a.png", width=width, height=height
    )


def result(*pictures: Picture) -> ToolTurn:
    return ToolTurn(call_id="c1", name="read_file", content="A chart.", pictures=pictures)


def test_a_picture_adds_its_tokens_to_the_size_of_a_request() -> None:
    plain, seen = input_size(ask(result())), input_size(ask(result(picture(1000, 800))))
    assert seen.guess - plain.guess == picture(1000, 800).tokens == 2100
    assert seen.most - plain.most == MOST_PICTURE_TOKENS


def test_a_picture_adds_its_tokens_to_the_fill_of_the_window() -> None:
    added = estimate_turn(result(picture(400, 100))) - estimate_turn(result())
    assert added == picture(400, 100).tokens == 200


def test_a_turn_without_its_pictures_names_them() -> None:
    bare = without_pictures(result(picture(400, 100)))
    assert isinstance(bare, ToolTurn)
    assert bare.pictures == ()
    assert "a.png: this picture is no longer shown" in bare.content
    plain = UserTurn(content="x")
    assert without_pictures(plain) is plain

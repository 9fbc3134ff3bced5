"""Cutting: no character lost, none twice, never too long; and a quotation that no page can end."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.tools.web.render import cut, shown_page

TEXTS = st.text(st.sampled_from("ab \n\N{SNOWMAN}"), max_size=400)


@given(TEXTS, st.integers(1, 60))
def test_the_pieces_give_the_whole_text(text: str, limit: int) -> None:
    pieces, offset = [], 0
    while True:
        piece = cut(text, offset, limit)
        assert len(piece.text) <= limit
        assert piece.total == len(text)
        pieces.append(piece.text)
        if piece.is_last:
            break
        assert piece.end > offset
        offset = piece.end
    assert "".join(pieces) == text


@given(TEXTS, st.integers(-10, 500), st.integers(-5, 60))
def test_any_offset_and_limit_give_a_piece_of_the_text(text: str, offset: int, limit: int) -> None:
    piece = cut(text, offset, limit)
    assert text[piece.offset : piece.end] == piece.text
    assert 0 <= piece.offset <= len(text)


@given(TEXTS, st.integers(1, 60))
def test_a_piece_ends_at_a_break_if_one_is_near(text: str, limit: int) -> None:
    piece = cut(text, 0, limit)
    if not piece.is_last and " " in piece.text[-max(1, limit // 5) :]:
        assert piece.text[-1] in " \n"


@given(st.text(max_size=300), st.integers(0, 300))
def test_page_text_is_between_its_two_marks(text: str, offset: int) -> None:
    shown = shown_page("https://x.example/", "t", text, offset=offset, limit=50, mark="c0ffee")
    begin, end = shown.index("[web page c0ffee, untrusted"), shown.index("[end of web page c0ffee]")
    assert cut(text, offset, 50).text.strip() in shown[begin:end]

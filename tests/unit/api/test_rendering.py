"""Rendered files: Markdown looks like Markdown, and nothing in it can run or load."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.api.served_files import rendered, rendered_file
from agiraph.http.errors import ApiError

HARMLESS = re.compile(
    r"</?(p|h[1-6]|ul|ol|li|pre|code|em|strong|blockquote|table|thead|tbody|tr|t[hd]|hr|br|s|a)"
    r"( (class|href|rel|target|title|start|style)=\"[^\"<>]*\")*( /)?>"
)
PIECES = st.sampled_from(
    (
        "<script>alert(1)</script>",
        "[a](javascript:alert(1))",
        "![x](http://evil/p.png)",
        '<img src=x onerror="a()">',
        "[a](data:text/html,x)",
        "[r]: vbscript:x\n[r]",
        "| a | b |\n|-|-|\n",
        'title"onclick="x',
        "<http://a.b>",
        "```\n",
        *'`*"<>&\n# ',
    )
)


def test_markdown_becomes_html() -> None:
    html = rendered("a.md", "# Heat\n\n**It** melts:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    for piece in ("<h1>Heat</h1>", "<strong>It</strong>", "<td>2</td>"):
        assert piece in html


def test_other_text_is_shown_verbatim() -> None:
    assert rendered("a.py", "if a < b:\n") == "<pre>if a &lt; b:\n</pre>\n"


def test_links_send_no_referrer_and_images_are_not_loaded() -> None:
    html = rendered("a.md", "[there](http://x.y) ![pic](http://x.y/p.png)")
    assert 'href="http://x.y" rel="noopener noreferrer nofollow"' in html
    assert "<img" not in html
    assert "[image: pic]" in html


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_text_becomes_anything_that_runs_or_loads(text: str) -> None:
    html = rendered("a.md", text)
    assert "<" not in HARMLESS.sub("", html)
    for link in re.findall(r'href="([^"]*)"', html):
        assert not re.match(r"\s*(javascript|vbscript|data|file):", link, re.I)


def test_only_text_is_rendered(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder").mkdir()
    for path, status in (("a.bin", 415), ("folder", 409), ("none.md", 404)):
        with pytest.raises(ApiError) as error:
            rendered_file(tmp_path, path)
        assert error.value.status == status


def test_long_file_is_cut_and_marked(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * (1024 * 1024 + 7))
    assert "... 7 more bytes" in bytes(rendered_file(tmp_path, "long.txt").body).decode()

"""edit_file: exact replacements, refused with the nearest text or the lines of all matches."""

import os

import pytest

from agiraph.tools.editing import Edit, edited, nearest
from tests.unit.tools.entity_tools import EntityTools

CODE = "def area(w, h):\n    return w + h\n\n\ndef edge(w, h):\n    return w + h\n"


async def test_edit_replaces_the_text_and_keeps_the_mode(entity: EntityTools) -> None:
    file = entity.node.scratch / "run.py"
    file.write_text(CODE)
    file.chmod(0o755)
    result = await entity.call(
        "edit_file", path="run.py", old="(w, h):\n    return w + h\n\n", new="(w, h):\n\n"
    )
    assert result.content == "Edited run.py at line 1."
    assert file.read_text() == CODE.replace("    return w + h\n\n", "\n", 1)
    assert file.stat().st_mode & 0o777 == 0o755


async def test_ambiguous_text_is_refused_with_its_lines(entity: EntityTools) -> None:
    (entity.node.scratch / "a.py").write_text(CODE)
    result = await entity.call("edit_file", path="a.py", old="w + h", new="w * h")
    assert result.is_error
    assert "occurs 2 times in 'a.py', at lines 2, 6" in result.content
    await entity.call("edit_file", path="a.py", old="w + h", new="w * h", all=True)
    assert (entity.node.scratch / "a.py").read_text() == CODE.replace("+", "*")


async def test_absent_text_is_refused_with_the_nearest_lines(entity: EntityTools) -> None:
    (entity.node.scratch / "a.py").write_text(CODE)
    result = await entity.call(
        "edit_file", path="a.py", old="def edge(w, h):\n  return w + h", new="x"
    )
    assert result.is_error
    assert result.content.endswith("5: def edge(w, h):\n6:     return w + h")
    assert (entity.node.scratch / "a.py").read_text() == CODE


async def test_several_edits_are_applied_together_or_not_at_all(entity: EntityTools) -> None:
    file = entity.node.scratch / "a.py"
    file.write_text(CODE)
    edits = [{"old": "area", "new": "size"}, {"old": "def size", "new": "def extent"}]
    wrong = await entity.call("edit_file", path="a.py", edits=[*edits, {"old": "gone", "new": ""}])
    assert "edit 3 of 3" in wrong.content
    assert "nothing was changed" in wrong.content
    assert file.read_text() == CODE
    await entity.call("edit_file", path="a.py", edits=edits)
    assert file.read_text() == CODE.replace("area", "extent")


async def test_edit_without_a_text_and_of_a_missing_file_is_refused(entity: EntityTools) -> None:
    (entity.node.scratch / "a.bin").write_bytes(b"\xff\xfe")
    os.mkfifo(entity.node.scratch / "pipe")
    for arguments, reason in (
        ({"path": "a.bin"}, "give the text to replace as `old`"),
        ({"path": "a.bin", "old": "a"}, "not UTF-8"),
        ({"path": "none", "old": "a"}, "'none': No such file"),
        ({"path": ".", "old": "a"}, "may not be written"),
        ({"path": "pipe", "old": "a"}, "regular file"),
    ):
        result = await entity.call("edit_file", **arguments)
        assert (result.is_error, reason in result.content) == (True, True), result.content


async def test_nothing_outside_the_scope_is_edited(entity: EntityTools) -> None:
    outside = entity.input / "a.md"
    outside.write_text("text")
    (entity.node.scratch / "door").symlink_to(entity.input)
    (entity.node.scratch / "link.md").symlink_to(outside)
    os.link(outside, entity.node.scratch / "hard.md")
    for path in ("../_spec.md", "input/a.md", "door/a.md", "link.md", str(outside)):
        result = await entity.call("edit_file", path=path, old="text", new="changed")
        assert result.is_error, path
    await entity.call("edit_file", path="hard.md", old="text", new="changed")
    assert outside.read_text() == "text"


@pytest.mark.parametrize(
    ("text", "old", "hint"),
    [
        ("a\r\nb\r\n", "a\nb", "end with \\r\\n"),
        ("alpha beta gamma\n", "alpha beta gamme", "1: alpha beta gamma"),
        ("one\n", "completely different", "No text in it is similar"),
        ("", "x", "No text in it is similar"),
    ],
)
def test_hint_names_the_difference(text: str, old: str, hint: str) -> None:
    with pytest.raises(Exception, match="is not in 'f'") as refused:
        edited(text, [Edit(old=old, new="")], "f")
    assert hint in str(refused.value)


def test_nearest_lines_ignore_indentation_and_have_a_bound() -> None:
    lines = ["if x:", "    a = 1", "    b = 2", "done"]
    assert nearest(lines, ["a = 1", "b = 2"]) == 1
    assert nearest(["x"] * 20_001, ["x"]) is None

"""The change of a call to its file, as shown to the person."""

import pytest

from agiraph.tools.approvals.change import MOST_CHARACTERS, diff_of, path_in, whole_call

HEAD = "--- a/a.md\n+++ b/a.md\n"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"path": "a.md", "content": "one\n2\n"}, f"{HEAD}@@ -1,2 +1,2 @@\n one\n-two\n+2"),
        ({"file_path": "a.md", "oldText": "x", "newText": "y"}, f"{HEAD}@@ -1 +1 @@\n-x\n+y"),
        ({"path": "a.md"}, ""),
        ({"content": "one"}, ""),
        ({"path": 3, "content": "one"}, ""),
        ({"path": "a.md", "content": "one\ntwo\n"}, ""),
    ],
)  # fmt: skip
def test_approval_shows_the_diff_of_a_call(arguments: dict[str, object], shown: str) -> None:
    assert diff_of(arguments, "one\ntwo\n") == shown


def test_long_diff_is_cut_and_marked() -> None:
    long = diff_of({"path": "a", "content": "line\n" * 10_000}, "")
    assert len(long) < MOST_CHARACTERS + 60
    assert long.endswith("more characters)")
    huge = diff_of({"path": "a", "content": "x" * 500_000}, "")
    assert huge == "(too long to compare: 0 characters become 500000)"
    assert path_in({"path": "a"}) == "a"


@pytest.mark.parametrize(
    ("arguments", "subject", "diff", "shown"),
    [
        ({"command": "ls"}, "ls", "", ""),
        ({"path": "a.md", "content": "x"}, "a.md", "+x", ""),
        ({"url": "https://a.b", "body": "x"}, "https://a.b", "",
         '{\n  "url": "https://a.b",\n  "body": "x"\n}'),
        ({"amount": 7}, '{"amount": 7}', "", '{\n  "amount": 7\n}'),
    ],
)  # fmt: skip
def test_an_approval_shows_every_argument(
    arguments: dict[str, object], subject: str, diff: str, shown: str
) -> None:
    assert whole_call(arguments, subject, diff) == shown

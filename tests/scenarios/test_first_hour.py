"""docs/first-hour.md shows the output of a terminal: each of its lines is typed again."""

import tempfile
from pathlib import Path

from tests.first_hour.page import PAGE, told
from tests.first_hour.story import played


def test_first_hour_page_matches_its_replay() -> None:
    with tempfile.TemporaryDirectory(prefix="hour") as folder:
        page = played(Path(folder).resolve())
    assert told(page) == told(PAGE.read_text(encoding="utf-8")), "`make first-hour` writes it anew"

"""`python -m tests.first_hour`: go through the first hour and write docs/first-hour.md of it."""

import tempfile
from pathlib import Path

from tests.first_hour.page import PAGE
from tests.first_hour.story import played


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory(prefix="hour") as folder:
        PAGE.write_text(played(Path(folder).resolve()), encoding="utf-8")


if __name__ == "__main__":
    main()

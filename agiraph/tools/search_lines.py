"""The process that searches the lines of files; its parent may kill it at any time.

    stdin   {"pattern": REGULAR EXPRESSION, "paths": [PATH, ...]}, in JSON
    stdout  one line of JSON for each matching line: [INDEX OF THE PATH, LINE NUMBER, TEXT]

Binary files, files of more than LARGEST bytes and files that cannot be opened safely are skipped.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agiraph.core.json_text import parse_json
from agiraph.storage.files import read_bytes

LARGEST: Final = 16 * 1024 * 1024
BINARY_PROBE: Final = 8192
SHOWN_CHARACTERS: Final = 300


def main() -> None:
    """Search as the request on stdin says; print the matching lines."""
    request = parse_json(sys.stdin.buffer.read())
    for index, path in enumerate(request["paths"]):
        for number, text in lines_of(request["pattern"], Path(path)):
            print(json.dumps([index, number, text]))
        sys.stdout.flush()


def lines_of(pattern: str, path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and an excerpt of each line of a file that matches the pattern."""
    expression = re.compile(pattern)
    try:
        data = read_bytes(path, LARGEST, anyones=True)
    except OSError:
        return
    if b"\0" in data[:BINARY_PROBE]:
        return
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
        if (found := expression.search(line)) is not None:
            yield number, excerpt(line.rstrip("\r"), found.start())


def excerpt(line: str, start: int) -> str:
    """Return a line, of a long line the part around the index `start`."""
    if len(line) <= SHOWN_CHARACTERS:
        return line
    begin = max(0, min(start - SHOWN_CHARACTERS // 3, len(line) - SHOWN_CHARACTERS))
    end = begin + SHOWN_CHARACTERS
    return f"{'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"


if __name__ == "__main__":
    main()

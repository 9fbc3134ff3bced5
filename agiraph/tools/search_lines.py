"""The process that searches the lines of files; its parent may kill it at any time.

    stdin   {"pattern": REGULAR EXPRESSION, "paths": [PATH, ...]}, in JSON
    stdout  one line of JSON for each matching line: [INDEX OF THE PATH, LINE NUMBER, TEXT]

Binary files, files of more than LARGEST bytes and files that cannot be opened safely are skipped.
"""

import json
import re
import sys
from pathlib import Path
from typing import Final

from agiraph.core.json_text import parse_json
from agiraph.storage.files import read_bytes

LARGEST: Final = 16 * 1024 * 1024
BINARY_PROBE: Final = 8192
SHOWN_CHARACTERS: Final = 300


def main() -> None:
    """Answer the request on stdin."""
    request = parse_json(sys.stdin.buffer.read())
    pattern = re.compile(request["pattern"])
    for index, path in enumerate(request["paths"]):
        try:
            data = read_bytes(Path(path), LARGEST, anyones=True)
        except OSError:
            continue
        if b"\0" in data[:BINARY_PROBE]:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
            if (found := pattern.search(line)) is not None:
                print(json.dumps([index, number, excerpt(line.rstrip("\r"), found.start())]))
        sys.stdout.flush()


def excerpt(line: str, start: int) -> str:
    """Return a line, of a long line the part around the index `start`."""
    if len(line) <= SHOWN_CHARACTERS:
        return line
    begin = max(0, min(start - SHOWN_CHARACTERS // 3, len(line) - SHOWN_CHARACTERS))
    end = begin + SHOWN_CHARACTERS
    return f"{'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"


if __name__ == "__main__":
    main()

"""`python -m agiraph.knowledge.scan FOLDER`: scan a project; JSON in and out."""

import os
import sys
from pathlib import Path

from agiraph.core.errors import AgiraphError
from agiraph.knowledge.records import KnownProject
from agiraph.knowledge.scan.scanner import scan

NICE = 10


def main() -> int:
    """Scan the folder in `sys.argv`; read its known state from stdin, print a line per batch.

    Returns the exit code.
    """
    if len(sys.argv) != 2:
        print("usage: python -m agiraph.knowledge.scan FOLDER", file=sys.stderr)
        return 2
    os.nice(NICE)
    try:
        known = KnownProject.model_validate_json(sys.stdin.buffer.read() or b"{}")
        for batch in scan(Path(sys.argv[1]), known):
            sys.stdout.write(f"{batch.model_dump_json()}\n")
            sys.stdout.flush()
    except (AgiraphError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        os._exit(1)  # the reader has exited
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m agiraph.context.scan FOLDER`: scan a project; known state in, batches out, as JSON."""

import os
import sys
from pathlib import Path

from agiraph.context.records import KnownProject
from agiraph.context.scan.scanner import scan
from agiraph.core.errors import AgiraphError

NICE = 10


def main() -> int:
    """Read the known state from standard input, print a line per batch; return the exit code."""
    if len(sys.argv) != 2:
        print("usage: python -m agiraph.context.scan FOLDER", file=sys.stderr)
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

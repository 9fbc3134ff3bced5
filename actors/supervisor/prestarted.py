"""An early supervisor: started before it is known to be needed, it waits for a word to begin.

The command line starts it at once, on the chance that a run will need one, and says the word on its
standard input. Without it, the supervisor and what it started ahead end as they came.
"""

import os
import sys

from actors.runtime.linux import hide_environment
from actors.supervisor.prestart import start


def main() -> None:
    """Run a supervisor that waits for a word before it begins: `MODEL OPTIONS...`.

    MODEL is the model that the run was asked to use, empty if none was named.
    """
    ahead = start(sys.argv.pop(1), os.environ)
    hide_environment()
    from actors.supervisor.main import main as supervise  # while they import theirs

    if os.read(0, 1):
        supervise(ahead=ahead)

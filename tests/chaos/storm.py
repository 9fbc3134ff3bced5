"""Run the kill experiment in a separate process whose supervisors are forked, so that none imports
modules."""

import json
import sys
from itertools import chain, islice
from pathlib import Path

from cli.chaos.chaos_run import ChaosRun
from cli.chaos.schedule import hammer, strikes
from cli.commands.chaos import facts
from tests.fakes.interpreters import fork_instead

STRIKES, BLOWS = 10, 12
HAMMERED = ("broker", "clock")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def main() -> None:
    """Run the experiment in the folder named by the first argument, and print its facts.

    Processes of every kind are struck, then two services are killed again and again.
    """
    fork_instead()
    schedule = chain(islice(strikes(seed=4), STRIKES), hammer(HAMMERED, 0.25))
    report = ChaosRun(Path(sys.argv[1]), schedule, report=_say).run(STRIKES + BLOWS)
    print(json.dumps(facts(report)))

"""Fifty workers whose services refuse every second request (429), on a budget that is too short.

Each worker is a process, a third of them on the wire format of Anthropic, of OpenAI and of Google
each. The team works until its budget is spent, parks, is given more once, and finishes. What the
services counted must be what the ledger says, no node may fail, and no call may be made that was
not paid for. A test does the same with a small team.
"""

import tempfile
from pathlib import Path

from benchmarks.product import Options, progress
from benchmarks.report import Figure, at_most
from tests.scenarios.house import SERVICES
from tests.scenarios.place import placed
from tests.scenarios.storm import weather

WORKERS, QUICK_WORKERS = 50, 10
TOKENS_OF_A_WORKER = 12_000
"""What a budget has for each: less than one of its two calls takes."""
SETTINGS = """
run: {park_after_seconds: 1, max_concurrent: 64}
broker: {first_delay_seconds: 0.05}
"""


def run(options: Options) -> list[Figure]:
    """Have a team work through the storm; every difference between services and ledger counts."""
    workers = options.count(WORKERS, QUICK_WORKERS)
    with tempfile.TemporaryDirectory(prefix="agiraph-bench-") as folder:
        home = Path(folder)
        (home / "agiraph.yaml").write_text(SETTINGS, encoding="utf-8")
        with placed(home, services=SERVICES) as place:
            storm = weather(place, "stormy", workers, workers * TOKENS_OF_A_WORKER)
    faults = storm.faults()
    for fault in faults:
        progress(f"wrong: {fault}")
    seen = (
        f"{storm.asked:,} requests, {storm.refused_with_a_wish:,} refused with retry-after and "
        f"{storm.refused_without:,} without; {storm.answered:,} answered, {storm.booked_calls:,} "
        f"in the ledger; {storm.tokens:,} tokens, {storm.booked_tokens:,} in the ledger; "
        f"{storm.questions} questions, {storm.births} processes, {storm.seconds:.0f} s"
    )
    what = f"differences between services and ledger, {workers} workers in a storm of 429s"
    return [at_most(what, "differences", float(len(faults)), 0.0, seen)]

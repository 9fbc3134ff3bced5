"""A storm of 429s: fifty workers whose services refuse every second request, on too few tokens.

Each worker is a process, a third of them on the wire format of Anthropic, of OpenAI and of Google
each. The team works until its budget is spent, parks, is given more once, and finishes. Printed is
what the services counted beside what the ledger says; it ends with an error if they differ, if a
node failed, or if a call was made that was not paid for.

    python -m benchmarks.storm [WORKERS]      # 2 to 60, else 50
"""

import sys
import tempfile
from pathlib import Path

from tests.scenarios.house import SERVICES
from tests.scenarios.place import placed
from tests.scenarios.storm import Storm, weather

WORKERS = 50
TOKENS_OF_A_WORKER = 12_000
"""What a budget has for each: less than one of its two calls takes."""
SETTINGS = """
run: {park_after_seconds: 1, max_concurrent: 64}
broker: {first_delay_seconds: 0.05}
"""


def run(workers: int = WORKERS) -> Storm:
    """Let a storm come over a team; return what was counted."""
    with tempfile.TemporaryDirectory(prefix="agiraph-bench-") as folder:
        home = Path(folder)
        (home / "agiraph.yaml").write_text(SETTINGS, encoding="utf-8")
        with placed(home, services=SERVICES) as place:
            return weather(place, "stormy", workers, workers * TOKENS_OF_A_WORKER)


def rows(storm: Storm) -> list[tuple[str, str]]:
    """Return what was counted, in words and figures."""
    return [
        ("workers, each a process", f"{storm.size}"),
        ("nodes completed and published / failed", f"{storm.published} / {storm.failed}"),
        ("requests that the services saw", f"{storm.asked:,}"),
        (
            "refused (429) with retry-after / without",
            f"{storm.refused_with_a_wish:,} / {storm.refused_without:,}",
        ),
        ("answered / in the ledger", f"{storm.answered:,} / {storm.booked_calls:,}"),
        ("tokens answered / in the ledger", f"{storm.tokens:,} / {storm.booked_tokens:,}"),
        ("budget / spent when the team stopped", f"{storm.limit:,} / {storm.spent:,}"),
        ("calls answered until then", f"{storm.answered_at_stop:,}"),
        ("times that the human was asked for more", f"{storm.questions}"),
        ("processes born", f"{storm.births}"),
        ("seconds", f"{storm.seconds:.1f}"),
    ]


def main() -> int:
    """Print the table; return 1 if something is not as it should be."""
    workers = next((int(word) for word in sys.argv[1:] if word.isdigit()), WORKERS)
    storm = run(workers)
    for what, seen in rows(storm):
        print(f"{what:42} {seen}")
    wrong = storm.faults()
    for fault in wrong:
        print(f"wrong: {fault}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

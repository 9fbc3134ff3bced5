"""The way to the first call: from `agiraph run` until a model service hears of it.

The run is a whole one on a fresh home, without a supervisor: it starts the house, the coordinator
thinks, the model service notes when. The peer is a fresh interpreter that imports a provider's SDK.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.figures import Figure
from benchmarks.lodging import ROOT, until
from benchmarks.slow_models import calls_of, env_of, slow_models

ROUNDS = 5
QUICK_ROUNDS = 1
AIM = 1.0
LOOK_SECONDS = 0.05
GOAL = "Have a team of 1 work."

Result = dict[str, float]


def run(*, is_quick: bool = False) -> Result:
    """Begin runs, in turns with the peer; return the medians in seconds."""
    rounds = range(QUICK_ROUNDS if is_quick else ROUNDS)
    with slow_models() as address:
        pairs = [(_first_call(address), _imported()) for _ in rounds]
    return {
        "first_call": statistics.median(ours for ours, _ in pairs),
        "sdk_import": statistics.median(peer for _, peer in pairs),
    }


def _first_call(address: str) -> float:
    """Return the seconds from the start of a run to its first model call."""
    before = len(calls_of(address))
    with tempfile.TemporaryDirectory(prefix="agiraph-bench-") as home:
        began = time.monotonic()
        process = _start(
            ("-P", "-m", "agiraph", "run", GOAL, "--model", "anthropic/fake", "--home", home),
            {**os.environ, **env_of(address), "PYTHONPATH": str(ROOT)},
        )
        try:
            came = until(lambda: calls_of(address)[before:], "the first call", LOOK_SECONDS)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()
    return came[0][0] - began


def _imported() -> float:
    """Return the seconds in which a fresh interpreter has imported an SDK."""
    began = time.monotonic()
    _start(("-c", "import anthropic"), dict(os.environ)).communicate()
    return time.monotonic() - began


def _start(arguments: Sequence[str], environ: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def figures(result: Result) -> list[Figure]:
    """Return the ratio to look at."""
    ours, peer = result["first_call"], result["sdk_import"]
    times = f"{ours / peer:.2f} times a bare import of the provider's SDK, {peer:.2f} s"
    return [
        Figure(
            "`agiraph run`, a house to open: until the first model call arrives",
            "1.5 s",
            ours / 1.5,
            "at most",
            AIM,
            f"{ours:.2f} s ({times})",
        )
    ]


def main() -> None:
    """Print both medians."""
    for name, seconds in run(is_quick="--quick" in sys.argv).items():
        print(f"{name:12} {seconds:6.2f} s")


if __name__ == "__main__":
    main()

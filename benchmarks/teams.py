"""Teams: how long a team takes beside its critical path, and how soon a run makes its first call.

The critical path is what no team could do without: the coordinator's call that opens the stage, one
worker's ten calls, the coordinator's call that finishes; measured from the first call to the end of
the run. The first call is measured from the start of an `agiraph run` with no supervisor on its
home; the peer is a fresh interpreter that imports one provider SDK.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.model_service import CALL_SECONDS, TURNS, ModelService, model_service
from benchmarks.product import Options, Product, RunningHome, progress, wait_until
from benchmarks.report import Figure, at_most

AIMS = {3: 1.05, 50: 1.2}
SETTINGS = """
run: {max_concurrent: 50, max_workers: 64}
broker: {concurrent_calls: 64}
"""
PATH_SECONDS = (TURNS + 2) * CALL_SECONDS
FIRST_CALL_SECONDS = 1.5


def run(options: Options) -> list[Figure]:
    """Have teams work; return the median seconds of a run by the team's size, as ratios."""
    found = []
    with (
        model_service() as service,
        options.product.home(service.environ, SETTINGS) as home,
    ):
        for size, aim in AIMS.items():
            progress(f"a team of {size}")
            seconds = statistics.median(
                _team_seconds(home, service, size) for _ in range(options.count(3, 1))
            )
            found.append(
                at_most(
                    f"team of {size}, {TURNS} turns each: wall time",
                    f"its critical path at {CALL_SECONDS} s a call",
                    seconds / PATH_SECONDS,
                    aim,
                    f"{seconds:.2f} and {PATH_SECONDS:.2f} s",
                )
            )
    return found


def run_first_call(options: Options) -> list[Figure]:
    """Start runs, in turns with the peer; return the median."""
    pairs = []
    with model_service() as service:
        for number in range(options.count(5, 1)):
            progress(f"run {number + 1}")
            pairs.append((_first_call(options.product, service), _sdk_import()))
    ours, peer = (statistics.median(each) for each in zip(*pairs, strict=True))
    seen = (
        f"{ours:.2f} s ({ours / peer:.2f} times a bare import of the provider's SDK, {peer:.2f} s)"
    )
    what = "`agiraph run` without a supervisor: until the first model call arrives"
    return [at_most(what, "1.5 s", ours / FIRST_CALL_SECONDS, 1.0, seen)]


def sample(product: Product) -> dict[str, float]:
    """Return the seconds of one run of a team of three, and of the way to the first call."""
    with model_service() as service:
        first_call = _first_call(product, service)
        with product.home(service.environ, SETTINGS) as home:
            _team_seconds(home, service, 3)  # the first one warms up
            return {"team_of_3_s": _team_seconds(home, service, 3), "first_call_s": first_call}


def _team_seconds(home: RunningHome, service: ModelService, size: int) -> float:
    before = len(service.calls())
    agent = home.create(f"Have a team of {size} work.")
    record = home.files(agent).record

    def ended() -> str:
        status = json.loads(record.read_text(encoding="utf-8"))["status"] if record.exists() else ""
        return status if status in ("completed", "failed") else ""

    status = wait_until(ended, f"the end of a team of {size}", 0.01)
    ended_at = time.monotonic()
    calls = service.calls()[before:]
    workers = sum(who == "worker" for _, who, _ in calls)
    home.client.stop(agent)
    if status != "completed" or workers != size * TURNS:
        raise RuntimeError(f"a team of {size} {status} after {workers} calls of workers")
    return ended_at - calls[0][0]


def _first_call(product: Product, service: ModelService) -> float:
    before = len(service.calls())
    with tempfile.TemporaryDirectory(prefix="agiraph-bench-") as home:
        goal = ("run", "Have a team of 1 work.", "--model", "anthropic/fake", "--home", home)
        began = time.monotonic()
        process = subprocess.Popen(
            product.command(*goal),
            env=product.environ(service.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            calls = wait_until(lambda: service.calls()[before:], "the first call", 0.05)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    return calls[0][0] - began


def _sdk_import() -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import anthropic"], env=os.environ, check=True)
    return time.monotonic() - began

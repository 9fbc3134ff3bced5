"""Teams: how long a team takes against its critical path, when a model call takes half a second.

The critical path of a run is what no team could do without: the coordinator's call that opens the
stage, a worker's ten calls one after the other, and the coordinator's call that finishes. It lasts
from the first call until the run's end stands in the agent's record.
"""

import json
import statistics
import sys
import time
from collections.abc import Sequence

from agiraph.http.api import CreateAgentRequest
from agiraph.http.client import Client
from agiraph.storage.home import Home
from benchmarks.figures import Figure
from benchmarks.lodging import lodging, until
from benchmarks.slow_models import CALL_SECONDS, TURNS, calls_of, env_of, slow_models

SIZES = (3, 50)
AIMS = {3: 1.05, 50: 1.2}
ROUNDS = 3
QUICK_ROUNDS = 1
SETTINGS = """
run: {max_concurrent: 50, max_workers: 64}
broker: {concurrent_calls: 64}
"""
PATH_SECONDS = (TURNS + 2) * CALL_SECONDS
LOOK_SECONDS = 0.01

Result = dict[str, float]


def run(*, is_quick: bool = False, sizes: Sequence[int] = SIZES) -> Result:
    """Let teams work; return the median seconds of a run by the team's size."""
    rounds = QUICK_ROUNDS if is_quick else ROUNDS
    with (
        slow_models() as address,
        lodging(SETTINGS, environ=env_of(address)) as (home, _),
        Client.for_home(home) as client,
    ):
        return {
            f"team_of_{size}": statistics.median(
                _one(client, Home(home), address, size) for _ in range(rounds)
            )
            for size in sizes
        }


def _one(client: Client, home: Home, address: str, size: int) -> float:
    """Return the seconds from a team's first model call to the end of its run."""
    before = len(calls_of(address))
    request = CreateAgentRequest(goal=f"Have a team of {size} work.", model="anthropic/fake")
    agent = client.create_agent(request).id
    record = home.agent(agent).record

    def has_ended() -> str:
        status = json.loads(record.read_text(encoding="utf-8"))["status"] if record.exists() else ""
        return status if status in ("completed", "failed") else ""

    status = until(has_ended, "the run's end", LOOK_SECONDS)
    ended = time.monotonic()
    calls = calls_of(address)[before:]
    workers = sum(who == "worker" for _, who in calls)
    client.stop(agent)
    if status != "completed" or workers != size * TURNS:
        raise RuntimeError(f"a team of {size} {status} after {workers} calls of workers")
    return ended - calls[0][0]


def figures(result: Result) -> list[Figure]:
    """Return the ratios to look at."""
    return [
        Figure(
            f"team of {size}, {TURNS} turns each: wall time",
            f"its critical path at {CALL_SECONDS} s a call",
            result[f"team_of_{size}"] / PATH_SECONDS,
            "at most",
            AIMS[size],
            f"{result[f'team_of_{size}']:.2f} and {PATH_SECONDS:.2f} s",
        )
        for size in SIZES
        if f"team_of_{size}" in result
    ]


def main() -> None:
    """Print the seconds of each size; sizes may be named (`python -m benchmarks.teams 3 50`)."""
    sizes = [int(word) for word in sys.argv[1:] if word.isdigit()] or SIZES
    for name, seconds in run(is_quick="--quick" in sys.argv, sizes=sizes).items():
        print(f"{name:14} {seconds:6.2f} s   {seconds / PATH_SECONDS:.3f} of the critical path")


if __name__ == "__main__":
    main()

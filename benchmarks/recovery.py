"""Deaths, stops and sleep: how fast a killed worker is back, a stop is through, the parked wake.

Every row is of real processes under a real supervisor. The peer of what begins a process is the
birth of a worker under the same supervisor, measured in turns with it; the peer of a stop is the
bound that is promised; the peer of what is written to disk is a plain append that is synced.
"""

import json
import sys

from benchmarks import parking, stopping
from benchmarks.figures import Figure
from benchmarks.hand import DEATHS, RESULT
from benchmarks.lodging import lodging, until

KILLS = 100
QUICK_KILLS = 20
QUICK_PARKED = 30
STOPS = 5
QUICK_STOPS = 1
STOP_BOUND_MS = 5_000.0
LOOK_SECONDS = 0.1
WITHIN_SECONDS = 300.0

Result = dict[str, float]


def run(*, is_quick: bool = False, is_full: bool = False) -> Result:
    """Measure deaths, disk, stops and parking; return milliseconds, bytes and counts.

    Empty where it cannot be measured: workers are forked on Linux only.
    """
    if sys.platform != "linux":
        return {}
    kills, stops, parked = KILLS, STOPS, parking.PARKED
    if is_quick:
        kills, stops, parked = QUICK_KILLS, QUICK_STOPS, QUICK_PARKED
    if is_full:
        parked = parking.FULL_PARKED
    return {**_deaths(kills), **stopping.run(stops), **parking.run(parked)}


def figures(result: Result) -> list[Figure]:
    """Return the ratios to look at; none where it was not measured."""
    if not result:
        return []
    return [*_death_figures(result), *_stop_figures(result), *_parking_figures(result)]


def _deaths(kills: int) -> Result:
    """Let the hand measure, and return what it found."""
    command = ("-m", "benchmarks.hand")
    with lodging(command=command, environ={DEATHS: str(kills)}) as (home, _):
        path = home / RESULT
        until(path.exists, "the hand's result", LOOK_SECONDS, WITHIN_SECONDS)
        result: Result = json.loads(path.read_text(encoding="utf-8"))
        return result


def _death_figures(result: Result) -> list[Figure]:
    birth = result["birth_p50_ms"]
    found = [
        Figure(
            f"worker, kill -9 to its next incarnation with the message that waited: p{percent}",
            "the birth of a worker (p50)",
            result[f"death_p{percent}_ms"] / birth,
            "at most",
            aim,
            f"{result[f'death_p{percent}_ms']:.1f} and {birth:.1f} ms",
        )
        for percent, aim in ((50, 2.0), (99, 4.0))
    ]
    if "disk_in_stream" in result:
        append = result["disk_append"]
        ways = (("in a stream", "disk_in_stream", 2.0), ("one by one", "disk_one_by_one", 10.0))
        found += [
            Figure(
                f"router, disk written for a durable message, {words}",
                "a plain append, synced",
                result[key] / append,
                "at most",
                aim,
                f"{result[key]:,.0f} and {append:,.0f} bytes",
            )
            for words, key, aim in ways
        ]
    return found


def _stop_figures(result: Result) -> list[Figure]:
    ways = (("in a model call", "thinking"), ("in bash, with a child in a session", "running"))
    return [
        Figure(
            f"stop of a worker {words}: slowest",
            "the bound of 5 s",
            result[f"{key}_max_ms"] / STOP_BOUND_MS,
            "at most",
            1.0,
            f"{result[f'{key}_max_ms']:.0f} ms (p50 {result[f'{key}_p50_ms']:.0f} ms) "
            f"of {result['stops']:.0f} stops",
        )
        for words, key in ways
    ]


def _parking_figures(result: Result) -> list[Figure]:
    count, living = result["parked"], result["living_kb"]
    birth = result["birth_p50_ms"]
    return [
        Figure(
            "parked agent, text sent over HTTP until it stands in its journal: p50",
            "the birth of a worker (p50)",
            result["wake_p50_ms"] / birth,
            "at most",
            4.0,
            f"{result['wake_p50_ms']:.0f} and {birth:.1f} ms (slowest {result['wake_max_ms']:.0f})",
        ),
        Figure(
            f"parked agent, memory of supervisor and router: of {count:,.0f}",
            "one that is left running (PSS)",
            result["core_kb"] / living,
            "at most",
            0.002,
            f"{result['core_kb']:.1f} and {living:,.0f} KB (all services {result['house_kb']:.1f})",
        ),
        Figure(
            f"parked agent, processes: of {count:,.0f}",
            "one each",
            result["processes"] / count,
            "at most",
            0.0,
            f"{result['processes']:.0f} processes",
        ),
    ]


def main() -> None:
    """Print every figure; `--quick` less of everything, `--full` a thousand parked agents."""
    result = run(is_quick="--quick" in sys.argv, is_full="--full" in sys.argv)
    for name, value in result.items():
        print(f"{name:20} {value:12,.2f}")


if __name__ == "__main__":
    main()

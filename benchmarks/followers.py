"""A crowd before the gateway: does the team work on as if nobody looked, and is it still reached?

A team of three works, each model call half a second: alone, then while 200 WebSockets follow its
events, then while a thousand calls a second are made as well (`benchmarks/crowd.py` says which). In
each, a person writes to the coordinator again and again while it waits for its workers: timed from
the POST until the text stands, synced, in the coordinator's journal, which is its yield point.
"""

import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from agiraph.api import CreateAgent
from agiraph.client import Client, read_door
from agiraph.home import AgentHome, Home
from benchmarks.crowd import JsonObject, crowd
from benchmarks.figures import Figure
from benchmarks.lodging import lodging, until
from benchmarks.slow_models import CALL_SECONDS, calls_of, env_of, slow_models

FOLLOWERS = 200
CALLS_PER_SECOND = 1000
SECONDS = 60.0
QUICK_SECONDS = 10.0
WORKERS = 3
AIM_MS = 50.0
PAUSE_SECONDS = 0.9
OTHER = "Have a team of 1 take 200 turns each."
SETTINGS = "http: {calls_per_second: 100000, burst: 100000}\n"

Result = dict[str, float]


@dataclass(frozen=True, slots=True)
class Phase:
    """One run: how long each text took to arrive, and a worker's turn."""

    arrivals: list[float]
    turn_seconds: float


def run(*, is_quick: bool = False) -> Result:
    """Let a team work alone and before a crowd; return what was measured."""
    seconds = QUICK_SECONDS if is_quick else SECONDS
    read: JsonObject = {}
    seen: JsonObject = {}
    with (
        slow_models() as address,
        lodging(SETTINGS, environ=env_of(address)) as (home, _),
        Client.for_home(home) as client,
    ):
        alone = _phase(client, Home(home), address, min(seconds, 20.0))
        followed = _phase(client, Home(home), address, min(seconds, 20.0), read)
        crowded = _phase(client, Home(home), address, seconds, seen, CALLS_PER_SECOND)
    return {
        "alone_p50_ms": 1e3 * statistics.median(alone.arrivals),
        "followed_p50_ms": 1e3 * statistics.median(followed.arrivals),
        "followed_max_ms": 1e3 * max(followed.arrivals),
        "followed_turn_ms": 1e3 * followed.turn_seconds,
        "followed_gaps": float(read["gaps"] + read["dropped"]),
        "crowded_p50_ms": 1e3 * statistics.median(crowded.arrivals),
        "crowded_max_ms": 1e3 * max(crowded.arrivals),
        "alone_turn_ms": 1e3 * alone.turn_seconds,
        "crowded_turn_ms": 1e3 * crowded.turn_seconds,
        **{name: float(value) for name, value in seen.items()},
    }


def _phase(
    client: Client,
    home: Home,
    address: str,
    seconds: float,
    seen: JsonObject | None = None,
    calls_per_second: float = 0.0,
) -> Phase:
    """Have one team work for so long, before a crowd if `seen` is there to be filled."""
    turns = int(seconds / CALL_SECONDS) + 2
    before = len(calls_of(address))
    goal = f"Have a team of {WORKERS} take {turns} turns each."
    agent = client.create_agent(CreateAgent(goal=goal, model="anthropic/fake")).id
    mind = home.agent(agent)
    until(lambda: len(client.workers(agent)) == WORKERS, "the team", 0.05)
    if seen is None:
        arrivals = _write_to(client, mind, agent, seconds)
    else:
        url, token = read_door(home.path)
        other = client.create_agent(CreateAgent(goal=OTHER, model="anthropic/fake")).id
        until(lambda: client.workers(other), "the other team", 0.05)
        gateway = psutil.Process(client.health().pid)
        with crowd(url, token, agent, other, FOLLOWERS, calls_per_second) as there:
            used = sum(gateway.cpu_times()[:2])
            arrivals = _write_to(client, mind, agent, seconds)
            used = sum(gateway.cpu_times()[:2]) - used
            seen.update(there.leave())
            seen["gateway_core"] = used / seen["seconds"]
        client.stop(other)
    client.stop(agent)
    calls = [came for came, who in calls_of(address)[before:] if who == "worker"]
    span = max(calls) - min(calls)
    return Phase(arrivals, span * WORKERS / max(1, len(calls) - WORKERS))


def _write_to(client: Client, mind: AgentHome, agent: str, seconds: float) -> list[float]:
    """Write to the coordinator for so long; return how long each text took to be in its mind."""
    arrivals = []
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        time.sleep(PAUSE_SECONDS)  # it answers the text before, and waits again
        text = f"How far are you? {time.monotonic_ns()}"
        size = mind.conversation.stat().st_size
        began = time.monotonic()
        client.send(agent, text)
        _await_text(mind.conversation, size, text)
        arrivals.append(time.monotonic() - began)
    return arrivals


def _await_text(journal: Path, size: int, text: str) -> None:
    until(lambda: text in _after(journal, size), "the text")


def _after(path: Path, offset: int) -> str:
    with open(path, "rb") as file:
        file.seek(offset, os.SEEK_SET)
        return file.read().decode(errors="replace")


def figures(result: Result) -> list[Figure]:
    """Return the ratios to look at."""
    alone, followed, crowded = (
        result[f"{name}_p50_ms"] for name in ("alone", "followed", "crowded")
    )
    lost = f"{result['followed_gaps'] + result['gaps'] + result['dropped']:.0f} frames lost"
    return [
        Figure(
            f"from POST send to the yield point, {FOLLOWERS} followers",
            f"{AIM_MS:g} ms",
            followed / AIM_MS,
            "at most",
            1.0,
            f"median {followed:.1f} ms, slowest {result['followed_max_ms']:.0f} ms; {lost}",
        ),
        Figure(
            "the same",
            "an idle gateway",
            followed / alone,
            "at most",
            2.0,
            f"{followed:.1f} and {alone:.1f} ms",
        ),
        Figure(
            f"the same, and {CALLS_PER_SECOND:,} calls a second",
            "an idle gateway",
            crowded / alone,
            "at most",
            4.0,
            f"{crowded:.1f} and {alone:.1f} ms",
        ),
        Figure(
            f"calls a second beside {FOLLOWERS} followers",
            f"{CALLS_PER_SECOND} a second",
            result["per_second"] / CALLS_PER_SECOND,
            "at least",
            0.99,
            f"{result['per_second']:.0f} for {result['seconds']:.0f} s,"
            f" {result['refusals']:.0f} refused, median {result['answer_p50_ms']:.1f} ms,"
            f" {100 * result['gateway_core']:.0f}% of a core",
        ),
        Figure(
            "a worker's turn meanwhile",
            "its turn when nobody looks",
            result["crowded_turn_ms"] / result["alone_turn_ms"],
            "at most",
            1.05,
            f"{result['crowded_turn_ms']:.0f} and {result['alone_turn_ms']:.0f} ms",
        ),
    ]


if __name__ == "__main__":
    print(json.dumps(run(is_quick="--quick" in sys.argv), indent=1))

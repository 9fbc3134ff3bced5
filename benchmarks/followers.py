"""A crowd before the gateway: does the team work on as if nobody looked, and is it still reached?

A team of three works, each model call half a second: alone, then while 200 WebSockets follow its
events, then while a thousand calls a second are made as well (`benchmarks/callers.py` says which).
In each, a person writes to the coordinator again and again while it waits for its workers: timed
from the POST until the text stands, synced, in the coordinator's journal, which is its yield point.

    python -m benchmarks.followers [--rate 1000] [--followers 200] [--seconds 60] [--quick] [--json]
"""

import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import click
import psutil

from agiraph.http.api import CreateAgentRequest
from agiraph.http.client import Client, read_door
from agiraph.storage.home import AgentHome, Home
from benchmarks.crowd import Crowd, Process, crowd
from benchmarks.figures import Figure
from benchmarks.lodging import lodging, until
from benchmarks.shares import Stretch, kind_of, tree
from benchmarks.slow_models import CALL_SECONDS, env_of, slow_models, worker_calls_of

FOLLOWERS = 200
CALLS_PER_SECOND = 1000.0
SECONDS = 60.0
QUICK_SECONDS = 10.0
SHORT_SECONDS = 20.0
WORKERS = 3
AIM_MS = 50.0
PAUSE_SECONDS = 0.9
QUIET_SECONDS = 0.5
OTHER = "Have a team of 1 take 999 turns each."
SETTINGS = "{http: {calls_per_second: 100000, burst: 100000}, run: {max_iterations: 2000}}\n"

Result = dict[str, float]


@dataclass(frozen=True, slots=True)
class Size:
    """How large a crowd comes, and for how long."""

    followers: int = FOLLOWERS
    rate: float = CALLS_PER_SECOND
    seconds: float = SECONDS


@dataclass(slots=True)
class Phase:
    """One run: how long each text took to arrive, a worker's turn, what the crowd saw."""

    arrivals: list[float]
    turn_seconds: float = 0.0
    told: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)


def run(*, is_quick: bool = False) -> Result:
    """Let a team work alone and before a crowd; return what was measured."""
    return measure(Size(seconds=QUICK_SECONDS if is_quick else SECONDS))


def measure(size: Size, say: Callable[[str], None] = lambda _: None) -> Result:
    """Let a team work alone and before a crowd of that size; `say` hears what begins."""
    with (
        slow_models() as address,
        lodging(SETTINGS, environ=env_of(address)) as (home, supervisor),
        Client.for_home(home) as client,
    ):
        house = _House(client, Home(home), address, supervisor)
        short = min(size.seconds, SHORT_SECONDS)
        say(f"alone, {short:g} s ...")
        alone = house.work(Size(0, 0.0, short))
        say(f"before {size.followers} followers, {short:g} s ...")
        followed = house.work(Size(size.followers, 0.0, short))
        say(f"and {size.rate:g} calls a second, {size.seconds:g} s ...")
        crowded = house.work(size)
    result: Result = {"asked_per_second": size.rate, "followers": float(size.followers)}
    for name, phase in (("alone", alone), ("followed", followed), ("crowded", crowded)):
        result |= {
            f"{name}_p50_ms": 1e3 * statistics.median(phase.arrivals),
            f"{name}_max_ms": 1e3 * max(phase.arrivals),
            f"{name}_turn_ms": 1e3 * phase.turn_seconds,
        }
        result |= {f"{name}_{part}_core": share for part, share in phase.shares.items()}
    result |= {f"followed_{what}": count for what, count in followed.told.items()}
    used = crowded.shares["gateway"] - followed.shares["gateway"]
    cost = {"call_cpu_ms": 1e3 * used / crowded.told["per_second"]} if size.rate else {}
    return result | crowded.told | cost


class _House:
    """A house with a person in it who writes; teams come and go."""

    def __init__(
        self, client: Client, home: Home, address: str, supervisor: psutil.Process
    ) -> None:
        self._client = client
        self._home = home
        self._address = address
        self._supervisor = supervisor

    def work(self, size: Size) -> Phase:
        """Have one team work for so long before a crowd of that size."""
        turns = int(size.seconds / CALL_SECONDS) + 2
        before = len(worker_calls_of(self._address, turns))
        agent = self._team(f"Have a team of {WORKERS} take {turns} turns each.", WORKERS)
        other = self._team(OTHER, 1)
        door = read_door(self._home.path)
        with crowd(door, agent, other, size.followers, size.rate) as there:
            stretch = Stretch(lambda: self._parts(there))
            phase = Phase(self._write_to(agent, size.seconds))
            phase.shares = stretch.end()
            phase.told |= there.hang_up()
            self._client.stop(other)
            self._client.stop(agent)
            phase.told |= there.leave(self._events_of(agent))
        phase.turn_seconds = _turn(worker_calls_of(self._address, turns)[before:])
        return phase

    def _team(self, goal: str, size: int) -> str:
        agent = self._client.create_agent(CreateAgentRequest(goal=goal, model="anthropic/fake")).id
        until(lambda: len(self._client.workers(agent)) == size, "the team", 0.05)
        return agent

    def _parts(self, there: Crowd) -> dict[str, list[psutil.Process]]:
        """Return whose processor time is told apart."""
        parts: dict[str, list[psutil.Process]] = {"gateway": []}
        for process in tree(self._supervisor):
            kind = kind_of(process)
            parts.setdefault("gateway" if kind == "human" else kind or "run", []).append(process)
        own = psutil.Process()
        crowd_of = {"callers": there.callers, "watchers": there.watchers}
        ours = {name: _as_list(process) for name, process in crowd_of.items()}
        known = {one.pid for processes in (*parts.values(), *ours.values()) for one in processes}
        models = [one for one in own.children() if one.pid not in known]
        return {**ours, **parts, "models": models, "measuring": [own]}

    def _events_of(self, agent: str) -> int:
        """Return how many events an agent's log has, once nothing more comes."""
        seen = [-1]

        def is_at_rest() -> bool:
            time.sleep(QUIET_SECONDS)
            seen.append(self._client.agent(agent).last_event)
            return seen[-1] == seen[-2]

        until(is_at_rest, "the end of the log")
        return seen[-1]

    def _write_to(self, agent: str, seconds: float) -> list[float]:
        """Write to the coordinator for so long; return how long each text took to arrive."""
        arrivals, mind = [], self._home.agent(agent)
        give_up_at = time.monotonic() + seconds
        while time.monotonic() < give_up_at:
            time.sleep(PAUSE_SECONDS)  # it answers the text before, and waits again
            arrivals.append(_write(self._client, mind, agent))
        return arrivals


def _write(client: Client, mind: AgentHome, agent: str) -> float:
    text = f"How far are you? {time.monotonic_ns()}"
    size = mind.conversation.stat().st_size
    began = time.monotonic()
    client.send(agent, text)
    until(lambda: text in _after(mind.conversation, size), "the text")
    return time.monotonic() - began


def _after(path: Path, offset: int) -> str:
    with open(path, "rb") as file:
        file.seek(offset, os.SEEK_SET)
        return file.read().decode(errors="replace")


def _as_list(process: Process | None) -> list[psutil.Process]:
    return [psutil.Process(process.pid)] if process is not None else []


def _turn(calls: list[float]) -> float:
    """Return the seconds of one worker's turn, from when all workers' calls came."""
    return (max(calls) - min(calls)) * WORKERS / max(1, len(calls) - WORKERS)


def figures(result: Result) -> list[Figure]:
    """Return the ratios to look at."""
    alone, followed, crowded = (
        result[f"{name}_p50_ms"] for name in ("alone", "followed", "crowded")
    )
    asked, followers = result["asked_per_second"], result["followers"]
    missing = _missing(result, "followed_") + _missing(result, "")
    return [
        Figure(
            f"from POST send to the yield point, {followers:.0f} followers",
            f"{AIM_MS:g} ms",
            followed / AIM_MS,
            "at most",
            1.0,
            f"median {followed:.1f} ms, slowest {result['followed_max_ms']:.0f} ms;"
            f" {missing:.0f} frames missing",
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
            f"the same, and {asked:,.0f} calls a second",
            "an idle gateway",
            crowded / alone,
            "at most",
            4.0,
            f"{crowded:.1f} and {alone:.1f} ms",
        ),
        Figure(
            f"calls a second beside {followers:.0f} followers",
            f"{asked:,.0f} a second",
            result["per_second"] / asked,
            "at least",
            0.99,
            f"{result['per_second']:.0f} for {result['call_seconds']:.0f} s,"
            f" {result['refusals']:.0f} refused, median {result['answer_p50_ms']:.1f} ms,"
            f" {100 * result['crowded_gateway_core']:.0f}% of a core",
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


def _missing(result: Result, phase: str) -> float:
    """Return how many frames were lost, doubled, out of order, or unlike another follower's."""
    return sum(result[f"{phase}{what}"] for what in ("lost", "doubled", "out_of_order", "unlike"))


@click.command()
@click.option("--rate", default=CALLS_PER_SECOND, show_default=True, help="Calls a second.")
@click.option("--followers", default=FOLLOWERS, show_default=True, help="WebSockets.")
@click.option("--seconds", default=SECONDS, show_default=True, help="How long both are there.")
@click.option("--quick", is_flag=True, help=f"{QUICK_SECONDS:g} seconds: noisy.")
@click.option("--json", "as_json", is_flag=True, help="Print all that was measured as JSON.")
def main(rate: float, followers: int, seconds: float, quick: bool, as_json: bool) -> None:
    """Measure a team before a crowd."""
    from benchmarks.crowd_table import table

    size = Size(followers, rate, QUICK_SECONDS if quick else seconds)
    result = measure(size, lambda what: click.echo(what, err=True))
    click.echo(json.dumps(result, indent=1) if as_json else table(result))


if __name__ == "__main__":
    main()

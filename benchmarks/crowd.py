"""A crowd at the gateway: does the team work on as if nobody looked, and can it still be reached?

A team of three works, each model call half a second: alone, then while 200 WebSockets follow its
events, then while 200 calls a second are made as well. In each phase a person writes to the
coordinator again and again: timed from the POST until the text is, synced, in the coordinator's
journal.
"""

import json
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import psutil

from benchmarks.model_service import CALL_SECONDS, ModelService, model_service
from benchmarks.product import (
    Options,
    RunningHome,
    cpu_seconds,
    progress,
    seconds_until_in,
    started,
    wait_until,
)
from benchmarks.report import Figure, at_least, at_most

FOLLOWERS = 200
CALLS_PER_SECOND = 200.0
SECONDS, QUICK_SECONDS = 15.0, 6.0
WORKERS = 3
PAUSE_SECONDS = 0.9
AIM_MS = 50.0
SETTINGS = "{http: {calls_per_second: 100000, burst: 100000}, run: {max_iterations: 2000}}\n"

Process = subprocess.Popen[str]


@dataclass(slots=True)
class Phase:
    """How long each text took to arrive, a worker's turn, the gateway's share of a core."""

    arrivals: list[float]
    turn_seconds: float
    gateway_core: float
    seen: dict[str, float] = field(default_factory=dict)

    @property
    def text_ms(self) -> float:
        """Return the median milliseconds of a text."""
        return 1e3 * statistics.median(self.arrivals)


def run(options: Options) -> list[Figure]:
    """Have a team work alone and with a crowd at the gateway."""
    seconds = QUICK_SECONDS if options.is_quick else SECONDS
    with model_service() as service, options.product.home(service.environ, SETTINGS) as home:
        progress(f"alone, {seconds:g} s")
        alone = _phase(home, service, seconds)
        progress(f"{FOLLOWERS} followers, {seconds:g} s")
        followed = _phase(home, service, seconds, FOLLOWERS)
        progress(f"and {CALLS_PER_SECOND:g} calls a second, {seconds:g} s")
        crowded = _phase(home, service, seconds, FOLLOWERS, CALLS_PER_SECOND)
    return _figures(alone, followed, crowded)


def _phase(
    home: RunningHome,
    service: ModelService,
    seconds: float,
    followers: int = 0,
    rate: float = 0.0,
) -> Phase:
    turns = int(seconds / CALL_SECONDS) + 2
    before = len(service.calls())
    agent = _team(home, WORKERS, turns)
    other = _team(home, 1, 999)
    gateway = psutil.Process(home.pid("human"))
    with ExitStack() as stack:
        watching = calling = None
        if followers:
            followed = _crowd("followers", str(home.folder), agent, str(followers))
            watching = stack.enter_context(followed)
        if rate:
            called = _crowd("callers", str(home.folder), agent, other, str(rate))
            calling = stack.enter_context(called)
        used, began = cpu_seconds(gateway), time.monotonic()
        arrivals = _write(home, agent, seconds)
        core = (cpu_seconds(gateway) - used) / (time.monotonic() - began)
        seen = _result(calling, "") if calling else {}
        home.client.stop(other)
        home.client.stop(agent)
        if watching:
            seen |= _result(watching, f"{_last_event(home, agent)}\n")
    calls = [at for at, who, of in service.calls()[before:] if (who, of) == ("worker", turns)]
    turn = (max(calls) - min(calls)) * WORKERS / max(1, len(calls) - WORKERS)
    return Phase(arrivals, turn, core, seen)


def _team(home: RunningHome, size: int, turns: int) -> str:
    agent = home.create(f"Have a team of {size} take {turns} turns each.")
    wait_until(lambda: len(home.client.workers(agent)) == size, "the team", 0.05)
    return agent


def _write(home: RunningHome, agent: str, seconds: float) -> list[float]:
    """Write to the coordinator for so long; return how long each text took to arrive."""
    arrivals, journal = [], home.files(agent).conversation
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        time.sleep(PAUSE_SECONDS)  # it answers the text before, and waits again
        text = f"How far are you? {time.monotonic_ns()}"
        arrivals.append(seconds_until_in(journal, text, lambda: home.client.send(agent, text)))  # noqa: B023 (called at once)
    return arrivals


def _last_event(home: RunningHome, agent: str) -> int:
    """Return how many events an agent's log has, once no more are written."""
    seen = [-1]

    def is_at_rest() -> bool:
        time.sleep(0.5)
        seen.append(home.client.agent(agent).last_event)
        return seen[-1] == seen[-2]

    wait_until(is_at_rest, "the end of the log")
    return seen[-1]


@contextmanager
def _crowd(*words: str) -> Iterator[Process]:
    with started(["-m", "benchmarks.crowd_client", *words]) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"the {words[0]} could not connect")
        yield process


def _result(process: Process, last_words: str) -> dict[str, float]:
    out, _ = process.communicate(last_words, timeout=60)
    if process.returncode:
        raise RuntimeError("a part of the crowd failed; its error is above")
    found: dict[str, float] = json.loads(out.splitlines()[-1])
    return found


def _figures(alone: Phase, followed: Phase, crowded: Phase) -> list[Figure]:
    seen = crowded.seen
    wrong = ("lost", "doubled", "out_of_order", "different", "cut_off")
    missing = sum(phase.seen[what] for phase in (followed, crowded) for what in wrong)
    events = followed.seen["events"] + seen["events"]
    cost = 1e3 * (crowded.gateway_core - followed.gateway_core) / seen["per_second"]
    return [
        at_most(f"text over HTTP until it is journaled, {FOLLOWERS} followers", f"{AIM_MS:g} ms",
                followed.text_ms / AIM_MS, 1.0,
                f"median {followed.text_ms:.1f} ms, slowest {1e3 * max(followed.arrivals):.0f} ms"),
        at_most(f"the same, and {CALLS_PER_SECOND:g} calls a second", "nobody at the gateway",
                crowded.text_ms / alone.text_ms, 4.0,
                f"{crowded.text_ms:.1f} and {alone.text_ms:.1f} ms"),
        at_most(f"frames lost, doubled or different, of {FOLLOWERS} followers", "frames",
                missing / (events * FOLLOWERS), 0.0, f"{missing:.0f} of {events * FOLLOWERS:,.0f}"),
        at_least(f"calls a second beside {FOLLOWERS} followers", f"{CALLS_PER_SECOND:g} a second",
                 seen["per_second"] / CALLS_PER_SECOND, 0.99,
                 f"{seen['refused']:.0f} refused, {seen['unanswered']:.0f} unanswered, median"
                 f" {seen['call_p50_ms']:.1f} ms, p99 {seen['call_p99_ms']:.0f} ms"),
        at_most("gateway's processor time for a call", "5 ms", cost / 5.0, 1.0,
                f"{cost:.1f} ms; {crowded.gateway_core:.0%} of a core in all"),
        at_most("a worker's turn meanwhile", "its turn when nobody looks",
                crowded.turn_seconds / alone.turn_seconds, 1.05,
                f"{1e3 * crowded.turn_seconds:.0f} and {1e3 * alone.turn_seconds:.0f} ms"),
    ]  # fmt: skip

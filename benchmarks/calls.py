"""What a call costs the gateway: its own processor time, for each kind of call that a crowd makes.

A team of three works meanwhile. What the gateway uses while nobody calls is measured first and
taken off. The last row is the mix of all kinds, and what one core could carry of it.

    python -m benchmarks.calls [--rate 200] [--seconds 5] [--kind KIND]
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import click
import psutil

from agiraph.http.api import CreateAgentRequest
from agiraph.http.client import Client, read_door
from benchmarks.callers import ALL, MIX
from benchmarks.crowd import crowd
from benchmarks.lodging import lodging, until
from benchmarks.slow_models import CALL_SECONDS, env_of, slow_models

WORKERS = 3
SEND_SHARE = 4
SETTINGS = "{http: {calls_per_second: 100000, burst: 100000}, run: {max_iterations: 2000}}\n"

KINDS = (*MIX, ALL)

Costs = dict[str, float]


def run(rate: float, seconds: float, kinds: Sequence[str] = KINDS) -> Costs:
    """Return the milliseconds of processor time per call by kind, and of a second without one."""
    turns = int(2 * seconds * (len(MIX) + 2) / CALL_SECONDS) + 20
    with (
        slow_models() as address,
        lodging(SETTINGS, environ=env_of(address)) as (home, _),
        Client.for_home(home) as client,
    ):
        agent = _team(client, WORKERS, turns)
        other = _team(client, 1, turns)
        gateway = psutil.Process(client.health().pid)
        idle = _used_in(gateway, seconds)
        return {"nobody": 1e3 * idle} | {
            kind: 1e3 * _cost(gateway, home, (agent, other, kind), (rate, seconds), idle)
            for kind in kinds
        }


def _team(client: Client, size: int, turns: int) -> str:
    goal = f"Have a team of {size} take {turns} turns each."
    agent = client.create_agent(CreateAgentRequest(goal=goal, model="anthropic/fake")).id
    until(lambda: len(client.workers(agent)) == size, "the team", 0.05)
    return agent


def _used_in(gateway: psutil.Process, seconds: float) -> float:
    """Return the seconds of processor time that the gateway uses in one second by itself."""
    before, began = sum(gateway.cpu_times()[:2]), time.monotonic()
    time.sleep(seconds)
    return (sum(gateway.cpu_times()[:2]) - before) / (time.monotonic() - began)


def _cost(
    gateway: psutil.Process,
    home: Path,
    whom: tuple[str, str, str],
    pace: tuple[float, float],
    idle: float,
) -> float:
    agent, other, kind = whom
    rate, seconds = pace
    with crowd(
        read_door(home), agent, other, rate=rate / 4 if kind == "send" else rate, only=kind
    ) as there:
        before, began = sum(gateway.cpu_times()[:2]), time.monotonic()
        time.sleep(seconds)
        seen = there.hang_up()
        used = sum(gateway.cpu_times()[:2]) - before
    if seen["refusals"] or seen["unanswered"]:
        raise RuntimeError(f"{kind}: {seen}")
    return float((used - idle * (time.monotonic() - began)) / seen["answers"])


@click.command()
@click.option("--rate", default=200.0, help="Calls a second, of each kind in turn.")
@click.option("--seconds", default=5.0, help="How long each kind is called.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="This one alone.")
@click.option("--json", "as_json", is_flag=True)
def main(rate: float, seconds: float, kinds: tuple[str, ...], as_json: bool) -> None:
    """Measure what a call costs the gateway."""
    costs = run(rate, seconds, kinds or KINDS)
    if as_json:
        click.echo(json.dumps(costs))
        return
    click.echo(f"the gateway while nobody calls: {costs.pop('nobody') / 10:.1f}% of a core\n")
    click.echo("call            of a hundred   ms of processor   a core carries")
    for kind, cost in costs.items():
        share = MIX[kind][1] if kind in MIX else 100
        click.echo(f"{kind:<15} {share:>12} {cost:>17.3f} {1e3 / cost:>10,.0f} a second")


if __name__ == "__main__":
    main()

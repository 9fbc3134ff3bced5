"""What a parked agent costs and how fast it wakes: real agents, made through the HTTP API."""

import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from agiraph.http.api import CreateAgentRequest
from agiraph.http.client import Client
from agiraph.storage.home import Home
from benchmarks.lodging import team_lodging, until
from tests.fakes.model_server import Reply, SeenRequest, call, say

SETTINGS = "run:\n  park_after_seconds: 0.2\n"
PARKED = 100
FULL_PARKED = 1_000
WARM = 20
WAKES = 20
AT_ONCE = 4
LOOK_SECONDS = 0.25
SERVICES = ("supervisor", "router", "recorder", "broker", "human", "spawner")

Result = dict[str, float]


def brain(seen: SeenRequest) -> Reply:
    """Play coordinators that are done at once, and polite to who writes later."""
    return call("finish", summary="Nothing to do.") if seen.step == 0 else say("Heard.")


def run(count: int) -> Result:
    """Park `count` agents, weigh the house before and after, and wake some."""
    with team_lodging(brain, SETTINGS) as (home, supervisor), Client.for_home(home) as client:
        _park(client, home, WARM)
        before = _weights(client)
        began = time.monotonic()
        agents = _park(client, home, count)
        seconds = time.monotonic() - began
        after = _weights(client)
        left = [child for child in supervisor.children(recursive=True) if _is_agent(child)]
        wakes, living = [], []
        for agent in agents[:: max(1, count // WAKES)]:
            wakes.append(_wake(client, home, agent))
            living += _weigh_the_living(supervisor)
        grown = {name: (after[name] - before[name]) / count / 1024 for name in SERVICES}
        return {
            "parked": float(count),
            "seconds": seconds,
            "processes": float(len(left)),
            "core_kb": grown["supervisor"] + grown["router"],
            "house_kb": sum(grown.values()),
            "living_kb": statistics.median(living),
            "wake_p50_ms": 1e3 * statistics.median(wakes),
            "wake_max_ms": 1e3 * max(wakes),
            **{f"{name}_kb": kb for name, kb in grown.items()},
        }


def _park(client: Client, home: Path, count: int) -> list[str]:
    """Create agents and wait until all there are have parked; return the ids of the new ones."""
    request = CreateAgentRequest(goal="Nothing", model="anthropic/fake")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = pool.map(lambda _: client.create_agent(request).id, range(count))
        agents = [str(agent) for agent in made]

    def are_parked() -> bool:
        rows = [row for row in client.entities() if row.kind == "coordinator"]
        return all(row.pid is None and row.state == "parked" for row in rows)

    until(are_parked, f"{count} agents parked", LOOK_SECONDS, 60.0 + count)
    return agents


def _weights(client: Client) -> dict[str, int]:
    """Return the resident bytes of each process of the house."""
    rows = {row.address: row for row in client.entities()}
    return {name: rows[name].memory_bytes for name in SERVICES if name in rows}


def _is_agent(process: psutil.Process) -> bool:
    try:
        return "coordinator" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def _weigh_the_living(supervisor: psutil.Process) -> list[float]:
    """Return the proportional set size of each agent that has a process now, in kilobytes."""
    found = []
    for process in supervisor.children():
        try:
            if _is_agent(process):
                found.append(process.memory_full_info().pss / 1024)
        except psutil.Error:
            continue  # it has parked again
    return found


def _wake(client: Client, home: Path, agent: str) -> float:
    """Return the seconds from sending a text to a parked agent until it stands in its journal."""
    journal = Home(home).agent(agent).conversation
    size, text = journal.stat().st_size, f"Are you there? {time.monotonic_ns()}"
    began = time.monotonic()
    client.send(agent, text)
    until(lambda: text in _after(journal, size), f"{agent} has heard")
    return time.monotonic() - began


def _after(path: Path, offset: int) -> str:
    with open(path, "rb") as file:
        file.seek(offset, os.SEEK_SET)
        return file.read().decode(errors="replace")


if __name__ == "__main__":
    import sys

    found = run(FULL_PARKED if "--full" in sys.argv else PARKED)
    print(json.dumps(found, indent=1))

"""What a parked agent costs, and how fast it wakes: real agents, made over HTTP.

Memory is the growth of the services per parked agent, beside an agent that is left running. A wake
lasts from the HTTP request until the text is, synced, in the agent's journal; its bound is twenty
times what the start of an interpreter takes that imports nothing.

A parked team is one whose coordinator has asked the human, and whose workers wait for a message. It
is watched for thirty times `run.park_after_seconds`: ten minutes with the default.
"""

import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psutil

from benchmarks.product import (
    Options,
    Product,
    RunningHome,
    progress,
    pss_kb,
    seconds_until_in,
    wait_until,
)
from benchmarks.report import Figure, at_most
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, call, calls, say

SETTINGS = "run: {park_after_seconds: 0.2}\n"
PARKED, QUICK_PARKED, FULL_PARKED = 100, 30, 1_000
WARM = 20
WAKES = 20
SAMPLED = 24
AT_ONCE = 4
CORE = ("supervisor", "router")
SERVICES = (*CORE, "recorder", "broker", "human", "spawner")
PARK_SECONDS, PERIODS, QUICK_PERIODS = 0.5, 30, 10
TEAM_SETTINGS = f"run: {{park_after_seconds: {PARK_SECONDS}}}\n"
MEMBERS = ("ada", "bob")


def responder(seen: SeenRequest) -> Reply:
    """Play a coordinator that is done at once, and answers who writes to it later."""
    return call("finish", summary="Nothing to do.") if seen.step == 0 else say("Received.")


def team_brain(seen: SeenRequest) -> Reply:
    """Play a coordinator that asks the human, and workers that wait for a message."""
    if not seen.is_for("coordinator"):
        return call("wait")
    if seen.step:
        return call("ask_human", question="Which colour?")
    hired = [call("spawn_worker", name=name) for name in MEMBERS]
    nodes = [call("create_work_node", name=f"n-{n}", task="Wait", worker=n) for n in MEMBERS]
    return calls(*hired, *nodes)


def run(options: Options) -> list[Figure]:
    """Park agents, weigh the home before and after, and wake some."""
    count = FULL_PARKED if options.is_full else options.count(PARKED, QUICK_PARKED)
    with FakeModelServer(responder) as server, options.product.home(server.env(), SETTINGS) as home:
        _park(home, WARM)
        before = _weights(home)
        progress(f"parking {count} agents")
        agents = _park(home, count)
        after = _weights(home)
        left = len(_agent_processes(home))
        progress("waking some")
        wakes, living = [], []
        for agent in agents[:: max(1, count // WAKES)]:
            wakes.append(_wake(home, agent))
            living += _weigh_agents(home)
    grown = {name: (after[name] - before[name]) / count / 1024 for name in SERVICES}
    core, wake, start = sum(grown[n] for n in CORE), statistics.median(wakes), _interpreter()
    kb = statistics.median(living)
    return [
        at_most("parked agent, text sent over HTTP until it is in its journal",
                "an empty interpreter's start", wake / start, 20.0,
                f"{1e3 * wake:.0f} and {1e3 * start:.0f} ms (slowest {1e3 * max(wakes):.0f})"),
        at_most(f"parked agent, memory of supervisor and router: of {count:,}",
                "one that is left running (PSS)", core / kb, 0.002,
                f"{core:.1f} and {kb:,.0f} KB (all services {sum(grown.values()):.1f})"),
        at_most(f"parked agent, processes: of {count:,}", "one each", left / count, 0.0,
                f"{left} processes"),
        wakes_of_team(options),
    ]  # fmt: skip


def wakes_of_team(options: Options) -> Figure:
    """Count how often the workers of a parked team are started without need."""
    periods = options.count(PERIODS, QUICK_PERIODS)
    progress("watching a parked team")
    with (
        FakeModelServer(team_brain) as server,
        options.product.home(server.env(), TEAM_SETTINGS) as home,
    ):
        agent = home.create("Wait")
        wait_until(lambda: _has_parked(home), "a parked team", 0.1)
        before = _incarnations(home)
        time.sleep(periods * PARK_SECONDS)
        wakes = sum(_incarnations(home).values()) - sum(before.values())
        home.client.stop(agent)
    return at_most("parked team, wakes in ten minutes", "one each time it parks",
                   wakes / (periods * len(MEMBERS)), 0.0,
                   f"{wakes} wakes of {len(MEMBERS)} workers in {periods} times "
                   f"run.park_after_seconds ({PARK_SECONDS:g} s)")  # fmt: skip


def _has_parked(home: RunningHome) -> bool:
    rows = [row for row in home.client.entities() if row.kind == "worker"]
    return len(rows) == len(MEMBERS) and all(row.state == "parked" for row in rows)


def _incarnations(home: RunningHome) -> dict[str, int]:
    rows = home.client.entities()
    return {row.address: row.incarnation for row in rows if row.kind == "worker"}


def sample(product: Product) -> dict[str, float]:
    """Return the median milliseconds of a few wakes."""
    with FakeModelServer(responder) as server, product.home(server.env(), SETTINGS) as home:
        return {
            "wake_ms": 1e3 * statistics.median(_wake(home, one) for one in _park(home, SAMPLED))
        }


def _park(home: RunningHome, count: int) -> list[str]:
    """Create agents and wait until all there are have parked; return the ids of the new ones."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        agents = list(pool.map(lambda _: home.create("Nothing"), range(count)))

    def are_parked() -> bool:
        rows = [row for row in home.client.entities() if row.kind == "coordinator"]
        return all(row.pid is None and row.state == "parked" for row in rows)

    wait_until(are_parked, f"{count} parked agents", 0.25, 60.0 + count)
    return agents


def _weights(home: RunningHome) -> dict[str, int]:
    return {row.address: row.memory_bytes for row in home.client.entities()}


def _agent_processes(home: RunningHome) -> list[psutil.Process]:
    return [child for child in home.supervisor.children(recursive=True) if _is_agent(child)]


def _is_agent(process: psutil.Process) -> bool:
    try:
        return "coordinator" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def _weigh_agents(home: RunningHome) -> list[float]:
    found = []
    for process in _agent_processes(home):
        try:
            found.append(pss_kb(process))
        except psutil.Error:
            continue  # it has parked again
    return found


def _wake(home: RunningHome, agent: str) -> float:
    text = f"Are you there? {time.monotonic_ns()}"
    journal = home.files(agent).conversation
    return seconds_until_in(journal, text, lambda: home.send(agent, text))


def _interpreter() -> float:
    began = time.monotonic()
    for _ in range(5):
        subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
    return (time.monotonic() - began) / 5

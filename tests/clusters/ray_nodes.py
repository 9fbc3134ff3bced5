"""Hosts in a real Ray cluster of three raylets on this machine, one of which is killed.

Needs `pip install 'agiraph[ray]'`; `make clusters` installs it and runs this.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event

import psutil
import pytest
from ray._private.node import Node as RayNode
from ray.cluster_utils import Cluster

from actors.scaler.ends import HostEnd
from actors.scaler.ray_launcher import RayLauncher
from agiraph.settings.config import load_config
from agiraph.storage.home import Home
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, running_home
from tests.scenarios.steps import FACT, WAIT, finish, held, node, publish, spawn

SLEEPS = (sys.executable, "-c", "import time; time.sleep(600)")
MEGABYTE = 2**20
STORE = 80 * MEGABYTE
Ends = dict[str, HostEnd | None]


async def instances(launcher: RayLauncher, fit: Callable[[Ends], bool]) -> Ends:
    """Return the launcher's hosts once they are so."""
    async with asyncio.timeout(60):
        while not fit(found := await launcher.instances()):  # noqa: ASYNC110 (Ray must be asked)
            await asyncio.sleep(0.2)
    return found


async def test_lost_cluster_node_is_the_cause_of_the_end_of_its_host(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.system.path.mkdir()
    home.system.uplink_key.write_text(json.dumps({"public": "k"}))
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE}
    )
    try:
        nodes = [
            cluster.add_node(num_cpus=1, memory=300 * MEGABYTE, object_store_memory=STORE)
            for _ in range(2)
        ]
        asked = {"ray_address": cluster.address, "memory_mb": 256, "cpus": 1}
        settings = load_config().scaler.model_copy(update=asked)
        launcher = RayLauncher(settings, home, SLEEPS)
        for name in ("auto-1", "auto-2", "auto-3"):
            await launcher.start(name, "agiraph-invitation:1:x")
        await instances(launcher, lambda found: len(found) == 3)
        cluster.remove_node(nodes[0], allow_graceful=False)
        found = await instances(launcher, lambda found: any(found.values()))
        lost = [name for name, end in found.items() if end is not None]
        assert [end.kind for end in found.values() if end is not None] == ["node_lost"]
        await launcher.end(lost[0])
        left = await launcher.instances()
        assert lost[0] not in left
        for name in left:
            await launcher.end(name)
        assert await launcher.instances() == {}
        await launcher.close()
    finally:
        cluster.shutdown()


def test_home_uses_the_nodes_of_a_cluster_and_survives_the_loss_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real host processes in Ray actors; the node of the one that a worker runs on is killed."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE}
    )
    gate = Event()
    try:
        nodes = [
            cluster.add_node(num_cpus=1, memory=300 * MEGABYTE, object_store_memory=STORE)
            for _ in range(2)
        ]
        settings = {
            "hosts": {
                "listen": "tcp://127.0.0.1:0",
                "lease_seconds": 3,
                "renew_seconds": 0.3,
                "launcher": "ray",
            },
            "scaler": {
                "labels": ["big"],
                "idle_seconds": 60,
                "max_hosts": 2,
                "ray_address": cluster.address,
                "memory_mb": 256,
                "cpus": 1,
            },
        }
        with running_home(tmp_path, settings=settings) as live_home:
            hired = spawn("ada", host_labels=["big"])
            live_home.plays(
                coordinator=[hired, node("facts", "ada"), WAIT, finish("Done.")],
                ada=[FACT, held(publish(), gate)],
            )
            agent = live_home.begin("clustered")
            live_home.server.wait_for(lambda seen: seen.is_for("ada") and seen.step == 1, 90)
            first = _host_of_ada(live_home)
            assert first.startswith("auto-")
            cluster.remove_node(_node_of(first, nodes), allow_graceful=False)
            until(
                lambda: _host_of_ada(live_home) not in ("", "home", first),
                "ada runs on the other node",
                within_seconds=90,
            )
            gate.set()
            assert live_home.await_end(agent)["result"] == "Done."
            [facts] = agent.glob("runs/*/nodes/*/published/facts.md")
            assert facts.read_text() == "one fact"
    finally:
        gate.set()
        cluster.shutdown()


def _host_of_ada(live_home: LiveHome) -> str:
    rows = live_home.json("ps")
    return next((str(row["host"] or "") for row in rows if "/ada-" in row["address"]), "")


def _node_of(host: str, nodes: Sequence[RayNode]) -> RayNode:
    """Return the cluster's node on which a host runs: its raylet is above it."""
    above = set[int]()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("AGIRAPH_HOST_NAME") == host:
                above |= {one.pid for one in process.parents()}
    return next(
        node for node in nodes if {one.process.pid for one in node.all_processes["raylet"]} & above
    )

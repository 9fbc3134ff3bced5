"""Hosts in a real Ray cluster of three raylets on this machine, one of which is killed.

Needs `pip install 'agiraph[ray]'`; `make clusters` installs it and runs this.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pytest
from ray.cluster_utils import Cluster

from actors.scaler.ends import HostEnd
from actors.scaler.ray_launcher import RayLauncher
from agiraph.core.config import load_config
from agiraph.storage.home import Home
from tests.integration.house import House, running, until

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


async def test_a_host_is_placed_and_the_loss_of_its_node_is_its_cause(tmp_path: Path) -> None:
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


SETTINGS = """
hosts: {{listen: 'tcp://127.0.0.1:0', lease_seconds: 3, renew_seconds: 0.3, launcher: ray}}
scaler: {{labels: [big], idle_seconds: 60, max_hosts: 2, ray_address: '{address}', memory_mb: 256,
  cpus: 1}}
"""


def test_a_home_works_on_the_nodes_of_a_cluster_and_outlives_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real host processes in Ray actors; the node of the one that a worker runs on is killed."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE}
    )
    try:
        nodes = [
            cluster.add_node(num_cpus=1, memory=300 * MEGABYTE, object_store_memory=STORE)
            for _ in range(2)
        ]
        (tmp_path / "agiraph.yaml").write_text(SETTINGS.format(address=cluster.address))
        with running(tmp_path) as house:
            Thread(target=lambda: house.start("shop/ada", labels=("big",)), daemon=True).start()
            ada = until(
                lambda: (row := _row(house, "shop/ada")) and row["state"] == "ready" and row,
                "ada works in the cluster",
                within_seconds=90,
            )
            assert ada["host"].startswith("auto-")
            cluster.remove_node(_node_of(nodes, ada["pid"]), allow_graceful=False)
            again = until(
                lambda: (
                    (row := house.row("shop/ada"))["state"] == "ready"
                    and row["incarnation"] > ada["incarnation"]
                    and row
                ),
                "ada works on the other node",
                within_seconds=90,
            )
            assert again["host"].startswith("auto-")
            assert again["host"] != ada["host"]
    finally:
        cluster.shutdown()


def _row(house: House, address: str) -> dict[str, Any] | None:
    rows = house.ask("supervisor", "child.list")["children"]
    return next((row for row in rows if row["address"] == address), None)


def _node_of(nodes: list[Any], pid: int) -> Any:
    """Return the node of the cluster that a process runs on: below its raylet."""
    above = {process.pid for process in psutil.Process(pid).parents()}
    raylets = {
        one.pid: node
        for node in nodes
        for processes in node.all_processes.values()
        for one in (entry.process for entry in processes)
    }
    return next(node for number, node in raylets.items() if number in above)

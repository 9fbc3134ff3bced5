"""Hosts in a real Ray cluster of three raylets on this machine, one of which is killed.

Needs `pip install 'agiraph[ray]'`; `make clusters` installs it and runs this.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

from ray.cluster_utils import Cluster

from actors.scaler.ends import HostEnd
from actors.scaler.ray_launcher import RayLauncher
from agiraph.core.config import load_config
from agiraph.storage.home import Home

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

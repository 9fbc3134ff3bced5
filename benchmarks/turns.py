"""What a model turn costs: wall time beside a bare SDK loop, repeated input, the broker's own time.

One worker and one bare loop take the same turns, each a call of `write_file`, with the same
system prompt and tools, from the same service that answers at once. A turn lasts from one request
to the next, as the service sees them. The broker's processor time is read at each request.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agiraph.http.api import CreateAgentRequest
from agiraph.http.client import Client
from benchmarks.figures import Figure
from benchmarks.lodging import ROOT, lodging, until
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, call, say
from tests.fakes.prefix import cached_share, prefix_share

TURNS = 30
LONG = 200
ROUNDS = 5
QUICK_ROUNDS = 2
APIS = ("anthropic", "openai")
PLACES = (5, 30, 200)
AROUND = 4
SETTINGS = f"run:\n  max_iterations: {LONG + 50}\n"
CONTENT = "a line of what was found\n" * 20
LOOK_SECONDS = 0.25
MORE_MS = 3.0
FLAT = 1.5

Result = dict[str, float]


class Service:
    """A brain: a coordinator with one worker that writes file after file; sees when and how."""

    def __init__(self) -> None:
        self.turns = TURNS
        self.asked: list[SeenRequest] = []
        self.at: list[float] = []
        self.broker_ns: list[int] = []
        self.broker = 0

    def __call__(self, seen: SeenRequest) -> Reply:
        """Answer whoever asks."""
        if seen.is_for("coordinator"):
            return self._lead(seen)
        self.at.append(time.perf_counter())
        self.broker_ns.append(_processor_ns(self.broker))
        self.asked.append(seen)
        if seen.step < self.turns:
            return call("write_file", path=f"part-{seen.step % 10}.md", content=CONTENT)
        return call("publish", summary="Written.") if "publish" in seen.tools else say("Written.")

    def begin(self, turns: int) -> None:
        """Forget what was seen; the next loop takes so many turns."""
        self.turns = turns
        self.asked, self.at, self.broker_ns = [], [], []

    def turn_ms(self) -> float:
        """Return the median milliseconds from one request to the next."""
        gaps = [1e3 * (after - before) for before, after in zip(self.at, self.at[1:], strict=False)]
        return statistics.median(gaps[1 : self.turns])

    def broker_ms(self, place: int) -> float:
        """Return the broker's milliseconds per call, about the `place`-th call of a loop."""
        first, last = max(1, place - AROUND), min(place + AROUND, len(self.broker_ns) - 1)
        return (self.broker_ns[last] - self.broker_ns[first]) / 1e6 / (last - first)

    def _lead(self, seen: SeenRequest) -> Reply:
        steps = [
            call("spawn_worker", name="writer"),
            call("create_work_node", name="files", task="Write files", worker="writer"),
            call("wait"),
        ]
        return steps[seen.step] if seen.step < len(steps) else call("finish", summary="Written.")


def run(*, is_quick: bool = False) -> Result:
    """Take the turns; return milliseconds per turn and call, and shares."""
    service = Service()
    result: Result = {}
    rounds = QUICK_ROUNDS if is_quick else ROUNDS
    with FakeModelServer(service) as server:
        environ = server.env()
        with (
            lodging(SETTINGS, environ=environ) as (home, supervisor),
            Client.for_home(home) as client,
            tempfile.TemporaryDirectory() as folder,
        ):
            service.broker = next(
                row.pid for row in client.entities() if row.address == "broker" and row.pid
            )
            assert supervisor.is_running()
            for api in APIS:
                ours, bare = [], []
                for _ in range(rounds):
                    service.begin(TURNS)
                    _lead(client, api)
                    ours.append(service.turn_ms())
                    asked = service.asked
                    (Path(folder) / "body.json").write_bytes(asked[0].raw)
                    service.begin(TURNS)
                    _bare(api, Path(folder), environ)
                    bare.append(service.turn_ms())
                result[f"{api}_ms"] = statistics.median(ours)
                result[f"{api}_bare_ms"] = statistics.median(bare)
                result[f"{api}_prefix"] = prefix_share([seen.raw for seen in asked])
                if api == "anthropic":
                    result["anthropic_cached"] = cached_share([seen.body for seen in asked])
                service.begin(LONG)
                _lead(client, api)
                for place in PLACES:
                    result[f"{api}_broker_{place}_ms"] = service.broker_ms(place)
    return result


def figures(result: Result) -> list[Figure]:
    """Return the ratios to look at."""
    found = []
    for api in APIS:
        ours, bare = result[f"{api}_ms"], result[f"{api}_bare_ms"]
        found.append(
            Figure(
                what=f"A model turn, every step durable ({api})",
                peer="a bare SDK loop",
                ratio=ours / bare,
                wanted="at most",
                aim=(bare + MORE_MS) / bare,
                seen=f"{ours:.1f} ms against {bare:.1f} ms: {ours - bare:+.1f} ms",
            )
        )
    for api in APIS:
        few, some, many = (result[f"{api}_broker_{place}_ms"] for place in PLACES)
        found.append(
            Figure(
                what=f"Broker's own time for call {PLACES[-1]} ({api})",
                peer=f"its call {PLACES[0]}",
                ratio=many / few,
                wanted="at most",
                aim=FLAT,
                seen=f"{few:.1f}, {some:.1f}, {many:.1f} ms at call {', '.join(map(str, PLACES))}",
            )
        )
    for api in APIS:
        share = result[f"{api}_prefix"]
        cached = f"; {result['anthropic_cached']:.1%} by its cache's rules"
        found.append(
            Figure(
                what=f"Input that is a prefix of the call before ({api})",
                peer="all input of 30 turns",
                ratio=share,
                wanted="at least",
                aim=0.9,
                seen=f"{share:.1%}{cached if api == 'anthropic' else ''}",
            )
        )
    return found


def _lead(client: Client, api: str) -> None:
    """Have an agent's worker take the turns."""
    request = CreateAgentRequest(goal="Write files", model=f"{api}/fake")
    agent = client.create_agent(request).id

    def is_done() -> bool:
        return client.agent(agent).status in ("completed", "failed")

    until(is_done, "the turns are taken", LOOK_SECONDS, 300.0)
    client.stop(agent)


def _bare(api: str, folder: Path, environ: dict[str, str]) -> None:
    """Have the bare loop take the turns."""
    command = [sys.executable, "-m", "benchmarks.bare", api, str(folder / "body.json"), str(folder)]
    subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environ, "PYTHONPATH": str(ROOT)}, check=True
    )


def _processor_ns(pid: int) -> int:
    """Return the processor time that a process has taken; 0 where that cannot be read so finely."""
    try:
        tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
        return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks)
    except OSError:
        return 0


if __name__ == "__main__":
    print(json.dumps(run(is_quick="--quick" in sys.argv), indent=1))

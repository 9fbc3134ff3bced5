"""What a model turn costs: wall time beside a bare SDK loop, repeated input, the broker's own time.

A worker and a bare loop (`benchmarks/bare_loop.py`) take the same turns, each a call of
`write_file`, with the same system prompt and tools, from the same service that answers at once. A
turn lasts from one request to the next, as the service sees them. The broker's processor time is
read at each request.
"""

import statistics
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

from agiraph.http.api import CreateAgentRequest, RoleTeamRequest
from benchmarks.product import Options, Product, RunningHome, progress, started
from benchmarks.report import Figure, at_least, at_most
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, call, say
from tests.fakes.prefix import cached_share, prefix_share

TURNS = 30
LONG = 200
APIS = ("anthropic", "openai")
PLACES = (5, 30, 200)
AROUND = 4
SETTINGS = f"run: {{max_iterations: {LONG + 50}}}\n"
CONTENT = "a line of what was found\n" * 20
MORE_MS = 3.0


class Brain:
    """A coordinator with one worker that writes file after file; records when and how it asks."""

    def __init__(self) -> None:
        self.broker = 0
        self.begin(TURNS)

    def begin(self, turns: int) -> None:
        """Forget what was seen; the next loop takes so many turns."""
        self.turns = turns
        self.asked: list[SeenRequest] = []
        self.at: list[float] = []
        self.broker_ns: list[int] = []

    def __call__(self, seen: SeenRequest) -> Reply:
        if seen.is_for("coordinator"):
            return self._lead(seen)
        self.at.append(time.perf_counter())
        self.broker_ns.append(_processor_ns(self.broker))
        self.asked.append(seen)
        if seen.step < self.turns:
            return call("write_file", path=f"part-{seen.step % 10}.md", content=CONTENT)
        return call("publish", summary="Written.") if "publish" in seen.tools else say("Written.")

    def _lead(self, seen: SeenRequest) -> Reply:
        steps = [
            call("spawn_worker", name="writer"),
            call("create_work_node", name="files", task="Write files", worker="writer"),
            call("wait"),
        ]
        return steps[seen.step] if seen.step < len(steps) else call("finish", summary="Written.")

    @property
    def turn_ms(self) -> float:
        """Return the median milliseconds from one request to the next."""
        return statistics.median(_gaps_ms(self.at)[1 : self.turns])

    def broker_ms(self, place: int) -> float:
        """Return the broker's milliseconds per call, about the `place`-th call of a loop."""
        first, last = max(1, place - AROUND), min(place + AROUND, len(self.broker_ns) - 1)
        return (self.broker_ns[last] - self.broker_ns[first]) / 1e6 / (last - first)


def run(options: Options) -> list[Figure]:
    """Take the turns in either API's format."""
    responder = Brain()
    with (
        FakeModelServer(responder) as server,
        options.product.home(server.env(), SETTINGS) as home,
    ):
        responder.broker = home.pid("broker")
        rounds = options.count(5, 2)
        return [
            figure
            for api in APIS
            for figure in _figures(responder, home, server.env(), api, rounds)
        ]


def sample(product: Product) -> dict[str, float]:
    """Return the milliseconds of a turn in either API's format."""
    responder = Brain()
    with FakeModelServer(responder) as server, product.home(server.env(), SETTINGS) as home:
        responder.broker = home.pid("broker")
        found = {}
        for api in APIS:
            _take_turns(responder, home, api, TURNS)
            found[f"turn_{api}_ms"] = responder.turn_ms
        return found


def _figures(
    responder: Brain, home: RunningHome, environ: dict[str, str], api: str, rounds: int
) -> list[Figure]:
    ours, bare = [], []
    for number in range(rounds):
        progress(f"{api}, round {number + 1}: {TURNS} turns, ours and a bare loop's")
        _take_turns(responder, home, api, TURNS)
        ours.append(responder.turn_ms)
        asked = responder.asked
        _run_bare_loop(responder, environ, api, asked[0].raw)
        bare.append(responder.turn_ms)
    progress(f"{api}: {LONG} turns")
    _take_turns(responder, home, api, LONG)
    few, some, many = (responder.broker_ms(place) for place in PLACES)
    mine, peer = statistics.median(ours), statistics.median(bare)
    share = prefix_share([seen.raw for seen in asked])
    cached = ""
    if api == "anthropic":
        cached = f"; {cached_share([seen.body for seen in asked]):.1%} by its cache's rules"
    return [
        at_most(f"model turn, every step durable ({api})", "a bare SDK loop", mine / peer,
                (peer + MORE_MS) / peer, f"{mine:.1f} and {peer:.1f} ms: {mine - peer:+.1f} ms"),
        at_most(f"broker's own time for call {PLACES[-1]} ({api})", f"its call {PLACES[0]}",
                many / few, 1.5, f"{few:.1f}, {some:.1f}, {many:.1f} ms at calls 5, 30, 200"),
        at_least(f"input that is a prefix of the call before ({api})", "all its input",
                 share, 0.9, f"{share:.1%}{cached}"),
    ]  # fmt: skip


def _take_turns(responder: Brain, home: RunningHome, api: str, turns: int) -> None:
    responder.begin(turns)
    home.finish(home.create("Write files", f"{api}/fake"), within_seconds=120.0)


def _run_bare_loop(responder: Brain, environ: dict[str, str], api: str, body: bytes) -> None:
    responder.begin(TURNS)
    _call_bare_loop(environ, api, body)


def _call_bare_loop(environ: dict[str, str], api: str, body: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "body.json"
        file.write_bytes(body)
        words = ["-m", "benchmarks.bare_loop", api, str(file), folder]
        with started(words, **environ) as process:
            if process.wait(60):
                raise RuntimeError("the bare loop failed; its error is above")


def _gaps_ms(at: list[float]) -> list[float]:
    return [1e3 * (after - before) for before, after in pairwise(at)]


def _processor_ns(pid: int) -> int:
    """Return the processor time that a process has taken; 0 where that cannot be read so finely."""
    try:
        tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
        return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks)
    except OSError:
        return 0


# --- turns of a team of roles --------------------------------------------------------------------

TEAM_TURNS = 60
TEAM_MORE_MS = 10.0
LEAD, MEMBER = "project_manager", "software_developer"


class TeamBrain:
    """Two roles that pass a message back and forth, each turn one call of `publish`.

    `is_done` is set at the last turn; asked on, it ends a bare loop with a text.
    """

    def __init__(self) -> None:
        self.is_done = threading.Event()
        self.begin()

    def begin(self) -> None:
        """Forget what was seen."""
        self.at: list[float] = []
        self.asked: list[SeenRequest] = []
        self.is_done.clear()

    def __call__(self, seen: SeenRequest) -> Reply:
        self.at.append(time.perf_counter())
        self.asked.append(seen)
        number = len(self.at)
        if number > TEAM_TURNS:
            return say("Done.")
        if number == TEAM_TURNS:
            self.is_done.set()
            decision = {"action": "finalize", "final_response": "Done."}
        else:
            to = MEMBER if seen.is_for(LEAD) else LEAD
            decision = {"action": "message", "to_role": to, "message": f"message {number}"}
        return call("publish", summary="Decided.", result=decision)

    @property
    def turn_ms(self) -> float:
        """Return the median milliseconds from one request to the next."""
        return statistics.median(_gaps_ms(self.at)[4:])


def run_team(options: Options) -> list[Figure]:
    """Return what a turn of a team of roles costs more than its model call in a bare loop, and what
    it adds to the next request of its role."""
    responder = TeamBrain()
    ours, bare = [], []
    with FakeModelServer(responder) as server, options.product.home(server.env(), SETTINGS) as home:
        for number in range(options.count(3, 1)):
            progress(f"round {number + 1}: {TEAM_TURNS} turns of two roles, and a bare loop's")
            _take_team_turns(responder, home)
            ours.append(responder.turn_ms)
            body = responder.asked[TEAM_TURNS // 2].raw
            sizes = [len(seen.raw) for seen in responder.asked if seen.is_for(LEAD)]
            responder.begin()
            _call_bare_loop(server.env(), "anthropic-same", body)
            bare.append(responder.turn_ms)
    mine, peer = statistics.median(ours), statistics.median(bare)
    what = "team: a role's turn less the same model call in a bare SDK loop"
    more, added = mine - peer, (sizes[-1] - sizes[0]) / (len(sizes) - 1)
    return [
        at_most(what, "ten milliseconds", more / TEAM_MORE_MS, 1.0,
                f"{mine:.1f} and {peer:.1f} ms: {more:+.1f} ms"),
        at_most("team: what a turn adds to its role's next request", "a thousand bytes",
                added / 1000, 1.0,
                f"{added:.0f} bytes: {sizes[0]:,} in turn 1, {sizes[-1]:,} in {TEAM_TURNS - 1}"),
    ]  # fmt: skip


def _take_team_turns(responder: TeamBrain, home: RunningHome) -> None:
    """Have a team take its turns; nobody asks how it stands before the last one."""
    responder.begin()
    team = RoleTeamRequest(max_turns=TEAM_TURNS)
    asked = CreateAgentRequest(goal="Pass it on", model="anthropic/fake", roles=team)
    agent = str(home.client.create_agent(asked).id)
    if not responder.is_done.wait(60):
        raise RuntimeError(f"the team has taken {len(responder.at)} of {TEAM_TURNS} turns in 60 s")
    home.finish(agent)

"""Example teams: a comparison of ways to host a site, and a team with hostile texts."""

import contextlib
from collections.abc import Iterator
from threading import Event
from typing import Final

from agiraph.core.roles import DEFAULT_ROLES
from agiraph.http.api import CreateAgentRequest, RoleTeamRequest
from agiraph.http.client import Client
from tests.fakes.model_server import Reply, SeenRequest, calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, ask, bash, held, node, publish, spawn, tell, write

GOAL: Final = "Compare the three cheapest ways to host a static site; cite prices"
MODEL: Final = ("--model", "openai/gpt-4o")
TEAM: Final = {"ada": "researcher", "alan": "analyst", "grace": "writer"}
PRICES: Final = """\
# Prices

| offer | price a month | traffic |
| --- | ---: | --- |
| Harbour | 3.20 € | 50 GB |
| Meadow | 4.10 € | 200 GB |
| Quarry | 4.90 € | flat |

All three bill by the month and have a data centre in Europe.
"""
COUNT: Final = """\
months = [120, 140, 95, 180, 210, 160]  # GB
for offer, price, included in (("Harbour", 3.2, 50), ("Meadow", 4.1, 200), ("Quarry", 4.9, 10**6)):
    print(offer, sum(price + max(0, used - included) * 0.02 for used in months))
"""
FOUND: Final = (
    "The cheapest three, per month, without free tiers:\n\n"
    "| offer | price | traffic |\n| --- | ---: | --- |\n"
    "| Harbour | 3.20 € | 50 GB |\n| Meadow | 4.10 € | 200 GB |\n| Quarry | 4.90 € | flat |\n\n"
    "**Meadow** is the best of them for up to 200 GB; Alan counts what more traffic costs."
)

HOSTILE: Final = "<img src=x onerror=window.ran=1>{{constructor}}${1}"
EVIL: Final = (
    "</script><script>window.ran=1</script><svg onload=window.ran=1> "
    '[a](javascript:window.ran=1) ![b](x" onerror="window.ran=1) `${window.ran=1}` '
    "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>"
)
MALLORY: Final = "mallory" + 33 * "W"
EVIL_FILE: Final = "<img src=x onerror=window.ran=1>.md"


@contextlib.contextmanager
def hosting(live_home: LiveHome, name: str = "hosting") -> Iterator[str]:
    """Yield the id of an agent whose team is at work: one writes, one counts, one asks you."""
    gate = Event()
    live_home.plays(
        coordinator=_coordinator(gate), ada=_ada(gate), alan=_alan(gate), grace=_grace(gate)
    )
    agent = live_home.begin(name, *MODEL, goal=GOAL).name
    try:
        live_home.await_question(agent)
        live_home.await_step("ada", 4)
        live_home.await_step("alan", 3)
        live_home.await_step("coordinator", 4)
        yield agent
    finally:
        gate.set()


def _coordinator(gate: Event) -> list[Reply]:
    return [
        calls(*(spawn(name, role=role) for name, role in TEAM.items())),
        calls(
            node("pricing", "ada", task="Find what the cheapest offers cost a month"),
            node("traffic", "alan", task="Count what our traffic would cost with each offer"),
            node("limits", "ada", task="List the limits of each offer", dependencies=["pricing"]),
            node("advice", "grace", task="Advise one, in a page", dependencies=["pricing"]),
        ),
        WAIT,
        tell("human", FOUND),
        held(WAIT, gate),
    ]


def _ada(gate: Event) -> list[Reply]:
    return [
        write("prices.md", PRICES),
        tell("coordinator", "Prices are in: Harbour 3.20 €, Meadow 4.10 €, Quarry 4.90 €."),
        publish("Three offers under 5 € a month"),
        bash("sed -n 1,9p ../../pricing*/published/prices.md"),
        held(publish("Limits"), gate),
    ]


def _alan(gate: Event) -> list[Reply]:
    return [
        write("traffic.py", COUNT),
        bash("python3 traffic.py"),
        tell("ada", "Is Meadow's limit per month or per day?"),
        held(publish("Counted"), gate),
    ]


def _grace(gate: Event) -> list[Reply]:
    options = ["50 GB a month", "200 GB a month", "both"]
    return [
        ask("Which traffic shall I count with for the advice?", options=options),
        held(publish("Advised"), gate),
    ]


PM, ARCHITECT, DEVELOPER, QA, DEVOPS = DEFAULT_ROLES
INTERFACE: Final = """\
One function, no classes:

```python
def read_rows(path: Path, *, delimiter: str = ",") -> Iterator[dict[str, str]]: ...
```

- the first line has the names; a short row is filled with empty text
- **quoted fields** may hold delimiters and line breaks (RFC 4180)
- an unterminated quote raises `ValueError` with the line
"""


def to(role: str, message: str) -> Reply:
    """Publish the decision that another role acts next."""
    return publish(result={"action": "message", "to_role": role, "message": message})


def finalize(final: str, message: str = "") -> Reply:
    """Publish the decision that the work is done."""
    return publish(result={"action": "finalize", "message": message, "final_response": final})


@contextlib.contextmanager
def building(live_home: LiveHome, gate: Event) -> Iterator[str]:
    """Yield the id of an agent whose team of roles is at work: the last but one waits at a gate."""
    live_home.plays(
        project_manager=[
            to(ARCHITECT, "Define how the CSV parser is called, and what it refuses."),
            to(DEVOPS, "Approved. Can it be shipped?"),
            finalize("The parser is in `csv_rows.py`, with **14 tests**.", "Approved by QA."),
        ],
        software_architect=[to(DEVELOPER, INTERFACE)],
        software_developer=[
            write("csv_rows.py", "def read_rows(path): ...\n"),
            bash("python3 -m py_compile csv_rows.py && echo compiled"),
            to(QA, "Implementation complete. Validate edge cases and regressions."),
            to(QA, "Quotes are balanced now, also over several lines."),
        ],
        qa_engineer=[
            bash("echo '1 failed, 13 passed'; exit 1"),
            to(DEVELOPER, "A quoted field with a line break is cut in two: row 3 of `quotes.csv`."),
            to(PM, "Validation passed: 14 tests, no regressions."),
        ],
        devops_engineer=[held(to(PM, "It needs nothing but Python."), gate)],
    )
    asked = CreateAgentRequest(
        goal="Write a CSV parser with tests", name="parser", model=MODEL[1], roles=RoleTeamRequest()
    )
    with Client.for_home(live_home.home) as client:
        agent = client.create_agent(asked).id
    live_home.begun.append(agent)
    try:
        live_home.await_step(DEVOPS, 0)
        yield agent
    finally:
        gate.set()


@contextlib.contextmanager
def hostile(live_home: LiveHome) -> Iterator[str]:
    """Yield the id of an agent of which every name, file, message and output would like to run."""
    live_home.plays(_evil)
    agent = live_home.begin(HOSTILE, goal=EVIL).name
    done = live_home.command("triggers", agent, "add", EVIL, "--every", "1h", "--name", HOSTILE)
    assert done.returncode == 0, done.stderr
    live_home.await_question(agent)
    yield agent


def _evil(seen: SeenRequest) -> Reply:
    """Play the coordinator, and its one worker."""
    if ", the coordinator of a team" in seen.system[:400]:
        steps = [
            spawn(MALLORY, role=EVIL[:60] + 300 * "R"),
            node(EVIL[:40].replace("/", "|"), MALLORY, task=300 * "T" + EVIL + "\u202e\u200b"),
            tell("human", EVIL),
            WAIT,
        ]
    else:
        steps = [
            calls(write(EVIL_FILE, EVIL), write("page.html", EVIL), write("p.svg", EVIL)),
            tell("coordinator", 300 * "M" + EVIL),
            bash(f"printf '%s' {EVIL!r}; exit 3"),
            tell("human", EVIL),
            ask(EVIL, options=[EVIL[:60], HOSTILE]),
        ]
    return steps[min(seen.step, len(steps) - 1)]


def pages_of(live_home: LiveHome, agent: str, worker: str) -> list[str]:
    """Return every address of the web UI about the home, an agent and one of its workers."""
    nodes = [row["id"] for row in live_home.json("board", agent)]
    inner = ["", f"/with/{worker}", "/board", f"/board/{nodes[0]}", "/timeline", "/communication"]
    inner += ["/result", f"/workers/{worker}", "/files", "/memory", "/triggers", "/events"]
    return [
        "",
        "new",
        "roles",
        "roles/edit",
        "knowledge",
        "usage",
        "settings",
        "health",
        "home",
        "home/models",
        "home/access",
        f"plans?agent={agent}",
        "?show=runs",
        *(f"agents/{agent}{one}" for one in inner),
    ]

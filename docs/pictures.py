"""Make the pictures of the docs again: `make pictures`.

    run.svg                         one run for real: what `agiraph run` printed
    console.svg console-wide.svg    the console in 80x24 and wide, on a team at work
    top.svg                         `agiraph top` on the same team
    web-ui-*.png                    the web UI, on a team at a real supervisor (`ui_pictures.py`)

The team of console and top is played by the real widgets from a fixed script, so that the pictures
are the same whoever makes them. `python docs/pictures.py console` makes these alone.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from agiraph.core.ids import AgentId, NodeId, QuestionId, RunId
from agiraph.core.models import Event
from agiraph.core.turns import Usage
from agiraph.http.api import (
    AgentView,
    BoardView,
    EntityView,
    NodeView,
    QuestionView,
    StageView,
)
from agiraph.readmodel.thread import Thread
from cli.console.ui.app import ConsoleApp
from cli.console.ui.source import ConsoleSource, TopSource
from cli.console.ui.state import ConsoleState
from cli.console.ui.top_app import TopApp

ROOT = Path(__file__).parent.parent
WIDTH = 108
MOST_LINES = 42
SMALL = (80, 24)
WIDE = (120, 36)
AGENT = AgentId("hosting-4f2a91")
NOW = 1_775_034_000.0
RUN = RunId("20260401-091500-3b7c21")


def run_survey(home: str) -> list[str]:
    """Return what one run printed: progress and result, a line each."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "agiraph",
        "run",
        "Survey this folder",
        "--model",
        "script/survey",
    ]
    done = subprocess.run(
        [*command, "--home", home, "--input", "configs/sample"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def draw(lines: list[str]) -> str:
    """Return the lines as the SVG picture of a terminal."""
    console = Console(record=True, width=WIDTH, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(
        Text(
            '$ agiraph run "Survey this folder" --input configs/sample --model script/survey',
            style="bold",
        )
    )
    for line in lines[:MOST_LINES]:
        name, gap, said = line.partition("  ")
        style = "cyan" if gap and name and " " not in name else ""
        shown = Text.assemble((name, style), gap + said)
        shown.truncate(WIDTH, overflow="ellipsis")
        console.print(shown)
    return console.export_svg(title="agiraph")


# --- the team of the other pictures ---


def team(now: float) -> ConsoleState:
    """Return the state of a console on a team of four that compares ways to host a page."""
    agent = AgentView(
        id=AGENT, name="hosting", goal="Compare the three cheapest ways to host a static site",
        mode="finite", model="anthropic/claude-sonnet-4-5", worker_model="openai/gpt-4o",
        status="working", run=RUN, created_at=now - 300, updated_at=now,
    )  # fmt: skip
    state = ConsoleState(agent)
    state.set_status(agent, rows(now))
    state.set_board(board())
    told = sorted((*happenings(now), *texts(now)), key=lambda event: event.ts)
    numbered = (one.model_copy(update={"seq": seq}) for seq, one in enumerate(told, start=1))
    state.add_entries(Thread().add_all(numbered))
    state.set_questions([asked(now)])
    state.stream("coordinator", "1", "Prices are in. While Alan checks what traffic costs, I")
    return state


def rows(now: float) -> tuple[EntityView, ...]:
    """Return the entities as `GET /entities` lists them."""
    listed: list[tuple[str, str, str, str, float, float, int, int, float | None, int]] = [
        ("coordinator", "coordinator", "busy", "waits for the model (claude-sonnet-4-5)", 3.2,
         52e6, 0, 48_200, 0.31, 4),
        ("ada-51c0de", "worker", "busy", "web_fetch: https://pages.example/pricing", 1.4, 47e6, 0,
         21_900, 0.06, 12),
        ("alan-7d21aa", "worker", "busy", "bash: python3 traffic.py --months 12", 38.0, 61e6, 1,
         17_400, 0.05, 33),
        ("grace-c3f910", "worker", "waiting_for_human", "waits for you: Which traffic shall I",
         0.0, 46e6, 0, 9_300, 0.03, 51),
    ]  # fmt: skip
    return tuple(
        EntityView(
            address=f"{AGENT}/{inner}", kind=kind,
            name="hosting" if kind == "coordinator" else inner.partition("-")[0],
            state=state, pid=4000 + number, cpu=cpu, memory_bytes=int(memory), mailbox=mail,
            tokens=tokens, cost_usd=cost, doing=doing, doing_since=now - since,
        )
        for number, (inner, kind, state, doing, cpu, memory, mail, tokens, cost, since)
        in enumerate(listed)
    )  # fmt: skip


def services() -> tuple[EntityView, ...]:
    """Return the services."""
    weights = {"supervisor": 41e6, "spawner": 57e6, "router": 32e6, "recorder": 45e6,
               "broker": 83e6, "clock": 44e6, "human": 71e6}  # fmt: skip
    return tuple(
        EntityView(address=name, kind=name, name=name, state="ready", pid=100 + number,
                  cpu=0.4 * number, memory_bytes=int(weight))
        for number, (name, weight) in enumerate(weights.items())
    )  # fmt: skip


def board() -> BoardView:
    """Return the board of the run."""
    nodes = [("pricing", "completed", "ada", ()), ("limits", "running", "ada", ("pricing",)),
             ("traffic", "running", "alan", ()), ("advice", "running", "grace", ())]  # fmt: skip
    stage = StageView(name="Research", nodes=("pricing", "limits"), status="running")
    return BoardView(
        run=RUN,
        nodes=tuple(
            NodeView(id=NodeId(name), name=name, role="worker", task=f"Find out about {name}",
                     status=status, assigned_worker=worker, dependencies=needs)
            for name, status, worker, needs in nodes
        ),
        stages=(stage,),
        current_stage=0,
    )  # fmt: skip


def happenings(now: float) -> list[Event]:
    """Return the events that the conversation shows."""
    told: list[tuple[float, str, str, dict[str, Any]]] = [
        (290, "model.answered", "coordinator",
         {"text": "Three nodes can go side by side: **pricing**, **traffic** and **advice**."}),
        (280, "tool.called", "coordinator",
         {"tool": "create_work_node", "arguments": {"name": "pricing", "worker": "ada"}}),
        (279, "tool.result", "coordinator", {"tool": "create_work_node", "preview": "pending"}),
        (270, "node.started", "coordinator", {"name": "pricing", "worker": "ada"}),
        (120, "node.completed", "coordinator",
         {"name": "pricing", "worker": "ada", "summary": "three offers under 5 euro a month"}),
        (70, "tool.called", "coordinator",
         {"tool": "read_file", "arguments": {"path": "nodes/pricing/published/prices.md"}}),
        (69, "tool.result", "coordinator", {"tool": "read_file", "preview": "| offer | ..."}),
        (51, "human.question", "grace", {"question": asked(now).question, "from": "grace",
                                         "question_id": "q-traffic"}),
    ]  # fmt: skip
    return [
        Event(type=kind, agent_id=AGENT, ts=now - ago, seq=seq, entity=entity, data=data,
              key=f"a:{kind}:{(seq + 1) // 2}" if kind.startswith("tool.") else "")
        for seq, (ago, kind, entity, data) in enumerate(told, start=2)
    ]  # fmt: skip


def texts(now: float) -> list[Event]:
    """Return the messages."""
    told = [
        (200, "human", "coordinator", "Prices in **euro**, please, and no free tiers."),
        (190, "coordinator", "human", "Will do: euro, paid offers only. Ada has the pages open."),
        (110, "ada", "coordinator",
         "Cheapest three, per month:\n\n| offer | price | traffic |\n| --- | --- | --- |\n"
         "| Harbour | 3.20 € | 50 GB |\n| Meadow | 4.10 € | 200 GB |\n| Quarry | 4.90 € | flat |"),
        (60, "alan", "ada", "Is Meadow's limit per month or per day?"),
    ]  # fmt: skip
    return [
        Event(type="message.sent", agent_id=AGENT, ts=now - ago, entity=sender,
              data={"from": sender, "to": to, "content": content, "id": f"m{ago}"})
        for ago, sender, to, content in told
    ]  # fmt: skip


def asked(now: float) -> QuestionView:
    """Return the question that waits."""
    return QuestionView(
        id=QuestionId("q-traffic"), agent=AGENT, agent_name="hosting", sender="grace",
        question="Which traffic shall I count with for the advice?", asked_at=now - 51,
        options=("10 GB a month", "100 GB a month", "both"),
    )  # fmt: skip


class StillSource(ConsoleSource):
    """The source of a console that does not change."""

    def __init__(self) -> None:
        """Ask nobody."""

    def start(self) -> None:
        """Begin."""

    async def close(self) -> None:
        """End."""

    def apply_entries(self) -> None:
        """Change nothing."""


class StillTopSource(TopSource):
    """The entities of `top`, which do not change."""

    def __init__(self, now: float) -> None:
        """Show them as at `now`."""
        self._now = now

    async def rows(self) -> list[EntityView]:
        """Return all entities."""
        return [*services(), *rows(self._now)]

    async def spent(self, agent: str | None) -> Usage:
        """Return what all have spent, those that have ended too."""
        own = [Usage(input_tokens=row.tokens, cost_usd=row.cost_usd) for row in rows(self._now)]
        return sum(own, Usage())

    def close(self) -> None:
        """End."""


async def photograph_console(name: str, size: tuple[int, int]) -> None:
    """Write the picture of a console of this size."""
    app = ConsoleApp(StillSource(), team(NOW), clock=lambda: NOW)
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.5)
        write(name, app.export_screenshot(title="agiraph console hosting"))


async def photograph_top(name: str) -> None:
    """Write the picture of `top`."""
    app = TopApp(StillTopSource(NOW), sort="tokens", clock=lambda: NOW)
    async with app.run_test(size=(100, 18)) as pilot:
        await pilot.pause(0.5)
        write(name, app.export_screenshot(title="agiraph top"))


def write(name: str, picture: str) -> None:
    """Write one picture into docs/."""
    (ROOT / "docs" / name).write_text(picture, encoding="utf-8")


def main() -> None:
    """Write the pictures that are named: all, or `run`, or `console`, or `ui`."""
    wanted = sys.argv[1:] or ["run", "console", "ui"]
    if "run" in wanted:
        with tempfile.TemporaryDirectory() as home:
            write("run.svg", draw(run_survey(home)))
    if "console" in wanted:
        os.environ["TZ"] = "UTC"
        time.tzset()
        asyncio.run(photograph_console("console.svg", SMALL))
        asyncio.run(photograph_console("console-wide.svg", WIDE))
        asyncio.run(photograph_top("top.svg"))
    if "ui" in wanted:
        from ui_pictures import photograph_ui

        photograph_ui()


if __name__ == "__main__":
    main()

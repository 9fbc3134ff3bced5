"""Steps of the models of scenarios: the calls that they make, and responders that play them."""

import json
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from agiraph.core.turns import AssistantTurn, Turn, UserTurn
from tests.fakes.model_server import Reply, Responder, Script, SeenRequest, call, calls

Plays = Sequence[Reply | Responder]
Steps = Plays | Responder
Reaction = Callable[[SeenRequest], Reply | None]
ASSIGNMENT = "# Assignment: "
GOAL = "# Goal\n\n"
FOLDER = re.compile(r"working directory: (.*)|\*\*Workspace Directories:\*\*\s*- (.*)")
WAIT = call("wait")
# In its sandbox a command reaches no process of ours: the test kills the worker, and reports it.
UNTIL_KILLED = "touch dying; until test -e killed; do sleep 0.02; done; rm dying killed"

# --- calls ---------------------------------------------------------------------------------------


def bash(command: str) -> Reply:
    """Run a command."""
    return call("bash", command=command)


def write(path: str, content: str) -> Reply:
    """Write a file."""
    return call("write_file", path=path, content=content)


def publish(summary: str = "done", **more: Any) -> Reply:
    """Publish the result of a node."""
    return call("publish", summary=summary, **more)


def finish(summary: str = "Done.", **more: Any) -> Reply:
    """End the run."""
    return call("finish", summary=summary, **more)


def finish_with(tool: str) -> Responder:
    """End the run with the latest result of a tool."""
    return lambda seen: finish(f"Done: {seen.result(tool)}")


def spawn(name: str, **more: Any) -> Reply:
    """Create a worker."""
    return call("spawn_worker", name=name, **more)


def node(name: str, worker: str | None = None, **more: Any) -> Reply:
    """Create a node, for this worker if one is named; its default task is `Do NAME`."""
    about = {"task": f"Do {name}", **({"worker": worker} if worker else {}), **more}
    return call("create_work_node", name=name, **about)


def ask(question: str, **more: Any) -> Reply:
    """Ask the human."""
    return call("ask_human", question=question, **more)


def tell(to: str, content: str, **more: Any) -> Reply:
    """Send a message."""
    return call("send_message", to=to, content=content, **more)


def held(reply: Reply, gate: Event | None) -> Reply:
    """Return the reply, delayed until the gate, if there is one, is open."""
    return replace(reply, gate=gate)


FACT = write("facts.md", "one fact")
DONE = publish()
WORK = [FACT, DONE]

# --- coordinators --------------------------------------------------------------------------------


def one_worker(name: str, task: str = "Write facts.md") -> list[Reply | Responder]:
    """Return the steps of a coordinator that has one worker do one node."""
    return [spawn(name), node(f"{name}-facts", name, task=task), WAIT, finish_with("wait")]


def workers(*names: str, **more: Any) -> list[Reply | Responder]:
    """Return the steps of a coordinator that has each of these workers do a node."""
    hired = [spawn(name, **more) for name in names]
    nodes = [node(f"{name}-facts", name) for name in names]
    return [calls(*hired), calls(*nodes), WAIT, finish_with("wait")]


def led(name: str, command: str, *between: Reaction, checks: Sequence[str] = ()) -> Responder:
    """Return a coordinator that has an external agent do one node, with these checks.

    `between` are called in order before it continues to wait; each returns None once it has
    reacted, or if there is nothing to react to.
    """
    about = {"task": "Write tool.py", **({"checks": [*checks]} if checks else {})}

    def responder(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return spawn(name, type="autonomous", agent_command=command)
        if seen.step == 1:
            return node(f"{name}-tool", name, **about)
        for one in between:
            if (reply := one(seen)) is not None:
                return reply
        ended = seen.results("wait")[-1:]
        if ended and any(f'"status": "{how}"' in ended[0] for how in ("completed", "failed")):
            return finish(f"Done: {ended[0]}")
        return WAIT

    return responder


def after_message(words: str, reply: Reply) -> Reaction:
    """Return a function that reacts once to these words of a message."""

    def react(seen: SeenRequest) -> Reply | None:
        tool = reply.calls[0].name
        return reply if words in seen.said and not seen.results(tool) else None

    return react


def by_goal(goals: Mapping[str, Plays]) -> Responder:
    """Return a coordinator's responder that plays the steps of its latest goal."""

    def answer(seen: SeenRequest) -> Reply:
        at = max(n for n, turn in enumerate(seen.turns) if _goal(turn))
        given = _goal(seen.turns[at])
        steps = next(steps for wanted, steps in goals.items() if wanted in given)
        done = sum(isinstance(turn, AssistantTurn) for turn in seen.turns[at:])
        step = steps[min(done, len(steps) - 1)]
        return step(seen) if callable(step) else step

    return answer


def _goal(turn: Turn) -> str:
    """Return the goal in a turn: the last goal, if the turn contains an unanswered one too."""
    said = turn.content if isinstance(turn, UserTurn) else ""
    return said.rpartition(GOAL)[2] if said.startswith(GOAL) else ""


# --- workers -------------------------------------------------------------------------------------


def by_node(coordinator: Plays, nodes: Mapping[str, Plays]) -> Responder:
    """Return the responder of a coordinator, and of workers that play their current node."""

    def work(seen: SeenRequest) -> Reply:
        name, step = place_of(seen)
        if name not in nodes or step >= len(nodes[name]):
            raise LookupError(f"there is no step {step} of node {name!r}")
        chosen = nodes[name][step]
        return chosen(seen) if callable(chosen) else chosen

    return Script({"coordinator": coordinator, "*": work})


def place_of(seen: SeenRequest) -> tuple[str, int]:
    """Return a worker's node ('' without one), and the number of its answers on the node."""
    name, step = "", 0
    for turn in seen.turns:
        if isinstance(turn, UserTurn) and ASSIGNMENT in turn.content:
            name, step = turn.content.split(ASSIGNMENT, 1)[1].splitlines()[0].strip(), 0
        elif isinstance(turn, AssistantTurn):
            step += 1
    return name, step


# --- external agents -----------------------------------------------------------------------------


def program(folder: Path, text: str, name: str = "agent") -> str:
    """Write a program into a folder and return its path."""
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def preset(home: Path, name: str, *command: str, **more: Any) -> str:
    """Register a command as the external agent NAME of a home, and return its name."""
    row = {"command": [*command], **more}
    (home / "agents.yaml").write_text(json.dumps({name: row}))
    return name


def working_folder(seen: SeenRequest) -> str:
    """Return the working folder that Claude Code or Gemini CLI reports."""
    found = FOLDER.search(f"{seen.system}\n{seen.said}")
    return (found[1] or found[2]).strip() if found else ""

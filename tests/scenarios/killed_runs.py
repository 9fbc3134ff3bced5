"""Runs whose processes are killed after each of their writes: goals, responders and answers."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agiraph.agent.loop import UNKNOWN_OUTCOME
from tests.fakes.model_server import Reply, Responder, Script, SeenRequest, call, calls, say
from tests.scenarios.steps import (
    WAIT,
    ask,
    bash,
    finish,
    held,
    node,
    place_of,
    publish,
    spawn,
    tell,
    write,
)
from tests.unit.tools.worktrees.checkout import Checkout

LINE: Final = "grep -qsx one lines.txt || echo one >> lines.txt"


@dataclass(frozen=True)
class KilledRun:
    """A run: the parts of its models, the first of which answers when `gate` is open.

    The conversation alone determines the answers, so repeated requests get the same answer.
    `args` are further words of `agiraph run`; each question is answered with `answer`. `last_cycle`
    is the last cycle of a run in infinite mode.
    """

    parts: Mapping[str, Responder]
    args: Sequence[str] = ()
    answer: str = "Blue."
    last_cycle: int = 0
    gate: threading.Event = field(default_factory=threading.Event)

    def script(self) -> Script:
        """Return the responder of all actors; the gate delays the coordinator's answers."""

        def lead(seen: SeenRequest) -> Reply:
            reply = self.parts["coordinator"](seen)
            return held(reply, self.gate)

        return Script({**self.parts, "coordinator": lead})


# --- two workers, one after the other: a file, a command, a message, a question -------------------


def team(_folder: Path) -> KilledRun:
    """Return the run of ada and ben."""
    return KilledRun({"coordinator": lead_two_nodes, "ada": ada, "ben": ben})


def lead_two_nodes(seen: SeenRequest) -> Reply:
    """Create both nodes, wait for them, and finish."""
    if not seen.results("create_work_node"):
        first, second = node("first", "ada"), node("second", "ben", dependencies=["first"])
        return calls(spawn("ada"), spawn("ben"), first, second)
    return finish("Both done.") if "Second is done." in seen.said else WAIT


def ada(seen: SeenRequest) -> Reply:
    """Write, run a command that is safe to repeat, tell ben, and publish."""
    ran = seen.results("bash")
    if not seen.results("write_file"):
        return write("facts.md", "one fact")
    if not ran or ran[-1] == UNKNOWN_OUTCOME:
        return bash(LINE)
    return publish("First is done.") if seen.results("send_message") else tell("ben", "Hello.")


def ben(seen: SeenRequest) -> Reply:
    """Ask the human, and publish the answer."""
    if not seen.results("ask_human"):
        return ask("Which colour?")
    if not seen.results("write_file"):
        return write("colour.md", seen.result("ask_human"))
    return publish("Second is done.")


# --- a stage, sub-nodes, a node that is tried again, the shared values ---------------------------


def stages(_folder: Path) -> KilledRun:
    """Return the run of a stage, after which a node has parts."""
    return KilledRun({"coordinator": lead_stages, "*": work_in_stages})


def lead_stages(seen: SeenRequest) -> Reply:
    """Launch two roles, close their stage, have the app built, and report the shared values."""
    if not seen.results("launch_roles"):
        roles = [{"name": n, "title": "searcher", "prompt": f"Find {n}"} for n in ("cat", "dog")]
        return call("launch_roles", stage={"name": "Search", "roles": roles, "contract": {}})
    if not seen.results("reconvene"):
        if any(f"{name}-search is found." not in seen.said for name in ("cat", "dog")):
            return WAIT
        return call("reconvene", assessment="Good", decided="Build")
    if not seen.results("create_work_node"):
        return node("app", role="builder", stage={"name": "Build"})
    if "App is done." not in seen.said:
        return WAIT
    if not seen.results("read_shared_value"):
        return call("read_shared_value", key="found")
    return finish("All found.")


def work_in_stages(seen: SeenRequest) -> Reply:
    """Find and share; or build, by a part that fails at its first attempt."""
    name, step = place_of(seen)
    if name == "app":
        if not seen.results("create_work_node"):
            return node("part", role="part", retries=1)
        if "Part is done." not in seen.said:
            return WAIT
        return publish("App is done.") if seen.results("write_file") else write("app.md", "app")
    if name == "part":
        if "This is attempt 2" not in seen.said:
            return say(f"I cannot ({step}).")
        return publish("Part is done.") if seen.results("write_file") else write("part.md", "part")
    if not seen.results("append_shared_value"):
        return call("append_shared_value", key="found", item=name)
    return publish(f"{name} is found.")


# --- cycles, which the clock begins ---------------------------------------------------------------


def cycles(_folder: Path) -> KilledRun:
    """Return a run without an end, of which two cycles are played."""
    args = ("--mode", "infinite", "--cycle", "10m")
    return KilledRun({"coordinator": lead_cycles}, args, last_cycle=2)


def lead_cycles(seen: SeenRequest) -> Reply:
    """Write the number of each cycle once, and end it."""
    ended = len(seen.results("end_cycle"))
    if len(seen.results("write_file")) <= ended:
        return write(f"cycle-{ended + 1}.md", "looked")
    return call("end_cycle", notes=f"Cycle {ended + 1} is done.", next_in="1s")


# --- two changes of a repository, merged; the human allows one command ----------------------------


def changes(folder: Path) -> KilledRun:
    """Return the run of two workers that change a repository of the person in `folder`."""
    project = Checkout(folder, {"a.txt": "one\ntwo\n", "b.txt": "b\n"})
    args = ("--input", str(project.path))
    return KilledRun({"coordinator": lead_changes, "*": changes_repository}, args, "allow once")


def lead_changes(seen: SeenRequest) -> Reply:
    """Create two nodes, and finish when both are merged."""
    if not seen.results("create_work_node"):
        return calls(node("ada"), node("bob"))
    is_over = "ada is changed." in seen.said and "bob is changed." in seen.said
    return finish("All is changed.") if is_over else WAIT


def changes_repository(seen: SeenRequest) -> Reply:
    """Make the change of a node, which is safe to repeat, and publish it."""
    name, _ = place_of(seen)
    ran = [*seen.results("bash"), *seen.results("write_file")]
    if ran and ran[-1] != UNKNOWN_OUTCOME:
        return publish(f"{name} is changed.")
    return write("repo/a.txt", "ONE\ntwo\n") if name == "ada" else bash("echo new > repo/c.txt")


RULES: Final = 'rules: [{name: edits, tool: write_file, pattern: "*a.txt", action: ask}]'
RUNS: Final[Mapping[str, Callable[[Path], KilledRun]]] = {
    "team": team,
    "stages": stages,
    "cycles": cycles,
    "changes": changes,
}

"""LiveHome: a running supervisor and a fake model server whose responder each test provides."""

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from agiraph.core.event_types import RUN_ENDS
from agiraph.core.models import ENDED_AGENT
from tests.fakes.forked_command import FRONT_DOOR, ForkedCommand
from tests.fakes.front_door import run_here
from tests.fakes.model_server import Responder, Script, SeenRequest
from tests.integration.waiting import until
from tests.scenarios.scenario_home import (
    MODEL,
    ROOT,
    RUN_SECONDS,
    JsonObject,
    Outcome,
    ScenarioHome,
    processes_of,
    title_of,
)
from tests.scenarios.steps import Steps

COMMAND_SECONDS = 120
OF_THEIR_OWN = ("console", "_supervisor")


class LiveHome(ScenarioHome):
    """A home whose supervisor runs for a whole module; one agent after the other works in it.

    `begun` are the agents that were started and not stopped: agents of a test are stopped at its
    end, agents of a module's fixtures at the end of the module.
    """

    program: tuple[str, ...] = (FRONT_DOOR, "_supervisor")
    open_homes: ClassVar[list["LiveHome"]] = []

    def __init__(
        self,
        home: Path,
        services: Sequence[str] = ("openai",),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(home, Script({}), services)
        self.environ |= environ or {}
        self.begun: list[str] = []
        self._errors = open(home / "supervisor.log", "a", encoding="utf-8")  # noqa: SIM115
        self.supervisor = self.start_supervisor()
        self.open_homes.append(self)

    def start_supervisor(self) -> ForkedCommand:
        """Start `agiraph-supervisor` on this home; return when it is ready."""
        function, *words = self.program
        process = ForkedCommand(
            (*words, "--until-eof"),
            cwd=self.home,
            env={**self.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stderr=self._errors.fileno(),
            program=function,
        )
        assert process.stdout is not None
        assert "ready" in process.stdout.readline(), self.traces()[-2000:]
        return process

    def restart_supervisor(self) -> None:
        """kill -9 the supervisor; return when the next one is ready."""
        self.supervisor.kill()
        self.supervisor.communicate()
        self.supervisor = self.start_supervisor()

    def close(self) -> None:
        """Stop the supervisor; a process of this home that still runs then is a failure."""
        self.open_homes.remove(self)
        assert self.supervisor.stdin is not None
        self.supervisor.stdin.close()
        code = self.supervisor.wait(COMMAND_SECONDS)
        assert self.supervisor.stdout is not None
        self.supervisor.stdout.close()
        self._errors.close()
        super().close()
        assert code == 0, f"the supervisor ended with {code}"

    def plays(self, responder: Responder | None = None, /, **parts: Steps) -> None:
        """Let the model be this responder, or play these parts, and forget the earlier requests."""
        self.server.responder = responder or Script(parts)
        self.server.requests.clear()
        self.server.problems.clear()

    def complete(
        self, goal: str, *args: str, meanwhile: Callable[[], object] | None = None
    ) -> Outcome:
        """Run a goal to its completion on the running supervisor, then stop its agent."""
        outcome = self.lead(goal, *args, meanwhile=meanwhile)
        assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
        return outcome

    def lead(self, goal: str, *args: str, meanwhile: Callable[[], object] | None = None) -> Outcome:
        """Run a goal to its end on the running supervisor, then stop its agent."""
        outcome = self.run(goal, *args, meanwhile=meanwhile)
        self.stop(outcome.result["agent"])
        return outcome

    def run(self, goal: str, *args: str, meanwhile: Callable[[], object] | None = None) -> Outcome:
        """Run a goal to its end; as a process if `meanwhile` must be called while it runs."""
        args = args if {"--model", "--agent"} & {*args} else (*MODEL, *args)
        if meanwhile is not None:
            outcome = super().run(goal, *args, meanwhile=meanwhile)
        else:
            limit = () if "--timeout" in args else ("--timeout", str(RUN_SECONDS))
            done = self.command("run", goal, "--json", *limit, *args)
            outcome = self.outcome(done.returncode, done.stdout, done.stderr)
        self.begun.append(outcome.result["agent"])
        return outcome

    def begin(self, name: str, *args: str, goal: str = "x") -> Path:
        """Start an agent of this name without waiting for it; return its folder."""
        args = args if "--model" in args else (*MODEL, *args)
        started = self.json("run", goal, "--name", name, "--detach", *args)
        self.begun.append(str(started["agent"]))
        return self.home / "agents" / self.begun[-1]

    def stop(self, agent: str) -> None:
        """Stop an agent, if it still runs."""
        self.command("stop", agent)
        self.begun = [one for one in self.begun if one != agent]

    def await_end(self, agent: Path, status: str = "completed") -> JsonObject:
        """Wait until a run has ended, with this status; return the agent's record.

        The event of its end, which may come after the record, is in the log then.
        """

        def ended() -> JsonObject | None:
            record: JsonObject = json.loads((agent / "agent.json").read_text())
            if record["status"] not in ENDED_AGENT:
                return None
            events = whole_lines(agent / "events.jsonl")
            ends = {event["run_id"] for event in events if event["type"] in RUN_ENDS}
            return record if record["run"] in ends else None

        record = until(ended, f"the end of {agent.name}")
        assert record["status"] == status, record
        return record

    def await_step(self, actor: str, step: int) -> SeenRequest:
        """Wait until the model receives the request for an actor's step; return the request."""
        return self.server.wait_for(lambda seen: seen.is_for(actor) and seen.step == step)

    def await_question(self, agent: str) -> JsonObject:
        """Wait for the only open question of an agent."""
        [question] = until(lambda: self.json("questions", agent), f"a question of {agent}")
        return dict(question)

    def command(
        self, *args: str, stdin: str = "", **environ: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run `agiraph ARGS...` to its end: in this process, unless it needs its own."""
        if args[0] in OF_THEIR_OWN:
            return self.process(*args, stdin=stdin, **environ)
        variables = {**self.environ, "PYTHONPATH": str(ROOT), **environ}
        return run_here(args, cwd=self.home, environ=variables, stdin=stdin)

    def process(
        self, *args: str, stdin: str = "", **environ: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run `agiraph ARGS...` as a process to its end, with these variables over its own."""
        process = ForkedCommand(
            args,
            cwd=self.home,
            env={**self.environ, "PYTHONPATH": str(ROOT), **environ},
            stdin=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(stdin)
        out, err = process.communicate(COMMAND_SECONDS)
        return subprocess.CompletedProcess(args, process.wait(), out, err)

    def retried(self, *args: str) -> str:
        """Run a command, again while the gateway is being restarted; return its output."""

        def done() -> str | None:
            ended = self.command(*args)
            return ended.stdout if ended.returncode == 0 else None

        return until(done, f"agiraph {args}")

    def json(self, *args: str) -> Any:
        """Run a command with --json and return its parsed output."""
        done = self.command(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def agent(self, name: str) -> Path:
        """Return the folder of the agent that was started with this name, once it is there."""

        def found() -> Path | None:
            records = (self.home / "agents").glob("*/agent.json")
            return next(
                (r.parent for r in records if json.loads(r.read_text())["name"] == name), None
            )

        return until(found, f"the agent {name}")

    def await_call(self, folder: Path, tool: str) -> None:
        """Wait until the conversation in `folder` has an open call of this tool."""

        def is_open() -> bool:
            records = whole_lines(folder / "conversation.jsonl")
            calls = [r for r in records if r["kind"] in ("tool.started", "tool.finished")]
            return bool(calls) and (calls[-1]["kind"], calls[-1]["name"]) == ("tool.started", tool)

        until(is_open, f"an open call of {tool} in {folder}")

    def kill_in_command(self, agent: Path, node: str, worker: str) -> None:
        """Kill a worker during its command for a node, which waits for that (UNTIL_KILLED)."""
        marks = f"runs/*/nodes/{node}*/scratch/dying"
        dying = until(lambda: next(agent.glob(marks), None), f"the command of {node} waits")
        self.kill(f"worker {worker}")
        (dying.parent / "killed").touch()

    def worker(self, agent: Path, name: str) -> Path:
        """Return the folder of a worker of the agent's run, once it is there."""
        pattern = f"runs/*/workers/{name}-*"
        return until(lambda: next(agent.glob(pattern), None), f"the worker {name}")

    def traces(self) -> str:
        """Return everything that the processes of this home wrote into their logs."""
        files = [self.home / "supervisor.log", *(self.home / "system/logs").glob("*.log")]
        return "\n".join(file.read_text(encoding="utf-8") for file in files)

    def states(self, agent: str) -> dict[str, str]:
        """Return the state of each entity of an agent (by its id), by its address."""
        rows = self.json("ps")
        return {r["address"]: r["state"] for r in rows if r["address"].startswith(f"{agent}/")}

    def has_parked(self, agent: str, least: int = 1) -> bool:
        """Whether an agent (by its id) has at least `least` entities, none with a process."""
        rows = [r for r in self.json("ps") if r["address"].startswith(f"{agent}/")]
        at_rest = ("parked", "paused", "waiting_for_human")
        return len(rows) >= least and all(r["pid"] is None and r["state"] in at_rest for r in rows)

    def titles(self) -> list[str]:
        """Return the titles of all processes of this home."""
        return [title_of(process) for process in processes_of(self.home)]

    def working(self) -> list[str]:
        """Return the ids of all agents whose coordinator has a process."""
        lead = "agiraph: coordinator "
        return [title.removeprefix(lead) for title in self.titles() if title.startswith(lead)]


MakeLiveHome = Callable[..., LiveHome]


@contextlib.contextmanager
def running_home(
    home: Path, kind: type[LiveHome] = LiveHome, settings: JsonObject | None = None, **options: Any
) -> Iterator[LiveHome]:
    """Keep a running home with these settings while the block runs."""
    if settings is not None:
        (home / "agiraph.yaml").write_text(json.dumps(settings))
    live_home = kind(home, **options)
    try:
        yield live_home
        assert "Traceback" not in live_home.traces()
    finally:
        live_home.close()


def whole_lines(path: Path) -> list[JsonObject]:
    """Return the complete records of a journal that is being written."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

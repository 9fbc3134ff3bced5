"""Place: a running supervisor and a fake model server whose brain each test brings along."""

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.fakes.forked import FRONT_DOOR, Forked
from tests.fakes.front_door import run_here
from tests.fakes.model_server import Brain, Reply, Script, call
from tests.integration.house import until
from tests.scenarios.house import (
    ROOT,
    RUN_SECONDS,
    House,
    JsonObject,
    Outcome,
    processes_of,
    title_of,
)

COMMAND_SECONDS = 60
OF_THEIR_OWN = ("console", "_supervisor")
Steps = Sequence[Reply | Brain] | Brain


class Place(House):
    """A house whose supervisor stands for a whole module; one agent after the other works in it."""

    program: tuple[str, ...] = (FRONT_DOOR, "_supervisor")

    def __init__(self, home: Path, services: Sequence[str] = ("openai",)) -> None:
        super().__init__(home, Script({}), services)
        self._errors = open(home / "supervisor.log", "a", encoding="utf-8")  # noqa: SIM115
        self.supervisor = self.start_supervisor()

    def start_supervisor(self) -> Forked:
        """Start `agiraph-supervisor` on this home; return when it is ready."""
        function, *words = self.program
        process = Forked(
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
        """Stop the supervisor; whatever of this home still runs then is a failure."""
        assert self.supervisor.stdin is not None
        self.supervisor.stdin.close()
        code = self.supervisor.wait(COMMAND_SECONDS)
        assert self.supervisor.stdout is not None
        self.supervisor.stdout.close()
        self._errors.close()
        super().close()
        assert code == 0, f"the supervisor ended with {code}"

    def plays(self, **parts: Steps) -> None:
        """Let the model play these parts from now on, and forget what was asked before."""
        self.server.brain = Script(parts)
        self.server.requests.clear()
        self.server.problems.clear()

    def lead(self, goal: str, *args: str, meanwhile: Callable[[], None] | None = None) -> Outcome:
        """Run a goal to its end on the standing supervisor, then stop its agent."""
        model = () if "--model" in args else ("--model", "openai/fake")
        outcome = self.run(goal, *model, *args, meanwhile=meanwhile)
        self.command("stop", outcome.result["agent"])
        return outcome

    def run(self, goal: str, *args: str, meanwhile: Callable[[], None] | None = None) -> Outcome:
        """Run a goal to its end; as a process if there is something to do while it runs."""
        if meanwhile is not None:
            return super().run(goal, *args, meanwhile=meanwhile)
        limit = () if "--timeout" in args else ("--timeout", str(RUN_SECONDS))
        done = self.command("run", goal, "--json", *limit, *args)
        return self.outcome(done.returncode, done.stdout, done.stderr)

    def command(
        self, *args: str, stdin: str = "", **environ: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run `agiraph ARGS...` to its end: in this process, if it needs none of its own."""
        if args[0] in OF_THEIR_OWN:
            return self.process(*args, stdin=stdin, **environ)
        variables = {**self.environ, "PYTHONPATH": str(ROOT), **environ}
        return run_here(args, cwd=self.home, environ=variables, stdin=stdin)

    def process(
        self, *args: str, stdin: str = "", **environ: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run `agiraph ARGS...` as a process to its end, with these variables over its own."""
        process = Forked(
            args,
            cwd=self.home,
            env={**self.environ, "PYTHONPATH": str(ROOT), **environ},
            stdin=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(stdin)
        out, err = process.communicate(COMMAND_SECONDS)
        return subprocess.CompletedProcess(args, process.wait(), out, err)

    def json(self, *args: str) -> Any:
        """Run a command with --json and return what it prints."""
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

    def worker(self, agent: Path, name: str) -> Path:
        """Return the folder of a worker of the agent's run, once it is there."""
        return until(
            lambda: next(agent.glob(f"runs/*/workers/{name}-*"), None), f"the worker {name}"
        )

    def traces(self) -> str:
        """Return everything that the processes of this home wrote into their logs."""
        files = [self.home / "supervisor.log", *(self.home / "system/logs").glob("*.log")]
        return "\n".join(file.read_text(encoding="utf-8") for file in files)

    def titles(self) -> list[str]:
        """Return the titles of all processes of this home."""
        return [title_of(process) for process in processes_of(self.home)]


@contextlib.contextmanager
def placed(
    home: Path, kind: type[Place] = Place, services: Sequence[str] = ("openai",)
) -> Iterator[Place]:
    """Keep a place for as long as the block runs."""
    place = kind(home, services)
    try:
        yield place
    finally:
        place.close()


def one_worker(name: str, task: str = "Write facts.md") -> list[Reply | Brain]:
    """Return the steps of a coordinator that has one worker do one node."""
    return [
        call("spawn_worker", name=name),
        call("create_work_node", name=f"{name}-facts", task=task, worker=name),
        call("wait"),
        lambda seen: call("finish", summary=f"Done: {seen.result('wait')}"),
    ]


def whole_lines(path: Path) -> list[JsonObject]:
    """Return the whole records of a journal that is being written."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

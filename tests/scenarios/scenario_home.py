"""ScenarioHome: a separate home for one scenario, used through the command line."""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.fakes.forked_command import ForkedCommand
from tests.fakes.model_server import FakeModelServer, Responder
from tests.integration.waiting import is_gone, until

ROOT = Path(__file__).parents[2]
RUN_SECONDS = 240
KILL_SECONDS = 30
MODEL = ("--model", "openai/fake")
SERVICES = ("openai", "anthropic", "google")
JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The results of one `agiraph run --json`."""

    code: int
    result: JsonObject
    progress: str
    agent: Path
    run: Path

    def events(self, type_: str | None = None) -> list[JsonObject]:
        """Return the agent's events, of one type if named."""
        events = _lines(self.agent / "events.jsonl")
        return [event for event in events if type_ in (None, event["type"])]

    def data(self, type_: str) -> list[JsonObject]:
        """Return the data of the events of a type, in order."""
        return [event["data"] for event in self.events(type_)]

    def types(self) -> list[str]:
        """Return the types of all events, in order."""
        return [event["type"] for event in self.events()]

    def published(self, node: str) -> dict[str, str]:
        """Return the published files of the node whose name is, or begins with, this text."""
        exact = self.run / "nodes" / node
        begun = (one for one in (self.run / "nodes").iterdir() if one.name.startswith(node))
        folder = exact if exact.exists() else next(begun)
        files = (folder / "published").rglob("*")
        return {file.name: file.read_text() for file in files if file.is_file()}

    def messages(self) -> list[str]:
        """Return the message log's file names, in order."""
        return sorted(path.name for path in (self.run / "_messages").glob("*.md"))

    def completions(self) -> list[str]:
        """Return the completed nodes, in order: each once, whatever was killed."""
        journal = _lines(self.run / "journal.jsonl")
        return [record["node_id"] for record in journal if record["type"] == "node.completed"]

    def conversation(self) -> list[JsonObject]:
        """Return the coordinator's journal."""
        return _lines(self.agent / "conversation.jsonl")


class ScenarioHome:
    """A home, a fake model server with a responder, and the command line between them.

    Its team calls OpenAI's SDK; `services` names one or more other services for tests about
    services.
    """

    def __init__(
        self, home: Path, responder: Responder, services: Sequence[str] = ("openai",)
    ) -> None:
        self.home = home
        self.server = FakeModelServer(responder)
        self.environ = {**_clean_environ(), **self.server.env(*services), "AGIRAPH_HOME": str(home)}

    def close(self) -> None:
        """Stop the server; a process that still runs on this home is a failure, and is killed."""
        self.server.close()
        leftovers = processes_of(self.home)
        for process in leftovers:
            process.kill()
        assert not leftovers, f"left behind: {leftovers}"

    def start(self, *args: str) -> ForkedCommand:
        """Start `agiraph ARGS...` as a process."""
        return ForkedCommand(args, cwd=self.home, env={**self.environ, "PYTHONPATH": str(ROOT)})

    def run(self, goal: str, *args: str, meanwhile: Callable[[], object] | None = None) -> Outcome:
        """Run a goal to its end; `meanwhile` is called while it runs."""
        process = self.start("run", goal, "--json", *args)
        try:
            if meanwhile is not None:
                meanwhile()
            out, err = process.communicate(timeout=RUN_SECONDS)
        except BaseException:
            process.send_signal(signal.SIGINT)
            print(process.communicate(timeout=30))
            raise
        return self.outcome(process.wait(), out, err)

    def outcome(self, code: int, out: str, err: str) -> Outcome:
        """Return the results of a run, from its command's output."""
        assert out.strip(), f"exit {code}: {err}"
        result: JsonObject = json.loads(out)
        agent = self.home / "agents" / result["agent"]
        run = agent / "runs" / result["run"]
        assert not self.server.problems, self.server.problems
        return Outcome(code, result, err, agent, run)

    def kill(self, title: str, number: int = signal.SIGKILL) -> int:
        """Kill the process of this home with `title` in its title; return its pid.

        After SIGKILL, return when the process has ended: no later search by its title finds it.
        """
        process = self.process_of(title)
        os.kill(process.pid, number)
        if number == signal.SIGKILL:
            until(lambda: is_gone(process), f"the end of {title}")
        return process.pid

    def process_of(self, title: str) -> psutil.Process:
        """Return the only process of this home with `title` in its title.

        The process may just be starting, and a process of an earlier test may just be exiting: this
        waits.
        """
        deadline = time.monotonic() + KILL_SECONDS
        while True:
            titles = [(title_of(process), process) for process in processes_of(self.home)]
            found = [process for shown, process in titles if title in shown]
            shown = [shown for shown, _ in titles]
            if len(found) == 1:
                return found[0]
            assert time.monotonic() < deadline, f"{len(found)} processes {title!r} among {shown}"
            time.sleep(0.01)


def processes_of(home: Path) -> list[psutil.Process]:
    """Return the processes, except this, with an open file of this home, such as their log."""
    found = []
    for pid in psutil.pids():
        if pid != os.getpid() and any(path.startswith(f"{home}/") for path in _open_in(pid)):
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                if process.status() != psutil.STATUS_ZOMBIE:  # it ended meanwhile
                    found.append(process)
    return found


def _open_in(pid: int) -> Iterator[str]:
    """Yield the paths of a process's open files; with /proc in a tenth of psutil's time."""
    if not sys.platform.startswith("linux"):
        with contextlib.suppress(psutil.Error):
            yield from (file.path for file in psutil.Process(pid).open_files())
        return
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for number in os.listdir(folder):
            with contextlib.suppress(OSError):
                yield os.readlink(f"{folder}/{number}")


def _lines(path: Path) -> list[JsonObject]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def title_of(process: psutil.Process) -> str:
    """Return the title of a process in `ps`."""
    return " ".join(words_of(process)).strip()


def words_of(process: psutil.Process) -> list[str]:
    """Return the command line of a process, nothing if it has ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _clean_environ() -> dict[str, str]:
    """Return the caller's environment without a provider's key or address in it."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(("_API_KEY", "_BASE_URL")) and not name.startswith("AGIRAPH_")
    }

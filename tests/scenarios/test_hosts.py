"""A real team on a home and two hosts: a worker is moved, loses its machine, and finishes."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from agiraph.core.hosts import read_invitation
from tests.fakes.forked_command import ForkedCommand
from tests.fakes.model_server import Reply, SeenRequest, calls
from tests.integration.machine import LISTENS
from tests.integration.probed_supervisor import ROOT
from tests.integration.waiting import await_gone, until
from tests.scenarios.live_home import LiveHome, running_home, whole_lines
from tests.scenarios.steps import (
    DONE,
    WAIT,
    bash,
    finish_with,
    held,
    node,
    spawn,
    tell,
    write,
)
from transport.sockets import curve_keys

LARGE = 2_000_000
NO_PARKING = "run: {park_after_seconds: 0}\n"


@contextmanager
def joined(live_home: LiveHome, folder: Path) -> Iterator[psutil.Process]:
    """Let a host in this folder, with the folder's name, join the home and run."""
    name = folder.name
    line = live_home.json("host", "invite", "--name", name, "--label", "far")["line"]
    environ = {key: value for key, value in live_home.environ.items() if key != "AGIRAPH_HOME"}
    with open(folder.with_name(f"{name}.said"), "ab") as said:
        process = ForkedCommand(
            ("host", "join", line, "--folder", str(folder)),
            cwd=ROOT,
            env={**environ, "PYTHONPATH": str(ROOT)},
            stderr=said.fileno(),
        )
    try:
        until(
            lambda: (
                (name, "ready")
                in {(row["name"], row["state"]) for row in live_home.json("host", "list")}
            ),
            f"{name} has joined",
        )
        yield psutil.Process(process.pid)
    finally:
        family = _family(process.pid)
        process.send_signal(signal.SIGTERM)
        process.communicate()
        await_gone(family, f"nothing of {name} is left")


def _family(pid: int) -> list[psutil.Process]:
    try:
        return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def test_worker_is_moved_between_two_steps_and_survives_the_loss_of_its_machine(
    tmp_path: Path,
) -> None:
    home, given, machines = (tmp_path / name for name in ("home", "given", "machines"))
    for folder in (home, given, machines):
        folder.mkdir()
    (given / "rows.txt").write_text("a,b\n")
    (home / "agiraph.yaml").write_text(
        LISTENS.replace("{", "{default_labels: [far], ") + NO_PARKING
    )
    moved, asked, gate = threading.Event(), threading.Event(), threading.Event()
    make = f"cp $AGIRAPH_INPUT/rows.txt .; head -c {LARGE} /dev/zero > large.bin"

    def ada(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return calls(tell("human", "I have begun."), bash(make))
        if not moved.is_set():
            return bash("echo >> steps; sleep 0.1")
        if seen.results("write_file"):
            return DONE
        asked.set()
        return held(write("last.md", "1"), gate)

    with (
        running_home(home) as live_home,
        joined(live_home, machines / "north") as north,
        joined(live_home, machines / "south") as south,
    ):
        hosts = {"north": north, "south": south}
        live_home.plays(
            coordinator=[
                spawn("ada"),
                node("ada-facts", "ada"),
                WAIT,
                finish_with("wait"),
            ],
            ada=ada,
        )

        def row() -> dict[str, str]:
            [found] = [one for one in live_home.json("ps") if "/ada-" in one["address"]]
            return dict(found)

        def meanwhile() -> None:
            live_home.await_step("ada", 1)
            first = row()["host"]
            [second] = hosts.keys() - {first}
            out, said = live_home.start("move", row()["address"], second).communicate(timeout=60)
            assert f"continues on {second}" in out, said
            moved.set()
            until(asked.is_set, "ada's next step")
            assert row()["host"] == second
            agent = row()["address"].partition("/")[0]
            assert [one["host"] for one in live_home.json("workers", agent)] == [second]
            assert f" {second} " in live_home.command("board", agent).stdout
            for process in _family(hosts[second].pid):
                os.kill(process.pid, signal.SIGKILL)
            until(lambda: row()["host"] == first and row()["pid"], f"ada is on {first} again")
            gate.set()

        outcome = live_home.complete("Find facts", "--input", str(given), meanwhile=meanwhile)
        [node_folder] = (outcome.run / "nodes").iterdir()
        published = {file.name: file.stat().st_size for file in node_folder.glob("published/*")}
        steps = [seen.step for seen in live_home.server.seen_by("ada")]
        assert steps == list(range(len(steps))), "no step was done twice"
        wanted = {"large.bin": LARGE, "rows.txt": 4, "steps": len(steps) - 3, "last.md": 1}
        assert published == wanted
        [event] = outcome.events("child.moved")
        assert event["data"]["to"] in hosts
        texts = [(outcome.run / "_messages" / name).read_text() for name in outcome.messages()]
        assert len([text for text in texts if "I have begun." in text]) == 1
        line = live_home.json("host", "invite")["line"]
        forged = read_invitation(line, 0).model_copy(update={"secret": curve_keys()[1]}).line()
        told = live_home.process("host", "join", forged, "--folder", str(machines / "west"))
        assert "does not know this invitation" in told.stderr
        audit = home / "human/audit.jsonl"
        lines = until(
            lambda: [one for one in whole_lines(audit) if one["method"] == "UPLINK"], "a line"
        )
        refused = {"status": 403, "who": None, "client": "127.0.0.1"}
        assert lines[-1].items() >= {**refused, "reason": "its key is not known"}.items()
        assert "its key is not known" in live_home.command("audit", "--refused").stdout

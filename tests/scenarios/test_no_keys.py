"""No process that executes a model's commands contains a provider's key, checked in all of them.

The environment and all writable memory of every process of a working home are searched:
coordinator, worker, its command, an external agent, spawner and services. Only the broker has the
key, and the supervisor, which passes it to the next broker. A home whose broker was killed and
restarted is searched, because then the key has been passed on.
"""

import os
import re
import secrets
import sys
from pathlib import Path

import psutil
import pytest

from agiraph.tools.sandbox.probe import probe
from tests.fakes.forked_command import ForkedCommand
from tests.fakes.model_server import call
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, MakeLiveHome
from tests.scenarios.scenario_home import title_of
from tests.scenarios.steps import DONE, FACT, WAIT, bash, finish, node, preset, program, spawn

FOUND = probe()
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
KEY = f"sk-ant-{secrets.token_hex(16)}"
MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw")
MAY_HOLD = ("agiraph: broker", "agiraph: supervisor")
CHUNK = 1 << 22
AT_WORK = "touch begun; until test -e go; do sleep 0.05; done"
AGENT = f"#!/bin/bash\n{AT_WORK}\necho It is done. > _result.md\n"


class SecretKeyHome(LiveHome):
    """A running home whose provider has a key that no other data contains.

    Its processes are started as programs: forked ones contain their parent's memory.
    """

    program = ("agiraph.__main__:supervisor_main",)

    def start_supervisor(self) -> ForkedCommand:
        self.server.key = KEY
        self.environ |= self.server.env() | {"BRAVE_API_KEY": f"{KEY}-search"}
        return super().start_supervisor()


@pytest.fixture(scope="module")
def keyed(make_live_home: MakeLiveHome) -> LiveHome:
    return make_live_home(kind=SecretKeyHome)


def holds(pid: int, wanted: bytes) -> bool:
    """Whether the environment or the writable memory of a process contains some bytes."""
    if wanted in Path(f"/proc/{pid}/environ").read_bytes():
        return True
    mappings = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    found = (MAPPING.match(line) for line in mappings)
    ranges = [(int(one[1], 16), int(one[2], 16)) for one in found if one]
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return any(_is_in(memory.fileno(), start, end, wanted) for start, end in ranges)


def _is_in(memory: int, start: int, end: int, wanted: bytes) -> bool:
    """Whether a range of memory contains some bytes; unreadable parts are skipped."""
    for at in range(start, end, CHUNK):
        try:
            if wanted in os.pread(memory, min(CHUNK + len(wanted), end - at), at):
                return True
        except OSError:
            return False
    return False


def holders(live_home: LiveHome) -> tuple[dict[str, bool], list[str]]:
    """Return whether each process of a home contains the key, and the unreadable processes."""
    supervisor = psutil.Process(live_home.supervisor.pid)
    seen: dict[str, bool] = {}
    hidden = []
    for process in [supervisor, *supervisor.children(recursive=True)]:
        title = title_of(process)
        try:
            seen[f"{title} ({process.pid})"] = holds(process.pid, KEY.encode())
        except PermissionError:
            hidden.append(title)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
    return seen, hidden


@LINUX_ONLY
def test_only_broker_and_supervisor_have_a_key(keyed: LiveHome, tmp_path: Path) -> None:
    command = preset(keyed.home, "looking", program(tmp_path, AGENT))
    hired = [spawn("ada"), spawn("ann", type="autonomous", agent_command=command)]
    leads = [*hired, node("shell", "ada"), node("agent", "ann"), WAIT, finish()]
    keyed.plays(coordinator=leads, ada=[bash(AT_WORK), DONE])
    keyed.kill("agiraph: broker")
    looked: list[tuple[dict[str, bool], list[str]]] = []

    def meanwhile() -> None:
        def begun() -> list[Path]:
            return sorted((keyed.home / "agents").glob("*/runs/*/nodes/*/scratch/begun"))

        until(lambda: len(begun()) == 2, "both are at work")
        looked.append(holders(keyed))
        for file in begun():
            (file.parent / "go").touch()

    keyed.complete("Hold no key", "--name", "keyless", meanwhile=meanwhile)
    seen, hidden = looked[0]
    titles = "\n".join(seen)
    for kind in ("coordinator keyless", "worker ada", "worker ann", "spawner", "recorder", "bash"):
        assert kind in titles, f"{kind} was not looked at: {titles}"
    guilty = [title for title, has_key in seen.items() if has_key]
    assert all(title.startswith(MAY_HOLD) for title in guilty), guilty
    assert all(title.startswith(MAY_HOLD) for title in hidden), f"cannot be read: {hidden}"
    assert any("broker" in title for title in [*guilty, *hidden]), "else this test sees nothing"
    for path in keyed.home.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.skipif(not FOUND.works, reason=FOUND.why or "no sandbox")
def test_a_shell_in_a_run_sees_nothing_of_others(keyed: LiveHome) -> None:
    """A worker looks for all visible files of the home after another worker has worked there."""
    look = f"find {keyed.home} -type f; cat {keyed.home}/system/token {keyed.home}/human/*.json"
    mark = "only-mine-4711"
    second = [node("second", "ben"), call("wait", nodes=["second"]), finish()]
    noting = bash(f"echo {mark} >> ../../../workers/amy-*/notebook.md; echo a > a")
    keyed.plays(
        coordinator=[spawn("amy"), spawn("ben"), node("first", "amy"), WAIT, *second],
        amy=[noting, DONE],
        ben=[bash(f"{look}; grep -rl {mark} {keyed.home}"), FACT, DONE],
    )
    outcome = keyed.complete("Look about", "--name", "curious")
    assert outcome.published("first") == {"a": "a\n"}
    notebook = next(outcome.run.glob("workers/amy-*/notebook.md"))
    assert mark in notebook.read_text(), "amy's own shell reaches her notebook"
    seen = keyed.server.seen_by("ben")[1].result("bash")
    paths = [line for line in seen.splitlines() if line.startswith(f"{keyed.home}/")]
    run = f"{outcome.run}/"
    own = ("workers/ben-", "nodes/second/")
    shared = ("nodes/first/", "_plan.md", "_messages/", "_shared_values")
    assert paths
    assert all(path.startswith(run) for path in paths), seen
    inside = [path.removeprefix(run) for path in paths]
    assert all(path.startswith((*own, *shared)) for path in inside), inside
    of_first = {path.split("/")[2] for path in inside if path.startswith("nodes/first/")}
    assert of_first == {"published"}
    assert "notebook.md" not in "".join(path for path in inside if "amy" in path)
    assert "system/token: No such file" in seen

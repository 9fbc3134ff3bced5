"""The agents of attached commands: abandoned agents, and reasons to continue."""

import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from agiraph.core.ids import AgentId
from agiraph.storage.files import make_private_folder
from agiraph.storage.home import Home
from agiraph.storage.run_lease import RunLease, detach_agent, is_left, left_agents

AGENT = AgentId("survey-1a2b3c")
ATTENDS = (
    "import sys; from pathlib import Path; from agiraph.storage.run_lease import RunLease; "
    "one = RunLease(Path(sys.argv[1]), sys.argv[2]); one.begin(); "
    "print('attends', flush=True); sys.stdin.read()"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home in which a supervisor has been."""
    make_private_folder(Home(tmp_path).system.path)
    return tmp_path


def test_agent_of_a_killed_command_is_left(home: Path) -> None:
    command = [sys.executable, "-c", ATTENDS, str(home), AGENT]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "attends\n"
        assert not is_left(home, AGENT)
        detach_agent(home, AGENT)
        process.kill()
    assert is_left(home, AGENT)
    assert left_agents(home) == [AGENT]


def test_agent_without_a_command_is_not_left(home: Path) -> None:
    assert not is_left(home, AGENT)
    assert left_agents(home) == []


def test_reattached_agent_is_not_left(home: Path) -> None:
    attend(home).end()
    again = attend(home)
    assert not is_left(home, AGENT)
    again.end()
    assert is_left(home, AGENT)


def test_detached_agent_is_not_left(home: Path) -> None:
    attend(home).end()
    detach_agent(home, AGENT)
    assert not is_left(home, AGENT)
    attend(home).detach()
    assert not is_left(home, AGENT)


def test_lease_on_a_missing_home_creates_no_folder(tmp_path: Path) -> None:
    attend(tmp_path / "home").end()
    assert not (tmp_path / "home").exists()


def attend(home: Path) -> RunLease:
    lease = RunLease(home, AGENT)
    lease.begin()
    return lease

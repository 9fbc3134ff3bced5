"""The gateway and the recorder under a real supervisor, on the real bus, and killed on the way."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agiraph.core.models import Event
from agiraph.http.api import AgentView, CreateAgentRequest
from agiraph.http.client import Client, NotReachable
from agiraph.http.event_follower import EventFollower
from agiraph.logs.event_log import EventLog
from agiraph.storage.home import AgentHome, Home
from agiraph.storage.segments import segments_of
from tests.integration.commands import Commands
from tests.integration.probed_supervisor import keep_port

DEADLINE_SECONDS = 90.0


@pytest.fixture(scope="module")
def supervised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ExitStack]]:
    """A home with its supervisor, which the last test stops by closing the stack."""
    commands = Commands(tmp_path_factory.mktemp("supervised") / "home")
    commands.home.mkdir(mode=0o700)
    (commands.home / "agiraph.yaml").write_text("retention: {segment_bytes: 2000}\n")
    keep_port(commands.home)
    with ExitStack() as stack:
        stack.enter_context(commands.supervisor())
        yield commands.home, stack


@pytest.fixture
def home(supervised: tuple[Path, ExitStack]) -> Path:
    return supervised[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (folder / "b.md").write_text("# Notes\n\nsee a.csv\n")
    return folder


def create(client: Client, folder: Path) -> AgentView:
    request = CreateAgentRequest(
        goal="Survey these papers", model="script/survey", input=str(folder)
    )
    return client.create_agent(request)


def kill(client: Client, address: str) -> None:
    row = next(row for row in client.entities() if row.address == address)
    assert row.pid is not None
    os.kill(row.pid, signal.SIGKILL)


def read_until(follower: EventFollower, type: str) -> list[Event]:
    events: list[Event] = []
    while not events or events[-1].type != type:
        event = follower.next(within_seconds=DEADLINE_SECONDS)
        assert event is not None, f"no {type} came after {[event.type for event in events[-5:]]}"
        events.append(event)
    return events


def test_a_run_is_followed_without_gap_or_repeat_while_gateway_and_recorder_are_killed(
    home: Path, folder: Path
) -> None:
    with Client.for_home(home) as client:
        agent = create(client, folder)
        assert agent.status in ("idle", "working")
        follower = client.follow_events(agent.id)
        events = read_until(follower, "worker.spawned")
        kill(client, "recorder")
        kill(client, "human")
    with follower:
        events += read_until(follower, "agent.completed")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len(segments_of(Home(home).agent(agent.id).events)) > 2
    counts = Counter(event.type for event in events)
    assert counts["agent.created"] == counts["agent.completed"] == 1
    with Client.for_home(home) as client:
        assert client.agent(agent.id).status == "completed"
        board = client.board(agent.id)
        assert counts["node.completed"] == len(board.nodes) == 4
        assert {node.status for node in board.nodes} == {"completed"}
        assert "a.csv" in client.read_file(agent.id, "_output.md").content
        sent = counts["message.sent"]
        messages = client.messages(agent.id)
        assert len(messages) == len({message.id for message in messages}) == sent
        assert [message.seq for message in messages] == list(range(1, sent + 1))
        folder_of_messages = client.list_files(agent.id, "_messages").entries
        assert len([e for e in folder_of_messages if e.name.endswith(".md")]) == sent


def test_restarted_gateway_keeps_its_address(home: Path) -> None:
    with Client.for_home(home) as client:
        before = client.health()
        kill(client, "human")
        follower = client.follow_events("nobody")
        with follower, pytest.raises(Exception, match="unknown agent"):
            follower.next(within_seconds=DEADLINE_SECONDS)
    with Client.for_home(home) as again:
        assert again.health().pid != before.pid
        assert again.url == client.url


@pytest.mark.parametrize("act", ["restart", "kill"])
def test_gateway_ordered_to_end_itself_is_replaced(home: Path, act: str) -> None:
    commands = Commands(home)
    before = {row["address"]: row for row in commands.json("ps")}["human"]
    [done] = commands.json(act, "human")
    after = {row["address"]: row for row in commands.json("ps")}["human"]
    assert (done["address"], after["incarnation"]) == ("human", before["incarnation"] + 1)


def test_an_agent_is_stopped_started_again_and_archived(home: Path, folder: Path) -> None:
    with Client.for_home(home) as client:
        agent = create(client, folder)
        with client.follow_events(agent.id) as follower:
            read_until(follower, "worker.spawned")
            client.stop(agent.id)
            rows = [row for row in client.entities() if row.address.startswith(agent.id)]
            assert {row.state for row in rows} == {"stopped"}
            assert client.agent(agent.id).status == "stopped"
            client.resume(agent.id)
            completed = read_until(follower, "agent.completed")[-1]
        archived = client.archive(agent.id)
        assert agent.id not in [each.id for each in client.agents()]
        assert EventLog(AgentHome(Path(archived.path)).events).last() >= completed.seq
        assert not [row for row in client.entities() if row.address.startswith(agent.id)]


def test_stopping_the_supervisor_ends_the_gateway_with_open_followers(
    supervised: tuple[Path, ExitStack], folder: Path
) -> None:
    home, supervisor = supervised
    with Client.for_home(home) as client:
        agent = create(client, folder)
        follower = client.follow_events(agent.id)
        assert follower.next(within_seconds=DEADLINE_SECONDS) is not None
        supervisor.close()
    follower.close()
    with pytest.raises(NotReachable):
        Client.for_home(home)

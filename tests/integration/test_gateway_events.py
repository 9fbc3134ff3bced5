"""Following events over a real WebSocket: from a cursor, without gap or repeat, to a clean end."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from agiraph.api.live import feeds
from agiraph.core.models import Event
from agiraph.http.client import LATEST, Client, NotReachable, read_gateway_address
from agiraph.http.errors import ApiError
from agiraph.http.event_follower import EventFollower
from agiraph.messages.event import EventAppended
from agiraph.messages.text import TextMessage
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, GatewayHome, running_gateway


@pytest.fixture
def gateway_home(tmp_path: Path) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path / "home") as gateway_home:
        gateway_home.add_agent()
        yield gateway_home


def ring(gateway_home: GatewayHome) -> None:
    """Let the recorder say that something was appended."""
    gateway_home.arrive(
        arrived(EventAppended(event=Event(type="x", agent_id=AGENT, ts=1.0)), "recorder")
    )


def take(follower: EventFollower, count: int) -> list[int]:
    seqs: list[int] = []
    while len(seqs) < count:
        event = follower.next(within_seconds=10)
        assert event is not None, f"only {seqs} came"
        seqs.append(event.seq)
    return seqs


def test_events_are_paged_by_a_cursor(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.log_events(*(f"e{number}" for number in range(1, 8)))
    page = client.events(AGENT, limit=3)
    assert [event.seq for event in page.events] == [1, 2, 3]
    page = client.events("survey", after=page.next, limit=3)
    assert [event.type for event in page.events] == ["e4", "e5", "e6"]
    last = client.events(AGENT, after=6)
    assert (len(last.events), last.next) == (1, 7)
    assert client.events(AGENT, after=7) == last.model_copy(update={"events": ()})
    newest = client.events(AGENT, before=LATEST, limit=3)
    assert ([event.seq for event in newest.events], newest.next) == ([5, 6, 7], 7)
    older = client.events(AGENT, before=newest.previous, after=2, limit=3)
    assert ([event.seq for event in older.events], older.previous) == ([3, 4], None)


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=1000000", "after=1e99"])
def test_a_wrong_cursor_is_refused(client: Client, query: str) -> None:
    assert client._http.get(f"/agents/{AGENT}/events?{query}").status_code == 422


def test_follower_gets_the_log_and_then_new_events(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.log_events("a", "b", "c")
    with client.follow_events("survey", after=1) as follower:
        assert take(follower, 2) == [2, 3]
        gateway_home.log_events("d")
        ring(gateway_home)
        assert take(follower, 1) == [4]
        assert follower.next(within_seconds=0) is None


def test_a_page_and_a_follower_have_the_sentences_of_events_for_an_audience(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.log_events("tool.called", "agent.paused", "node.assigned", "agent.completed")
    page = client._http.get(f"/agents/{AGENT}/events?audience=team").json()
    told = [(event["type"], event["text"], event["tone"]) for event in page["events"]]
    assert told == [
        ("agent.paused", "paused", "ask"),
        ("agent.completed", "the goal is met", "good"),
    ]
    everyone = client._http.get(f"/agents/{AGENT}/events?audience=everyone&type=agent.*").json()
    assert everyone["events"] == page["events"][1:]
    wrong = client._http.get(f"/agents/{AGENT}/events?audience=nobody")
    assert wrong.status_code == 422
    with client.follow_events(AGENT, after=1) as follower:
        event = follower.next(within_seconds=10)
        assert event is not None
        assert event.model_dump(mode="json") == page["events"][0]


def test_a_call_that_waits_for_nodes_shows_their_names(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.add_team("Alice")
    [node] = client.board(AGENT).nodes
    gateway_home.log_events("tool.called", tool="wait", arguments={"nodes": [node.id, "f00d00"]})
    with client.follow_events(AGENT) as follower:
        event = follower.next(within_seconds=10)
        assert event is not None
        assert event.text == "wait tables, f00d00"
        assert event == client.events(AGENT).events[0]


def test_events_are_narrowed_by_type_entity_and_node(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.log_events("node.created", "tool.called", "node.failed", "message.sent")
    page = client.events(AGENT, types=["node.*", "tool.called"])
    assert ([event.seq for event in page.events], page.next) == ([1, 2, 3], 4)
    assert client.events(AGENT, after=page.next, types=["node.*"]).next == 4
    assert client.events(AGENT, entity="nobody").events == ()
    assert client.events(AGENT, node="abc123").events == ()
    with client.follow_events(AGENT, types=["node.failed", "message."]) as follower:
        assert take(follower, 2) == [3, 4]
        gateway_home.log_events("tool.called", "node.failed")
        ring(gateway_home)
        assert take(follower, 1) == [6]


def test_unknown_type_or_node_is_refused_with_the_possible_ones(
    gateway_home: GatewayHome, client: Client
) -> None:
    with pytest.raises(ApiError) as refused:
        client.events(AGENT, types=["nodes.*"])
    assert refused.value.status == 422
    assert "unknown event type 'nodes.*' (possible: agent.*, " in refused.value.detail
    with pytest.raises(ApiError) as refused:
        client.events(AGENT, node="nowhere")
    assert "unknown node 'nowhere' (known: " in refused.value.detail
    with client.follow_events(AGENT, types=["x"]) as follower, pytest.raises(ApiError) as refused:
        follower.next(within_seconds=5)
    assert "unknown event type 'x'" in refused.value.detail


def test_lost_notification_loses_no_event(gateway_home: GatewayHome, client: Client) -> None:
    with client.follow_events(AGENT) as follower:
        assert follower.next(within_seconds=0) is None
        gateway_home.log_events("a", "b")
        assert take(follower, 2) == [1, 2]


def test_a_half_written_line_is_not_an_event_yet(gateway_home: GatewayHome, client: Client) -> None:
    gateway_home.log_events("a")
    path = gateway_home.home.agent(AGENT).events
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(whole[:30])
    with client.follow_events(AGENT) as follower:
        assert take(follower, 1) == [1]
        ring(gateway_home)
        assert follower.next(within_seconds=0) is None
        path.write_bytes(whole)
        gateway_home.log_events("b")
        ring(gateway_home)
        assert take(follower, 1) == [2]


def test_many_followers_of_a_busy_log_see_every_event_once_in_order(
    gateway_home: GatewayHome,
) -> None:
    total, seen = 600, [[], [], []]  # type: tuple[int, list[list[int]]]

    def read(into: list[int]) -> None:
        with gateway_home.client() as client, client.follow_events(AGENT) as follower:
            into.extend(take(follower, total))

    readers = [threading.Thread(target=read, args=(into,)) for into in seen]
    for reader in readers:
        reader.start()
    for _ in range(total // 50):
        gateway_home.log_events(*["e"] * 50)
        ring(gateway_home)
    for reader in readers:
        reader.join(20)
    assert seen == [list(range(1, total + 1))] * 3


def test_an_unknown_agent_cannot_be_followed(client: Client) -> None:
    with client.follow_events("nobody") as follower, pytest.raises(ApiError) as refused:
        follower.next(within_seconds=5)
    assert refused.value.status == 404
    assert "survey" in refused.value.detail


def test_follower_continues_after_a_restart_of_the_gateway(tmp_path: Path) -> None:
    with running_gateway(tmp_path) as gateway_home:
        gateway_home.add_agent()
        gateway_home.log_events("a", "b")
        follower = gateway_home.client().follow_events(AGENT)
        assert take(follower, 2) == [1, 2]
    with running_gateway(tmp_path) as gateway_home:
        gateway_home.log_events("c")
        assert take(follower, 1) == [3]
        follower.close()


def test_unreachable_gateway_is_reported() -> None:
    with socket.socket() as reserved:  # no other gateway gets this port meanwhile
        reserved.bind(("127.0.0.1", 0))
        door = f"http://127.0.0.1:{reserved.getsockname()[1]}", "token"
        follower = EventFollower(lambda: door, f"/agents/{AGENT}/events", patience_seconds=0)
        with follower, pytest.raises(NotReachable):
            follower.next()


def test_followers_of_an_archived_agent_are_disconnected(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.log_events("a")
    with raw(gateway_home) as connection:
        connection.recv(timeout=5)
        client.archive("survey")
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=5)
    assert closed.value.rcvd is not None
    assert "archived" in closed.value.rcvd.reason


def test_stopping_gateway_notifies_followers_and_does_not_wait_for_idle_ones(
    tmp_path: Path,
) -> None:
    with running_gateway(tmp_path) as gateway_home:
        gateway_home.add_agent()
        gateway_home.log_events("a")
        stack = ExitStack()
        connections = [stack.enter_context(raw(gateway_home)) for _ in range(5)]
        for connection in connections:
            connection.recv(timeout=5)
        url, _ = read_gateway_address(tmp_path)
        name, port = url.removeprefix("http://").rsplit(":", 1)
        idle = socket.create_connection((name, int(port)))
    for connection in connections:
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=5)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == feeds.GOING_AWAY
    stack.close()
    idle.close()


def test_slow_follower_is_disconnected_with_its_cursor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(feeds, "CLOSE_SECONDS", 30.0)
    closing, close = threading.Event(), feeds._close

    async def watched(socket: WebSocket, code: int, reason: str) -> None:
        closing.set()
        await close(socket, code, reason)

    monkeypatch.setattr(feeds, "_close", watched)
    with running_gateway(tmp_path) as gateway_home:
        gateway_home.add_agent()
        gateway_home.log_events(*["big"] * 400, text="x" * 100_000)
        with raw(gateway_home) as connection:
            assert closing.wait(20)
            seqs = read_to_the_end(connection)
            last = seqs[-1]
            assert seqs == list(range(1, last + 1))
            assert connection.close_code == feeds.TRY_AGAIN
            assert connection.close_reason == f"too slow: come back with after={last}"
        with gateway_home.client() as client, client.follow_events(AGENT, after=last) as follower:
            assert take(follower, 1) == [last + 1]


def read_to_the_end(connection: ClientConnection) -> list[int]:
    seqs = []
    try:
        while True:
            seqs.append(Event.model_validate_json(connection.recv(timeout=20)).seq)
    except ConnectionClosed:
        return seqs


def raw(gateway_home: GatewayHome) -> ClientConnection:
    url, token = read_gateway_address(gateway_home.home.path)
    return connect(
        f"ws{url[4:]}/agents/{AGENT}/events",
        additional_headers={"Authorization": f"Bearer {token}"},
        proxy=None,
    )


def test_follower_ignores_another_program_at_the_port_of_its_gateway(
    gateway_home: GatewayHome,
) -> None:
    known = gateway_home.client().url, "the token of another home"
    doors = iter([known])

    def door() -> tuple[str, str]:
        for found in doors:
            return found
        raise NotReachable("its gateway has ended")

    moved = EventFollower(door, f"/agents/{AGENT}/events", patience_seconds=0)
    with moved, pytest.raises(NotReachable):
        moved.next()
    there = EventFollower(lambda: known, f"/agents/{AGENT}/events", patience_seconds=0)
    with there, pytest.raises(ApiError):
        there.next()


def test_thread_is_paged_and_followed_with_each_message_once(
    gateway_home: GatewayHome, client: Client
) -> None:
    gateway_home.arrive(
        arrived(TextMessage(content="Go on.", from_name="x"), f"{AGENT}/coordinator")
    )
    [message] = client.conversation(AGENT).messages
    text = {"from": "coordinator", "to": "human", "content": "Go on.", "id": message.id}
    gateway_home.log_events("message.sent", **text)
    gateway_home.log_events("node.created", name="tables")
    newest = client.thread(AGENT, before=LATEST)
    assert [(entry.id, entry.number) for entry in newest.entries] == [
        (message.id, message.seq),
        ("event:2", None),
    ]
    [found] = client.thread(AGENT, before=LATEST, kind=["message"], search="GO").entries
    assert found == newest.entries[0]
    with client.follow_thread(AGENT, after=newest.next) as follower:
        gateway_home.log_events("message.sent", **(text | {"id": "second"}))
        ring(gateway_home)
        entry = follower.next(within_seconds=10)
        assert entry is not None
        assert (entry.id, entry.content, entry.changed) == ("second", "Go on.", 3)
    assert client.thread(AGENT, after=newest.next).entries == (entry,)

"""Live updates of a page: changes of the home, streamed text; over real WebSockets."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, aclosing, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from agiraph.api.live import feeds
from agiraph.core.ids import NodeId
from agiraph.core.models import EntityState, Event
from agiraph.core.turns import Usage
from agiraph.http.api import (
    AgentChangeView,
    ChangeView,
    EntityChangeView,
    EventsChangeView,
    HomeView,
    InboxChangeView,
    QuestionChangeView,
    StreamedTextView,
)
from agiraph.http.client import AsyncClient, Client, read_gateway_address
from agiraph.http.errors import ApiError
from agiraph.messages.child import ChildHeartbeat
from agiraph.messages.event import EventAppended
from agiraph.messages.model import AskUsage, StreamDelta, SubscribeToStream, UsageTable
from agiraph.messages.text import TextMessage
from agiraph.readmodel.message_log import MessageLog
from cli.console.ui.source import ConsoleSource
from cli.console.ui.state import ConsoleState
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, RUN, GatewayHome, ask, running_gateway
from transport.errors import NotStored

CHANGE: TypeAdapter[ChangeView] = TypeAdapter(ChangeView)
LEAD = f"{AGENT}/coordinator"
SECONDS = 60


@pytest.fixture
def gateway_home(tmp_path: Path) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path / "home") as gateway_home:
        gateway_home.add_agent()
        gateway_home.log_events("agent.created", "agent.started")
        yield gateway_home


def opened(gateway_home: GatewayHome, path: str) -> ClientConnection:
    url, token = read_gateway_address(gateway_home.home.path)
    headers = {"Authorization": f"Bearer {token}"}
    return connect(f"ws{url[4:]}{path}", additional_headers=headers, proxy=None)


def change(connection: ClientConnection) -> ChangeView:
    return CHANGE.validate_json(connection.recv(timeout=SECONDS))


def until(connection: ClientConnection, wanted: ChangeView) -> list[ChangeView]:
    """Return the updates up to a change; others of the same subject may come before it."""
    found = [change(connection)]
    while found[-1] != wanted:
        found.append(change(connection))
    return found


def grow(gateway_home: GatewayHome, *types: str) -> int:
    """Let the recorder append events and say so; return the number of the last."""
    gateway_home.log_events(*types)
    seq = len(gateway_home.home.agent(AGENT).events.read_bytes().splitlines())
    last = Event(type=types[-1], agent_id=AGENT, ts=1.0, seq=seq)
    counts = {type: types.count(type) for type in types}
    gateway_home.arrive(arrived(EventAppended(event=last, counts=counts), "recorder"))
    return seq


def text_from(gateway_home: GatewayHome, sender: str, text: str) -> None:
    gateway_home.arrive(arrived(TextMessage(content=text, from_name="coordinator"), sender))


def test_changes_of_the_home_arrive_on_one_connection(
    gateway_home: GatewayHome, client: Client
) -> None:
    text_from(gateway_home, LEAD, "hello")
    with opened(gateway_home, "/changes") as connection:
        home = HomeView(agents={AGENT: 2}, messages=1, unread={AGENT: 1}, questions=())
        assert change(connection) == home
        grow(gateway_home, "tool.called", "tool.called", "tool.result")
        wanted = EventsChangeView(agent=AGENT, seq=5, types=("tool.called", "tool.result"))
        assert change(connection) == wanted
        status = ChildHeartbeat(doing=EntityState(state="busy", step="bash: make test", since=7.0))
        gateway_home.arrive(arrived(status, LEAD, sent_at=7.0))
        doing = EntityChangeView(
            agent=AGENT,
            address=LEAD,
            state="busy",
            step="bash: make test",
            doing="bash: make test",
            doing_since=7.0,
        )
        assert change(connection) == doing
        gateway_home.arrive(arrived(status, LEAD, sent_at=8.0))  # no news
        text_from(gateway_home, LEAD, "again")
        by = {"coordinator": 2}
        assert change(connection) == InboxChangeView(agent=AGENT, seq=2, unread=2, by_entity=by)
        client.mark_read("survey")
        assert change(connection) == InboxChangeView(agent=AGENT, seq=2, unread=0)
        ask(gateway_home)
        until(connection, QuestionChangeView(agent=AGENT, id="q1", status="open"))
        client.answer("q1", "SQLite")
        until(connection, QuestionChangeView(agent=AGENT, id="q1", status="answered"))
        client.archive("survey")
        until(connection, AgentChangeView(agent=AGENT, change="archived"))
        client.restore(AGENT)
        until(connection, AgentChangeView(agent=AGENT, change="restored"))
        client.archive("survey")
        client.delete(AGENT)
        until(connection, AgentChangeView(agent=AGENT, change="deleted"))
    assert client.home().agents == {}


def goodbye(connection: ClientConnection) -> tuple[int | None, str | None]:
    """Read up to the end; return its code and reason."""
    try:
        while True:
            connection.recv(timeout=SECONDS)
    except ConnectionClosed:
        return connection.close_code, connection.close_reason


def test_returning_follower_sees_missed_changes_by_cursor(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with running_gateway(tmp_path) as gateway_home:
            gateway_home.add_agent()
            gateway_home.log_events("agent.created")
            streams = stack.enter_context(opened(gateway_home, f"/agents/{AGENT}/stream"))
            connection = stack.enter_context(opened(gateway_home, "/changes"))
            before = change(connection)
        for one in (connection, streams):
            assert goodbye(one)[0] == feeds.GOING_AWAY
    with running_gateway(tmp_path) as gateway_home:
        gateway_home.log_events("agent.started")
        ask(gateway_home)
        with opened(gateway_home, "/changes") as connection:
            after = change(connection)
    assert isinstance(before, HomeView)
    assert isinstance(after, HomeView)
    assert (before.agents[AGENT], after.agents[AGENT]) == (1, 2)
    assert (before.questions, after.questions) == ((), ("q1",))
    assert (before.messages, after.messages) == (0, 1)


def test_changes_are_sent_as_server_sent_events(gateway_home: GatewayHome) -> None:
    url, token = read_gateway_address(gateway_home.home.path)
    sent = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    with (
        httpx.Client(trust_env=False, verify=False, timeout=SECONDS) as http,
        http.stream("GET", f"{url}/changes", headers=sent) as response,
    ):
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = (line for line in response.iter_lines() if line)
        assert [next(lines)[:6], next(lines)] == ["retry:", "event: home"]
        assert json.loads(next(lines).removeprefix("data: "))["agents"] == {AGENT: 2}
        grow(gateway_home, "node.created")
        assert next(lines) == "event: events"
        assert json.loads(next(lines).removeprefix("data: "))["seq"] == 3


def piece(text: str, at: int, entity: str = LEAD, **more: Any) -> StreamDelta:
    return StreamDelta(entity=entity, call=b"\x01\x02", text=text, at=at, **more)


def shown(connection: ClientConnection) -> StreamedTextView:
    return StreamedTextView.model_validate_json(connection.recv(timeout=SECONDS))


def from_start(gateway_home: GatewayHome) -> int:
    """Return the number of requests to the broker for the text streamed so far."""
    asked = [body for _, body in gateway_home.runtime.posted if isinstance(body, SubscribeToStream)]
    return sum(body.from_start for body in asked)


def test_watchers_share_a_subscription_and_see_text_retries_and_the_end(
    gateway_home: GatewayHome,
) -> None:
    [ada] = gateway_home.add_team("Ada")
    posted = gateway_home.runtime.posted
    with opened(gateway_home, f"/agents/{AGENT}/stream") as all_of_them:
        gateway_home.arrive(arrived(piece("I be", 0), "broker"))
        first = StreamedTextView(address=LEAD, entity="coordinator", call="0102", text="I be")
        assert shown(all_of_them) == first
        asked = [body for to, body in posted if to == "broker"]
        assert asked[0] == SubscribeToStream(agent=AGENT, from_start=True)
        with opened(gateway_home, "/agents/survey/stream?entity=ada") as one:
            gateway_home.arrive(arrived(piece("gin", 4), "broker"))
            gateway_home.arrive(arrived(piece("Hi", 0, f"{AGENT}/{ada}"), "broker"))
            assert [shown(all_of_them).text for _ in range(2)] == ["gin", "Hi"]
            assert (heard := shown(one)).text == "Hi"
            assert (heard.entity, heard.address) == ("Ada", f"{AGENT}/{ada}")
            assert from_start(gateway_home) == 2
        void = piece("", 0, restarted=True, reason="x/y failed (busy): it is called again now")
        gateway_home.arrive(arrived(void, "broker"))
        gateway_home.arrive(arrived(piece("", 0, is_end=True), "broker"))
        told, end = shown(all_of_them), shown(all_of_them)
        assert (told.restarted, told.reason) == (True, void.reason)
        assert (end.is_end, end.reason) == (True, "")


def test_invalid_follower_is_refused_before_the_handshake(tmp_path: Path) -> None:
    with running_gateway(tmp_path, followers=2) as gateway_home, ExitStack() as stack:
        gateway_home.add_agent()
        with pytest.raises(InvalidStatus) as refused:
            opened(gateway_home, "/agents/nobody/stream")
        assert refused.value.response.status_code == 404
        url, _ = read_gateway_address(tmp_path)
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws{url[4:]}/changes", proxy=None)
        assert refused.value.response.status_code == 401
        stack.enter_context(opened(gateway_home, "/changes"))
        stack.enter_context(opened(gateway_home, f"/agents/{AGENT}/stream"))
        with pytest.raises(InvalidStatus) as refused:
            opened(gateway_home, "/changes")
        assert refused.value.response.status_code == 503
        assert "http.followers" in str(refused.value.response.body)


def test_slow_follower_of_changes_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "STALL_SECONDS", 0.2)
    closing, close = threading.Event(), feeds._close

    async def watched(socket: WebSocket, code: int, reason: str) -> None:
        closing.set()
        await close(socket, code, reason)

    monkeypatch.setattr(feeds, "_close", watched)
    with running_gateway(tmp_path) as gateway_home:
        gateway_home.add_agent()
        big = StreamDelta(entity=LEAD, call=b"1", text="x" * 200_000)
        with opened(gateway_home, f"/agents/{AGENT}/stream") as connection:
            while not closing.is_set():
                gateway_home.arrive(arrived(big, "broker"))
            assert goodbye(connection) == (feeds.TRY_AGAIN, "too slow: come back")


def test_the_clients_follow_changes_and_text_through_a_restart(tmp_path: Path) -> None:
    async def first_two(gateway_home: GatewayHome) -> list[ChangeView]:
        async with AsyncClient(*read_gateway_address(tmp_path)) as other:
            found: list[ChangeView] = []
            async with aclosing(other.follow_changes()) as following, asyncio.timeout(SECONDS):
                async for change in following:
                    found.append(change)
                    if len(found) == 2:
                        break
                    await asyncio.to_thread(grow, gateway_home, "node.started")
            return found

    with running_gateway(tmp_path) as gateway_home:
        gateway_home.add_agent()
        client = gateway_home.client()
        changes, texts = client.follow_changes(), client.follow_text(AGENT, "coordinator")
        assert isinstance(changes.next(SECONDS), HomeView)
        assert texts.next(0) is None
        gateway_home.arrive(arrived(piece("I be", 0), "broker"))
        assert (heard := texts.next(SECONDS)) is not None
        assert heard.text == "I be"
        with client.follow_text("nobody") as nobody, pytest.raises(ApiError):
            nobody.next(SECONDS)
    with running_gateway(tmp_path) as gateway_home, client, changes, texts:
        assert isinstance(changes.next(SECONDS), HomeView)
        grow(gateway_home, "node.created")
        assert changes.next(SECONDS) == EventsChangeView(
            agent=AGENT, seq=1, types=("node.created",)
        )
        home, told = asyncio.run(first_two(gateway_home))
        assert isinstance(home, HomeView)
        assert told == EventsChangeView(agent=AGENT, seq=2, types=("node.started",))


def test_the_async_client_follows_text_through_a_restart(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:

        async def heard(gateway_home: GatewayHome, text: str, at: int) -> str:
            hearing = asyncio.ensure_future(anext(following))
            async with asyncio.timeout(SECONDS):
                while not hearing.done():  # nothing is sent before it has connected
                    gateway_home.arrive(arrived(piece(text, at), "broker"))
                    await asyncio.wait([hearing], timeout=0.05)
            return hearing.result().text

        with running_gateway(tmp_path) as gateway_home:
            gateway_home.add_agent()
            client = AsyncClient.for_home(tmp_path)
            following = client.follow_text(AGENT, "coordinator")
            assert runner.run(heard(gateway_home, "I be", 0)) == "I be"
            with pytest.raises(ApiError, match="nobody"):
                runner.run(anext(client.follow_text("nobody")))
        with running_gateway(tmp_path) as gateway_home:
            assert runner.run(heard(gateway_home, "gin", 4)) == "gin"
            runner.run(following.aclose())
            runner.run(client.close())


def test_remote_console_shows_streamed_text(gateway_home: GatewayHome) -> None:
    url, token = read_gateway_address(gateway_home.home.path)

    async def shown(state: ConsoleState) -> str:
        source = ConsoleSource(lambda: Client(url, token), state, has_bus=False)
        source.start()
        try:
            async with asyncio.timeout(SECONDS):
                while "coordinator" not in state.streams:  # nothing is sent before it follows
                    gateway_home.arrive(arrived(piece("I be", 0), "broker"))
                    await asyncio.sleep(0.05)
        finally:
            await source.close()
        return state.streams["coordinator"].text

    with Client(url, token) as client:
        assert client.is_elsewhere
        state = ConsoleState(client.agent(AGENT), selected="coordinator")
    assert asyncio.run(shown(state)).startswith("I be")


# --- all agents at a glance, a run as time lines ---


def test_the_overview_has_every_agent_with_its_team_in_one_answer(
    gateway_home: GatewayHome, client: Client
) -> None:
    [ada, bob] = gateway_home.add_team("Ada", "Bob")
    gateway_home.assign("Ada")
    gateway_home.add_agent("farm-2", "farm", created_at=200.0)
    gateway_home.children[f"{AGENT}/{bob}"] = gateway_home.children[f"{AGENT}/{bob}"].model_copy(
        update={"state": "stopped"}
    )
    status = ChildHeartbeat(
        doing=EntityState(state="busy", step="thinking (claude)", model="claude", since=7.0)
    )
    gateway_home.arrive(arrived(status, f"{AGENT}/{ada}", sent_at=7.0))
    text_from(gateway_home, f"{AGENT}/{ada}", "hello")
    spent = {LEAD: Usage(input_tokens=10), f"{AGENT}/{ada}": Usage(output_tokens=4, cost_usd=0.5)}
    table = UsageTable(by_entity=spent, total=Usage())
    gateway_home.runtime.answers[AskUsage] = lambda body: table
    [survey, farm] = client.overview()
    assert (survey.name, survey.last_event, survey.tokens, survey.cost_usd) == (
        "survey",
        2,
        14,
        0.5,
    )
    assert (survey.process, survey.unread, farm.name, farm.workers) == ("ready", 1, "farm", ())
    first, second = survey.workers
    assert (first.name, first.status, first.node, first.unread) == ("Ada", "busy", "tables", 0)
    assert (first.doing, first.doing_since) == ("waits for the model (claude)", 7.0)
    assert (first.process, first.tokens, first.cost_usd) == ("ready", 4, 0.5)
    assert (second.status, second.doing, second.process, second.tokens) == (
        *("stopped", "", "stopped"),
        0,
    )
    assert client.workers("survey") == list(survey.workers)
    assert [one.id for one in client.overview(agents=["farm"])] == ["farm-2"]
    gateway_home.runtime.answers[AskUsage] = lambda body: NotStored("away")
    assert {one.tokens for one in client.overview()} == {None}


def test_timeline_of_a_running_run_is_served(gateway_home: GatewayHome, client: Client) -> None:
    [ada] = gateway_home.add_team("Ada")
    assert client.timeline("survey").spans == ()
    path = gateway_home.home.agent(AGENT).events
    at, lines = f"{AGENT}/{ada}", []
    for number, (type, step, data) in enumerate(
        [
            ("agent.started", "", {"model": "x/y"}),
            ("model.answered", "1", {"model": "x/y", "calls": ["bash"], "asked_at": 3.5}),
            ("tool.called", "1.0", {"tool": "bash"}),
        ],
        start=3,
    ):
        event = Event(
            type=type,
            agent_id=AGENT,
            ts=float(number),
            entity="Ada",
            run_id=RUN,
            node_id=NodeId("a1b2c3"),
            data=data,
            seq=number,
            key=f"{at}:{type}:{step}",
        )
        lines.append(json.dumps(event.model_dump(mode="json")))
    with path.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))
    model = "anthropic/claude"
    doing = EntityState(state="busy", step=f"thinking ({model})", model=model, since=7.0)
    status = ChildHeartbeat(doing=doing)
    gateway_home.arrive(arrived(status, LEAD, sent_at=7.0))
    found = client.timeline("survey")
    assert (found.run, found.start, found.end, found.seq) == (RUN, 3.0, None, 5)
    shown = {(bar.entity, bar.kind, bar.name, bar.start, bar.end) for bar in found.spans}
    assert shown == {
        ("Ada", "model", "y", 3.5, 4.0),
        ("Ada", "tool", "bash", 5.0, None),
        ("coordinator", "model", "claude", 7.0, None),
    }
    assert found.entities == ("coordinator", "Ada")
    assert [one.entity for one in found.critical] == ["coordinator"]
    assert {bar.name for bar in client.timeline("survey", until=4.5).spans} == {"y"}
    assert {bar.name for bar in client.timeline("survey", since=4.5).spans} == {"bash", "claude"}
    with pytest.raises(ApiError) as refused:
        client.timeline("survey", run="nope")
    assert refused.value.status == 404


def test_the_texts_of_a_run_are_counted_by_direction(
    gateway_home: GatewayHome, client: Client
) -> None:
    assert client.communication("survey") == []
    folder = gateway_home.home.agent(AGENT).run(RUN).messages
    with closing(MessageLog(folder)) as log:
        log.add("1", "coordinator", "Ada", "begin", 1.0)
        log.add("2", "Ada", "coordinator", "done", 2.0)
        log.add("3", "coordinator", "Ada", "x" * 500, 3.0)
        found = client.communication("survey")
        assert [(one.sender, one.to, one.count) for one in found] == [
            ("coordinator", "Ada", 2),
            ("Ada", "coordinator", 1),
        ]
        assert (found[0].last_seq, found[0].last_at) == (3, 3.0)
        assert found[0].last_text == "x" * 160
        log.add("4", "human", "Ada", "hello", 4.0)
        assert client.communication("survey")[-1].last_text == "hello"

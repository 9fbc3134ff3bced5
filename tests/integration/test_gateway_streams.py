"""Following events as server-sent events: by cursor, by Last-Event-ID, live, through restarts."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from agiraph.core.models import Event
from agiraph.http.client import AsyncClient, read_gateway_address
from agiraph.http.errors import ApiError
from agiraph.messages.event import EventAppended
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, GatewayHome

DEADLINE_SECONDS = 60.0


def ring(gateway_home: GatewayHome) -> None:
    """Let the recorder say that the log has grown."""
    event = Event(type="node.started", agent_id=AGENT, ts=1.0)
    gateway_home.arrive(arrived(EventAppended(event=event), "recorder"))


@contextmanager
def stream(gateway_home: GatewayHome, query: str = "", **headers: str) -> Iterator[Iterator[str]]:
    """Open a stream by hand; yield its lines."""
    url, token = read_gateway_address(gateway_home.home.path)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", **named}
    path = f"{url}/agents/{AGENT}/events{query}"
    with (
        httpx.Client(trust_env=False, verify=False, timeout=DEADLINE_SECONDS) as http,
        http.stream("GET", path, headers=sent) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield response.iter_lines()


def take(lines: Iterator[str], count: int) -> list[dict[str, str]]:
    """Return the next events of a stream, field by field."""
    found: list[dict[str, str]] = []
    event: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            event[name] = value
        elif "data" in event:
            found.append(event)
            event = {}
        if len(found) == count:
            break
    return found


def test_stream_sends_the_log_and_then_new_events(gateway_home: GatewayHome) -> None:
    gateway_home.add_agent()
    gateway_home.log_events("node.created", "node.started")
    with stream(gateway_home) as lines:
        first = take(lines, 2)
        assert [(event["id"], event["event"]) for event in first] == [
            ("1", "node.created"),
            ("2", "node.started"),
        ]
        assert json.loads(first[0]["data"])["seq"] == 1
        gateway_home.log_events("node.completed")
        ring(gateway_home)
        assert [event["id"] for event in take(lines, 1)] == ["3"]


def test_returning_follower_gets_missed_events_of_the_wanted_types(
    gateway_home: GatewayHome,
) -> None:
    gateway_home.add_agent()
    gateway_home.log_events(*["node.created", "node.started"] * 3)
    with stream(gateway_home, "?after=1", last_event_id="4") as lines:
        assert [event["id"] for event in take(lines, 2)] == ["5", "6"]
    with stream(gateway_home, "?after=2&type=node.created") as lines:
        assert [event["id"] for event in take(lines, 2)] == ["3", "5"]


def test_a_wrong_cursor_or_agent_is_refused_before_the_stream(gateway_home: GatewayHome) -> None:
    url, token = read_gateway_address(gateway_home.home.path)
    sent = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    unknown = httpx.get(f"{url}/agents/nobody/events", headers=sent, trust_env=False, verify=False)
    assert unknown.status_code == 404
    gateway_home.add_agent()
    sent["Last-Event-ID"] = "x"
    wrong = httpx.get(f"{url}/agents/{AGENT}/events", headers=sent, trust_env=False, verify=False)
    assert (wrong.status_code, wrong.headers["content-type"]) == (422, "application/problem+json")


async def test_the_async_client_follows_through_a_restart_and_ends_with_the_agent(
    tmp_path: Path,
) -> None:
    gateway_home = GatewayHome(tmp_path)
    gateway_home.add_agent()
    gateway_home.log_events("node.created")
    gateway_home.start()
    url, token = read_gateway_address(tmp_path)
    seen = []
    try:
        async with asyncio.timeout(DEADLINE_SECONDS), AsyncClient(url, token) as client:
            client._door = lambda: read_gateway_address(tmp_path)
            async for event in client.follow_events(AGENT):
                seen.append(event.seq)
                if event.seq == 1:
                    await asyncio.to_thread(gateway_home.stop)
                    gateway_home.log_events("node.started")
                    again = GatewayHome(tmp_path)
                    again.children = gateway_home.children
                    gateway_home = again
                    await asyncio.to_thread(gateway_home.start)
                elif event.seq == 2:
                    await client.archive(AGENT)
    finally:
        await asyncio.to_thread(gateway_home.stop)
    assert seen == [1, 2]


async def test_async_client_refuses_an_unknown_agent(url: str, token: str) -> None:
    async with AsyncClient(url, token) as client:
        with pytest.raises(ApiError) as error:
            await anext(client.follow_events("nobody"))
    assert error.value.status == 404


def test_stopping_the_gateway_ends_open_streams(tmp_path: Path) -> None:
    gateway_home = GatewayHome(tmp_path)
    gateway_home.add_agent()
    gateway_home.start()
    try:
        with stream(gateway_home) as lines:
            assert next(lines).startswith("retry:")
            gateway_home.stop()
            assert [event["event"] for event in take(lines, 1)] == ["end"]
            assert list(lines) == []
    except BaseException:
        gateway_home.stop()
        raise

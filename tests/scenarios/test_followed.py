"""What a page follows while a real team works: its text as it streams, and what changes."""

import threading
from contextlib import suppress
from dataclasses import replace

from pydantic import TypeAdapter
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from agiraph.core.ids import AgentId
from agiraph.http.api import ChangeView, EntityChangeView, EventsChangeView, HomeView
from agiraph.http.api import StreamedTextView as Piece
from agiraph.http.client import Client, read_door
from tests.integration.house import until
from tests.scenarios.place import Place
from tests.scenarios.steps import DONE, FACT, one_worker

CHANGE: TypeAdapter[ChangeView] = TypeAdapter(ChangeView)
STORY = "Once upon a time there was a table."
SECONDS = 30


def opened(place: Place, path: str) -> ClientConnection:
    url, token = read_door(place.home)
    headers = {"Authorization": f"Bearer {token}"}
    return connect(f"ws{url[4:]}{path}", additional_headers=headers, proxy=None)


def piece_of(name: str, connection: ClientConnection) -> Piece:
    """Return the next piece of an entity's text."""
    while True:
        piece = Piece.model_validate_json(connection.recv(timeout=SECONDS))
        if piece.entity == name:
            return piece


def told(connection: ClientConnection, *pieces: Piece) -> str:
    """Return what an answer says, of which these pieces have come, up to its end."""
    text, told = "", list(pieces)
    while True:
        piece = told.pop(0) if told else piece_of("gus", connection)
        assert piece.at <= len(text), "there is a gap"
        text = "" if piece.restarted else text[: piece.at] + piece.text
        if piece.is_end:
            assert not piece.reason
            return text


def changes_until(connection: ClientConnection, type: str) -> list[ChangeView]:
    found: list[ChangeView] = []
    while not any(isinstance(one, EventsChangeView) and type in one.types for one in found):
        found.append(CHANGE.validate_json(connection.recv(timeout=SECONDS)))
    return found


def test_text_streams_to_all_who_watch_and_changes_are_told_through_a_dead_gateway(
    rough_place: Place,
) -> None:
    place, gate, end = rough_place, threading.Event(), threading.Event()
    last = replace(DONE, gate=end)
    place.plays(
        coordinator=one_worker("gus"), gus=[replace(FACT, text=STORY, text_gate=gate), last]
    )
    with opened(place, "/changes") as changes:
        assert isinstance(CHANGE.validate_json(changes.recv(timeout=SECONDS)), HomeView)
        agent = place.begin("followed")
        with opened(place, "/agents/followed/stream") as first:
            begun = piece_of("gus", first)
            assert STORY.startswith(begun.text)
            with opened(place, "/agents/followed/stream?entity=gus") as late:
                so_far = piece_of("gus", late)
                assert (so_far.at, so_far.text, so_far.call) == (0, begun.text, begun.call)
                gate.set()
                assert told(first, begun) == told(late, so_far) == STORY
        found = changes_until(changes, "tool.result")
        doing = [one for one in found if isinstance(one, EntityChangeView)]
        assert any(one.doing.startswith("waits for the model") for one in doing)
        assert {one.agent for one in doing} == {agent.name}
        place.kill("agiraph: human")
        with suppress(ConnectionClosed):
            while True:
                changes.recv(timeout=SECONDS)
    seen = max(one.seq for one in found if isinstance(one, EventsChangeView))
    until(lambda: place.command("ps").returncode == 0, "the gateway answers again")
    with opened(place, "/changes") as again:
        home = CHANGE.validate_json(again.recv(timeout=SECONDS))
        assert isinstance(home, HomeView)
        assert home.agents[AgentId(agent.name)] >= seen
        end.set()
        changes_until(again, "agent.completed")
    place.await_end(agent)
    with Client.for_home(place.home) as client:
        [team] = client.overview(agents=["followed"])
        timeline = client.timeline("followed")
        coarse = client.timeline("followed", resolution_seconds=60)
        traffic = client.communication("followed")
    assert [(one.name, one.status) for one in team.workers] == [("gus", "stopped")]
    assert (team.tokens or 0) > sum(one.tokens or 0 for one in team.workers) > 0
    assert timeline.entities == ("coordinator", "gus")
    kinds = {(bar.entity, bar.kind) for bar in timeline.spans}
    assert {("gus", "node"), ("gus", "model"), ("gus", "tool"), ("coordinator", "wait")} <= kinds
    assert all(bar.end is not None and bar.start <= bar.end for bar in timeline.spans)
    [node] = [bar for bar in timeline.spans if bar.kind == "node"]
    assert node.is_critical
    assert {bar.parent for bar in timeline.spans if bar.entity == "gus"} == {None, node.id}
    assert [one.entity for one in timeline.critical] == ["coordinator", "gus", "coordinator"]
    assert (timeline.critical[0].start, timeline.critical[-1].end) == (timeline.start, timeline.end)
    assert len(coarse.spans) < len(timeline.spans)
    assert sum(bar.count for bar in coarse.spans) == len(timeline.spans)
    assert all(one.count > 0 and one.last_text for one in traffic)

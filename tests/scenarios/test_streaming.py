"""Updates of a page while a real team works: text as it streams, and changes."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from agiraph.core.ids import AgentId
from agiraph.http.api import ChangeView, EntityChangeView, EventsChangeView, HomeView
from agiraph.http.api import StreamedTextView as Piece
from agiraph.http.client import Client, read_gateway_address
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import DONE, FACT, led, one_worker, preset, program

CHANGE: TypeAdapter[ChangeView] = TypeAdapter(ChangeView)
STORY = "Once upon a time there was a table."
SECONDS = 90


def opened(live_home: LiveHome, path: str) -> ClientConnection:
    url, token = read_gateway_address(live_home.home)
    headers = {"Authorization": f"Bearer {token}"}
    return connect(f"ws{url[4:]}{path}", additional_headers=headers, proxy=None)


def piece_of(name: str, connection: ClientConnection) -> Piece:
    """Return the next piece of an entity's text."""
    while True:
        piece = Piece.model_validate_json(connection.recv(timeout=SECONDS))
        if piece.entity == name:
            return piece


def told(connection: ClientConnection, begun: Piece) -> str:
    """Return the complete text of an answer that begins with this piece."""
    text, piece = "", begun
    while True:
        assert piece.at <= len(text), "there is a gap"
        text = "" if piece.restarted else text[: piece.at] + piece.text
        if piece.is_end:
            assert not piece.reason
            return text
        piece = piece_of(begun.entity, connection)


def changes_until(
    connection: ClientConnection, is_it: Callable[[ChangeView], bool]
) -> list[ChangeView]:
    found = [CHANGE.validate_json(connection.recv(timeout=SECONDS))]
    while not is_it(found[-1]):
        found.append(CHANGE.validate_json(connection.recv(timeout=SECONDS)))
    return found


def waits_for_its_model(change: ChangeView) -> bool:
    if not isinstance(change, EntityChangeView) or "/gus-" not in change.address:
        return False
    return change.doing.startswith("waits for the model")


def has_completed(change: ChangeView) -> bool:
    return isinstance(change, EventsChangeView) and "agent.completed" in change.types


def test_streamed_text_and_changes_continue_after_a_gateway_kill(
    killable_home: LiveHome,
) -> None:
    live_home, gate, end = killable_home, threading.Event(), threading.Event()
    last = replace(DONE, gate=end)
    live_home.plays(
        coordinator=one_worker("gus"), gus=[replace(FACT, text=STORY, text_gate=gate), last]
    )
    with opened(live_home, "/changes") as changes:
        assert isinstance(CHANGE.validate_json(changes.recv(timeout=SECONDS)), HomeView)
        agent = live_home.begin("followed")
        with opened(live_home, "/agents/followed/stream") as first:
            begun = piece_of("gus", first)
            assert STORY.startswith(begun.text)
            with opened(live_home, "/agents/followed/stream?entity=gus") as late:
                so_far = piece_of("gus", late)
                assert (so_far.at, so_far.text, so_far.call) == (0, begun.text, begun.call)
                live_home.kill("agiraph: broker")
                anew = piece_of("gus", late)
                assert (anew.at, anew.call) == (0, begun.call)
                gate.set()
                assert told(first, begun) == told(late, anew) == STORY
        found = changes_until(changes, waits_for_its_model)
        live_home.kill("agiraph: human")
        with suppress(ConnectionClosed):
            while True:
                changes.recv(timeout=SECONDS)
    grown = [one for one in found if isinstance(one, EventsChangeView)]
    seen = max(one.seq for one in grown if one.agent == agent.name)  # others of this home end yet
    until(lambda: live_home.command("ps").returncode == 0, "the gateway answers again")
    with opened(live_home, "/changes") as again:
        home = CHANGE.validate_json(again.recv(timeout=SECONDS))
        assert isinstance(home, HomeView)
        assert home.agents[AgentId(agent.name)] >= seen
        end.set()
        changes_until(again, has_completed)
    live_home.await_end(agent)
    with Client.for_home(live_home.home) as client:
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


SLOW = """#!/bin/sh
echo I look at it.
until test -e go; do sleep 0.05; done
rm go
echo Looked. > _result.md
"""


def test_output_of_an_external_agent_is_streamed(killable_home: LiveHome, tmp_path: Path) -> None:
    live_home = killable_home
    slow = preset(live_home.home, "slow", program(tmp_path, SLOW))
    live_home.plays(coordinator=led("hal", slow))
    agent = live_home.begin("overheard")
    with opened(live_home, "/agents/overheard/stream?entity=hal") as watching:
        begun = piece_of("hal", watching)
        assert begun.text.startswith("I look")
        [task] = agent.rglob("_task.md")
        (task.parent / "go").touch()
        assert told(watching, begun).strip() == "I look at it."
    live_home.await_end(agent)

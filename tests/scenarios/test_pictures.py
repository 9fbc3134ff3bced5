"""Workers look at charts that they draw, and entities at images of the person."""

import base64
import hashlib
import threading
from pathlib import Path

import pytest

from agiraph.testing.probes import red_picture
from tests.fakes.model_server import SeenRequest, call, calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import (
    WAIT,
    Plays,
    bash,
    finish,
    finish_with,
    held,
    node,
    one_worker,
    publish,
    spawn,
)

pytest.importorskip("PIL")

CHART = base64.b64encode(red_picture()).decode()
MODELS = {
    "ada": "anthropic/fake",
    "bob": "openai-responses/fake",
    "cleo": "openai/fake",
    "dan": "google/fake",
    "eve": "openai/gpt-3.5-fake",
}
BLIND = "eve"


@pytest.fixture
def live_home(parking_home: LiveHome) -> LiveHome:
    """Return the running home that knows all services."""
    return parking_home


def looker(name: str) -> Plays:
    return [
        bash(f"echo {CHART} | base64 -d > chart.png"),
        call("read_file", path="chart.png"),
        lambda seen: publish(f"seen: {seen.result('read_file').splitlines()[0]}"),
    ]


def pictures_in(seen: SeenRequest) -> list[bytes]:
    """Return the pictures in the body of a request, in any format."""
    found: list[bytes] = []
    waiting: list[object] = [dict(seen.body)]
    while waiting:
        match waiting.pop():
            case {"type": "base64", "data": str(data)} | {"mimeType": str(), "data": str(data)}:
                found.append(base64.b64decode(data))
            case str(text) if text.startswith("data:image/"):
                found.append(base64.b64decode(text.partition(",")[2]))
            case dict(fields):
                waiting += fields.values()
            case list(items):
                waiting += items
    return found


def test_workers_see_the_charts_that_they_draw(live_home: LiveHome) -> None:
    leads: Plays = [
        calls(*(spawn(name, model=model) for name, model in MODELS.items())),
        calls(*(node(f"{name}-part", name) for name in MODELS)),
        WAIT,
        finish_with("wait"),
    ]
    live_home.plays(coordinator=leads, **{name: looker(name) for name in MODELS})
    outcome = live_home.complete("Draw charts", "--name", "charts", "--model", "anthropic/fake")
    run = next((live_home.home / "agents").glob("charts*/runs/*"))
    for name in MODELS:
        last = live_home.server.seen_by(name)[-1]
        (folder,) = run.glob(f"workers/{name}-*")
        shown = pictures_in(last)
        assert len(shown) == (name != BLIND), name
        stored = {path.name: path.read_bytes() for path in (folder / ".pictures").iterdir()}
        (digest,) = stored
        assert hashlib.sha256(stored[digest]).hexdigest() == digest
        if name == BLIND:
            assert "chart.png: a picture of 64 x 64 pixels (PNG), not shown: " in repr(last.body)
        else:
            assert shown == [stored[digest]]
        journal = (folder / "conversation.jsonl").read_text()
        assert journal.count(digest) == 1
        assert base64.b64encode(stored[digest]).decode()[:60] not in journal
    summary = "seen: chart.png: PNG image, 64 x 64 pixels."
    assert outcome.result["result"].count(summary) == len(MODELS)


def test_images_of_a_person_are_seen(live_home: LiveHome, tmp_path: Path) -> None:
    gate = threading.Event()
    folder = tmp_path / "input"
    folder.mkdir()
    (folder / "map.png").write_bytes(red_picture(32))
    attached = tmp_path / "plan.png"
    attached.write_bytes(red_picture(48))
    live_home.plays(
        coordinator=[
            held(call("read_file", path="input/map.png"), gate),
            call("read_file", path="_attachments/plan.png"),
            finish("Seen."),
        ]
    )
    agent = live_home.begin("looks", "--input", str(folder))
    live_home.await_step("coordinator", 0)
    live_home.json("send", "looks", "Use this plan", "--attach", str(attached))
    gate.set()
    seen = live_home.await_step("coordinator", 2)
    assert seen.results("read_file") == [
        "input/map.png: PNG image, 32 x 32 pixels.",
        "_attachments/plan.png: PNG image, 48 x 48 pixels.",
    ]
    assert len(pictures_in(seen)) == 2
    live_home.await_end(agent)
    assert len([*(agent / ".pictures").iterdir()]) == 2


def test_a_killed_worker_sees_its_chart_again(live_home: LiveHome) -> None:
    gate = threading.Event()
    draw, look, publishes = looker("ada")
    live_home.plays(
        coordinator=one_worker("ada"), ada=[draw, look, held(bash("ls"), gate), publishes]
    )

    def meanwhile() -> None:
        live_home.await_step("ada", 2)
        live_home.kill("worker ada")
        gate.set()

    live_home.complete("Draw a chart", meanwhile=meanwhile)
    assert [len(pictures_in(seen)) for seen in live_home.server.seen_by("ada")] == [0, 0, 1, 1]

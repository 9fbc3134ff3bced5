"""Workers draw a chart with a command and look at it, each through another wire format."""

import base64
import hashlib

import pytest

from agiraph.testing.probes import red_picture
from tests.fakes.model_server import SeenRequest, call, calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, Plays, bash, finish_with, node, publish, spawn

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

"""The web as a team meets it: searched and read by a process of its own, which may die at any time.

The site, the search service and the model server are on this machine; everything else is real.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agiraph.agent.loop import INTERRUPTED_CALL
from tests.fakes.forked import Forked
from tests.fakes.model_server import SeenRequest, call
from tests.fakes.site import FakeSite
from tests.integration.house import until
from tests.scenarios.place import Place, one_worker

SECRET = "brave-key-of-this-test"
DONE = call("publish", summary="done")


class WebPlace(Place):
    """A place with a search key in its environment."""

    def start_supervisor(self) -> Forked:
        self.environ["BRAVE_API_KEY"] = SECRET
        return super().start_supervisor()


@pytest.fixture(scope="module")
def site() -> Iterator[FakeSite]:
    made = FakeSite()
    yield made
    made.close()


@pytest.fixture(scope="module")
def place(site: FakeSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("home")
    settings = {
        "web": {"search_url": f"{site.url}/brave", "results": 3, "allow_private": True},
        "run": {"park_after_seconds": 0.5},
    }
    (home / "agiraph.yaml").write_text(json.dumps(settings))
    made = WebPlace(home)
    try:
        yield made
        assert "Traceback" not in made.traces()
    finally:
        made.close()


def web_row(place: Place) -> dict[str, object]:
    [row] = [row for row in place.json("ps") if row["address"] == "tools/web"]
    return dict(row)


def begin(place: Place, name: str) -> Path:
    started = place.json("run", "x", "--name", name, "--model", "openai/fake", "--detach")
    return place.home / "agents" / str(started["agent"])


def await_completed(agent: Path) -> None:
    until(
        lambda: json.loads((agent / "agent.json").read_text())["status"] == "completed",
        f"the end of {agent.name}",
    )


def test_a_team_searches_reads_and_cites(place: Place, site: FakeSite) -> None:
    until(lambda: web_row(place)["state"] == "parked", "nobody has asked the web yet")
    assert web_row(place)["pid"] is None

    def cite(seen: SeenRequest) -> object:
        assert "**Result 1**\nhttps://example.com/1\nAbout 1." in seen.result("web_search")
        assert "grown by a third" in seen.result("web_fetch")
        return call("write_file", path="facts.md", content=seen.result("web_fetch"))

    place.plays(
        coordinator=one_worker("ada"),
        ada=[
            call("web_search", query="chips market share"),
            call("web_fetch", url=f"{site.url}/article"),
            cite,  # type: ignore[list-item]
            call("bash", command="env; cat /proc/self/environ"),
            DONE,
        ],
    )
    outcome = place.lead("Write about chips")
    assert outcome.result["status"] == "completed", outcome.result
    page = outcome.published("ada-facts")["facts.md"]
    assert "Title: Chips in 2026" in page
    assert "untrusted" in page
    brave = [seen for seen in site.requests if seen.path == "/brave"]
    assert brave[0].headers["X-Subscription-Token"] == SECRET
    everything = [*place.home.rglob("*.jsonl"), *place.home.rglob("*.md")]
    assert not [file for file in everything if SECRET in file.read_text(errors="replace")]
    until(lambda: web_row(place)["state"] == "parked", "the web process has parked")


def test_a_page_that_is_being_fetched_while_the_process_is_killed_is_fetched_again(
    place: Place, site: FakeSite
) -> None:
    site.began.clear()
    place.plays(
        coordinator=one_worker("bob"), bob=[call("web_fetch", url=f"{site.url}/slow"), DONE]
    )
    agent = begin(place, "killed")
    assert site.began.wait(30)
    site.began.clear()
    place.kill("agiraph: tools/web")
    assert site.began.wait(30), "it is asked again"
    site.released.set()
    seen = place.server.wait_for(lambda seen: seen.is_for("bob") and seen.step == 1)
    assert "a beginning\nan end" in seen.result("web_fetch")
    await_completed(agent)
    site.released.clear()
    place.command("stop", "killed")


def test_an_interruption_drops_the_page_that_is_being_fetched(place: Place, site: FakeSite) -> None:
    site.began.clear()
    site.dropped.clear()
    place.plays(
        coordinator=one_worker("cleo"), cleo=[call("web_fetch", url=f"{site.url}/slow?again"), DONE]
    )
    agent = begin(place, "dropped")
    assert site.began.wait(30)
    place.json("send", "dropped", "Never mind", "--to", "cleo", "--mode", "interrupt")
    seen = place.server.wait_for(lambda seen: seen.is_for("cleo") and seen.step == 1)
    assert seen.result("web_fetch") == INTERRUPTED_CALL
    assert site.dropped.wait(30), "the connection is closed"
    await_completed(agent)
    place.command("stop", "dropped")


def test_a_worker_that_is_killed_in_a_fetch_asks_again_and_does_nothing_twice(
    place: Place, site: FakeSite
) -> None:
    site.began.clear()
    place.plays(
        coordinator=one_worker("dan"), dan=[call("web_fetch", url=f"{site.url}/slow?thrice"), DONE]
    )
    agent = begin(place, "again")
    assert site.began.wait(30)
    worker = place.worker(agent, "dan")
    site.began.clear()
    place.kill(f"worker {worker.name}")
    assert site.began.wait(30), "its next incarnation asks again"
    site.released.set()
    await_completed(agent)
    site.released.clear()
    finished = [
        record
        for line in (worker / "conversation.jsonl").read_text().splitlines()
        if (record := json.loads(line))["kind"] == "tool.finished"
    ]
    assert [record["name"] for record in finished] == ["web_fetch", "publish"]
    place.command("stop", "again")


def test_without_a_search_service_the_model_is_told_what_to_do(drowsy_place: Place) -> None:
    drowsy_place.plays(
        coordinator=[
            call("web_search", query="anything"),
            call("web_fetch", url="http://127.0.0.1:1/"),
            lambda seen: call("finish", summary=seen.said),
        ]
    )
    outcome = drowsy_place.lead("Search", "--name", "searches-in-vain")
    told = outcome.result["result"]
    assert "TAVILY_API_KEY is not set (export TAVILY_API_KEY=..." in told
    assert (
        "127.0.0.1 is not fetched: its address is this machine (web.allow_private is off)" in told
    )
    assert replace(outcome, code=0) == outcome

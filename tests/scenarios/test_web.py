"""The web tools of a team: a separate process searches and reads, and may die at any time.

The site, the search service and the model server are on this machine; everything else is real.
"""

from pathlib import Path

import pytest

from agiraph.agent.loop import INTERRUPTED_CALL
from tests.fakes.model_server import SeenRequest, call
from tests.fakes.site import FakeSite
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, MakeLiveHome, whole_lines
from tests.scenarios.steps import (
    WAIT,
    Plays,
    bash,
    finish,
    node,
    one_worker,
    publish,
    spawn,
    write,
)

SECRET = "brave-key-of-this-test"
DONE = publish("done")


@pytest.fixture(scope="module")
def live_home(site: FakeSite, make_live_home: MakeLiveHome) -> LiveHome:
    web = {"search_url": f"{site.url}/brave", "results": 3, "allow_private": True}
    settings = {"web": web, "run": {"park_after_seconds": 2}}
    return make_live_home(settings, environ={"BRAVE_API_KEY": SECRET})


def web_row(live_home: LiveHome) -> dict[str, object]:
    return next(dict(row) for row in live_home.json("ps") if row["address"] == "tools/web")


def fetching(live_home: LiveHome, site: FakeSite, worker: str) -> Path:
    """Start an agent, named for its worker, which fetches a slow page; return its folder."""
    site.began.clear()
    site.released.clear()
    fetch = call("web_fetch", url=f"{site.url}/slow?{worker}")
    live_home.plays(coordinator=one_worker(worker), **{worker: [fetch, DONE]})
    agent = live_home.begin(f"of-{worker}")
    assert site.began.wait(30)
    site.began.clear()
    return agent


def test_a_team_searches_reads_and_cites(live_home: LiveHome, site: FakeSite) -> None:
    until(lambda: web_row(live_home)["state"] == "parked", "no web request yet")
    assert web_row(live_home)["pid"] is None

    def cite(seen: SeenRequest) -> object:
        assert "**Result 1**\nhttps://example.com/1\nAbout 1." in seen.result("web_search")
        assert "grown by a third" in seen.result("web_fetch")
        return write("facts.md", seen.result("web_fetch"))

    live_home.plays(
        coordinator=one_worker("ada"),
        ada=[
            call("web_search", query="chips market share"),
            call("web_fetch", url=f"{site.url}/article"),
            cite,  # type: ignore[list-item]
            bash("env; cat /proc/self/environ"),
            DONE,
        ],
    )
    outcome = live_home.complete("Write about chips")
    page = outcome.published("ada-facts")["facts.md"]
    assert "Title: Chips in 2026" in page
    assert "untrusted" in page
    brave = [seen for seen in site.requests if seen.path == "/brave"]
    assert brave[0].headers["X-Subscription-Token"] == SECRET
    everything = [*live_home.home.rglob("*.jsonl"), *live_home.home.rglob("*.md")]
    assert not [file for file in everything if SECRET in file.read_text(errors="replace")]
    until(lambda: web_row(live_home)["state"] == "parked", "the web process has parked")


def test_page_fetch_interrupted_by_a_kill_is_repeated(live_home: LiveHome, site: FakeSite) -> None:
    agent = fetching(live_home, site, "bob")
    live_home.kill("agiraph: tools/web")
    assert site.began.wait(30), "it is asked again"
    site.released.set()
    assert "a beginning\nan end" in live_home.await_step("bob", 1).result("web_fetch")
    live_home.await_end(agent)


def test_an_interruption_drops_the_page_that_is_being_fetched(
    live_home: LiveHome, site: FakeSite
) -> None:
    site.dropped.clear()
    agent = fetching(live_home, site, "cleo")
    live_home.json("send", agent.name, "Never mind", "--to", "cleo", "--mode", "interrupt")
    assert live_home.await_step("cleo", 1).result("web_fetch") == INTERRUPTED_CALL
    assert site.dropped.wait(30), "the connection is closed"
    live_home.await_end(agent)


def test_worker_killed_in_a_fetch_repeats_only_the_fetch(
    live_home: LiveHome, site: FakeSite
) -> None:
    agent = fetching(live_home, site, "dan")
    worker = live_home.worker(agent, "dan")
    live_home.kill(f"worker {worker.name}")
    assert site.began.wait(30), "its next incarnation asks again"
    site.released.set()
    live_home.await_end(agent)
    records = whole_lines(worker / "conversation.jsonl")
    finished = [record["name"] for record in records if record["kind"] == "tool.finished"]
    assert finished == ["web_fetch", "publish"]


def test_a_page_of_an_earlier_cycle_is_fetched_again(live_home: LiveHome, site: FakeSite) -> None:
    url = f"{site.url}/meta"
    fetch = call("web_fetch", url=url)
    looks = node("look", "eve")
    first: Plays = [spawn("eve"), fetch, fetch, looks, WAIT]
    ends = call("end_cycle", notes="seen", next_in="1s")
    live_home.plays(coordinator=[*first, ends, fetch, finish("Done.")], eve=[fetch, DONE])
    outcome = live_home.complete("Watch it", "--mode", "infinite")
    assert site.paths().count("/meta") == 2
    shown = [data["preview"] for data in outcome.data("tool.result") if data["tool"] == "web_fetch"]
    assert ["[from the cache: fetched " in one for one in shown] == [False, True, True, False]


def test_missing_search_service_is_reported_with_advice(parking_home: LiveHome) -> None:
    parking_home.plays(
        coordinator=[
            call("web_search", query="anything"),
            call("web_fetch", url="http://127.0.0.1:1/"),
            lambda seen: finish(seen.said),
        ]
    )
    outcome = parking_home.lead("Search", "--name", "searches-in-vain")
    told = outcome.result["result"]
    assert "TAVILY_API_KEY is not set (export TAVILY_API_KEY=..." in told
    private = "127.0.0.1 is not fetched: its address is this machine (web.allow_private is off)"
    assert private in told
    assert outcome.code == 0

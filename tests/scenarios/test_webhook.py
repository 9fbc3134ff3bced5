"""A question goes out by webhook and comes back by its link, also when the gateway is killed."""

from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.webhook_server import WebhookServer
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, MakeLiveHome
from tests.scenarios.steps import ask, finish, write

QUESTION = "PostgreSQL or SQLite? What is it for?"
ANSWER = "PostgreSQL, it's for a production web app"


@pytest.fixture(scope="module")
def hook() -> Iterator[WebhookServer]:
    with WebhookServer() as hook:
        yield hook


@pytest.fixture(scope="module")
def live_home(hook: WebhookServer, make_live_home: MakeLiveHome) -> LiveHome:
    phone = {"kind": "webhook", "url": hook.url, "secret": "${AGIRAPH_TEST_SECRET}"}
    gateway = {"delivery_first_delay_seconds": 0.1}
    settings = {"channels": {"phone": phone}, "gateway": gateway}
    return make_live_home(settings, environ={"AGIRAPH_TEST_SECRET": "hush"})


def test_question_is_answered_by_a_link_although_the_gateway_is_killed(
    live_home: LiveHome, hook: WebhookServer
) -> None:
    hook.statuses.append(0)  # the first delivery is left hanging
    live_home.plays(
        coordinator=[
            ask(QUESTION, options=["PostgreSQL", "SQLite"]),
            lambda seen: write("db.md", str(seen.result("ask_human"))),
            finish("The database is set up."),
        ]
    )

    def answer() -> None:
        first = hook.until(lambda posts: len(posts) == 1)[0]
        live_home.kill("agiraph: human")
        again = hook.until(lambda posts: len(posts) == 2)[1]
        assert first.headers["webhook-id"] == again.headers["webhook-id"]
        assert "webhook-signature" in again.headers
        assert again.json["text"] == QUESTION
        link = again.json["answer_url"]
        assert again.json["options"] == ["PostgreSQL", "SQLite"]
        assert "SQLite</button>" in httpx.get(link, verify=False).text
        assert httpx.post(link, data={"answer": ANSWER}, verify=False).status_code == 200
        assert httpx.post(link, data={"answer": "SQLite"}, verify=False).status_code == 409

    outcome = live_home.complete("Set up a database for our project.", meanwhile=answer)
    assert ANSWER in (outcome.run / "db.md").read_text()
    questions = outcome.events("human.question")
    responses = outcome.events("human.response")
    assert (len(questions), len(responses)) == (1, 1)
    assert responses[0]["data"]["via"] == "link"
    told = hook.until(lambda posts: any(post.json["kind"] == "finished" for post in posts))
    until(lambda: not live_home.json("channels", "waiting"), "everything is out")
    assert [post.json["kind"] for post in told] == ["questions", "questions", "finished"]
    assert (live_home.home / "agiraph.yaml").read_text().count("hush") == 0


def test_channel_commands_list_test_and_set_the_presence(
    live_home: LiveHome, hook: WebhookServer
) -> None:
    [row] = [row for row in live_home.json("channels") if row["name"] == "phone"]
    assert (row["kind"], row["dead"]) == ("webhook (generic)", 0)
    assert row["where"].endswith("/...")
    tested = live_home.command("channels", "test", "phone")
    assert (tested.returncode, tested.stdout) == (0, "phone: delivered\n")
    assert hook.posts[-1].json["sender"] == "the gateway"
    away = live_home.command("away", "--until", "2h", "--channel", "phone")
    assert "urgent notices go to phone" in away.stdout
    refused = live_home.command("away", "--channel", "pager")
    assert refused.returncode != 0
    assert "unknown channel 'pager' (known: phone)" in refused.stderr
    assert live_home.command("away", "--until", "25:00").returncode == 2
    assert live_home.command("back").stdout == "you are available\n"
    shown = live_home.command("config", "show")
    assert "${AGIRAPH_TEST_SECRET}" in shown.stdout

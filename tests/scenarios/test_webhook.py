"""A question goes out by webhook and comes back by its link, also when the gateway is killed."""

from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.hook import Hook
from tests.integration.house import until
from tests.scenarios.place import MakePlace, Place
from tests.scenarios.steps import ask, finish, write

QUESTION = "PostgreSQL or SQLite? What is it for?"
ANSWER = "PostgreSQL, it's for a production web app"


@pytest.fixture(scope="module")
def hook() -> Iterator[Hook]:
    with Hook() as hook:
        yield hook


@pytest.fixture(scope="module")
def place(hook: Hook, make_place: MakePlace) -> Place:
    phone = {"kind": "webhook", "url": hook.url, "secret": "${AGIRAPH_TEST_SECRET}"}
    gateway = {"delivery_first_delay_seconds": 0.1}
    settings = {"channels": {"phone": phone}, "gateway": gateway}
    return make_place(settings, environ={"AGIRAPH_TEST_SECRET": "hush"})


def test_a_database_is_set_up_as_the_person_says_by_a_link_though_the_gateway_is_killed(
    place: Place, hook: Hook
) -> None:
    hook.statuses.append(0)  # the first delivery is left hanging
    place.plays(
        coordinator=[
            ask(QUESTION, options=["PostgreSQL", "SQLite"]),
            lambda seen: write("db.md", str(seen.result("ask_human"))),
            finish("The database is set up."),
        ]
    )

    def answer() -> None:
        first = hook.until(lambda posts: len(posts) == 1)[0]
        place.kill("agiraph: human")
        again = hook.until(lambda posts: len(posts) == 2)[1]
        assert first.headers["webhook-id"] == again.headers["webhook-id"]
        assert "webhook-signature" in again.headers
        assert again.json["text"] == QUESTION
        link = again.json["answer_url"]
        assert again.json["options"] == ["PostgreSQL", "SQLite"]
        assert "SQLite</button>" in httpx.get(link, verify=False).text
        assert httpx.post(link, data={"answer": ANSWER}, verify=False).status_code == 200
        assert httpx.post(link, data={"answer": "SQLite"}, verify=False).status_code == 409

    outcome = place.complete("Set up a database for our project.", meanwhile=answer)
    assert ANSWER in (outcome.run / "db.md").read_text()
    questions = outcome.events("human.question")
    responses = outcome.events("human.response")
    assert (len(questions), len(responses)) == (1, 1)
    assert responses[0]["data"]["via"] == "link"
    told = hook.until(lambda posts: any(post.json["kind"] == "finished" for post in posts))
    until(lambda: not place.json("channels", "waiting"), "everything is out")
    assert [post.json["kind"] for post in told] == ["questions", "questions", "finished"]
    assert (place.home / "agiraph.yaml").read_text().count("hush") == 0


def test_the_commands_show_the_channel_try_it_and_say_who_is_away(place: Place, hook: Hook) -> None:
    [row] = [row for row in place.json("channels") if row["name"] == "phone"]
    assert (row["kind"], row["dead"]) == ("webhook (generic)", 0)
    assert row["where"].endswith("/...")
    tested = place.command("channels", "test", "phone")
    assert (tested.returncode, tested.stdout) == (0, "phone: delivered\n")
    assert hook.posts[-1].json["sender"] == "the gateway"
    away = place.command("away", "--until", "2h", "--channel", "phone")
    assert "urgent notices go to phone" in away.stdout
    refused = place.command("away", "--channel", "pager")
    assert refused.returncode != 0
    assert "unknown channel 'pager' (known: phone)" in refused.stderr
    assert place.command("away", "--until", "25:00").returncode == 2
    assert place.command("back").stdout == "you are available\n"
    shown = place.command("config", "show")
    assert "${AGIRAPH_TEST_SECRET}" in shown.stdout

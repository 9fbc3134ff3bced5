"""Notifications outside Agiraph: signed webhooks and mails with retries, and links."""

import base64
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from agiraph.agent.answers import answer_in_words
from agiraph.core.ids import AgentId, QuestionId
from agiraph.core.models import Event
from agiraph.http.api import ApiError, SetPresenceRequest
from agiraph.messages.event import EventAppended
from agiraph.messages.question import AskQuestion
from agiraph.messages.text import TextMessage
from agiraph.settings.config import load_config
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, GatewayHome
from tests.fakes.mail_server import MailServer
from tests.fakes.webhook_server import ReceivedPost, WebhookServer
from tests.integration.waiting import until

ADA = f"{AGENT}/ada-1"
QUICK = {
    "delivery_first_delay_seconds": 0.01,
    "delivery_max_delay_seconds": 0.05,
    "delivery_timeout_seconds": 0.3,
}


@contextmanager
def gateway(
    path: Path, gateway: dict[str, Any] | None = None, **channels: Any
) -> Iterator[GatewayHome]:
    """Yield a gateway with these channels and one agent."""
    own = path / "channels.yaml"
    own.write_text(yaml.safe_dump({"channels": channels, "gateway": QUICK | (gateway or {})}))
    gateway_home = GatewayHome(path / "home")
    gateway_home.runtime.config = load_config(own)
    if not gateway_home.home.agent(AGENT).record.exists():
        gateway_home.add_agent()
    gateway_home.start()
    try:
        yield gateway_home
    finally:
        gateway_home.stop()


def webhook(hook: WebhookServer, **more: Any) -> dict[str, Any]:
    return {"kind": "webhook", "url": hook.url} | more


def ask(gateway_home: GatewayHome, id: str = "q-1", text: str = "Which?", **more: Any) -> None:
    body = AskQuestion(
        question_id=QuestionId(id), agent=AGENT, from_name="Ada", question=text, **more
    )
    gateway_home.arrive(arrived(body, ADA, sent_at=time.time()))


def is_signed(post: ReceivedPost, secret: str) -> bool:
    """Check as a receiver would, by the Standard Webhooks."""
    id, at = post.headers["webhook-id"], post.headers["webhook-timestamp"]
    wanted = hmac.digest(secret.encode(), f"{id}.{at}.".encode() + post.body, sha256)
    return post.headers["webhook-signature"] == f"v1,{base64.b64encode(wanted).decode()}"


def test_question_is_posted_signed_and_answered_once_by_its_link(tmp_path: Path) -> None:
    with (
        WebhookServer() as hook,
        gateway(tmp_path, phone=webhook(hook, secret="hush")) as gateway_home,
    ):
        ask(gateway_home)
        post = hook.until(lambda posts: len(posts) == 1)[0]
        assert is_signed(post, "hush")
        assert (post.json["text"], post.json["sender"]) == ("Which?", "Ada")
        link = post.json["answer_url"]
        page = httpx.get(link, verify=False)
        assert (page.status_code, "<form" in page.text) == (200, True)
        there = post.json["page_url"].removeprefix(link.partition("/answer/")[0])
        assert f'href="{there}"' in page.text
        assert "form-action 'self'" in page.headers["content-security-policy"]
        with gateway_home.client() as client:
            assert client.questions()[0].status == "open"
            first = httpx.post(link, data={"answer": "PostgreSQL"}, verify=False)
            assert (first.status_code, "Thank you" in first.text) == (200, True)
            assert client.questions()[0].answer == "PostgreSQL"
        second = httpx.post(link, data={"answer": "SQLite"}, verify=False)
        assert second.status_code == 409
        assert "came second" in second.text
        assert "PostgreSQL" in second.text
        gateway_home.wait_until(lambda: bool(gateway_home.runtime.sent_to(ADA)))
        assert [body.answer for body in gateway_home.runtime.sent_to(ADA)] == ["PostgreSQL"]


def test_question_for_one_channel_is_sent_to_no_other(tmp_path: Path) -> None:
    with (
        WebhookServer() as phone,
        WebhookServer() as desk,
        gateway(tmp_path, phone=webhook(phone), desk=webhook(desk)) as gateway_home,
    ):
        ask(gateway_home, "q-1", "Where?", channel="desk")
        desk.until(lambda posts: len(posts) == 1)
        ask(gateway_home, "q-2", "Which?")
        assert [post.json["text"] for post in phone.until(bool)] == ["Which?"]
        assert [p.json["text"] for p in desk.until(lambda p: len(p) == 2)] == ["Where?", "Which?"]


def test_a_forged_or_foreign_link_shows_nothing_and_answers_nothing(tmp_path: Path) -> None:
    with WebhookServer() as hook, gateway(tmp_path, phone=webhook(hook)) as gateway_home:
        ask(gateway_home)
        link = hook.until(lambda posts: len(posts) == 1)[0].json["answer_url"]
        for forged in (link[:-3] + "abc", link.rpartition("/")[0] + "/x", link + ".x"):
            got = httpx.post(forged, data={"answer": "no"}, verify=False)
            assert (got.status_code, "Which?" in got.text) == (404, False)
        assert httpx.post(link, data={"answer": "  "}, verify=False).status_code == 422
        foreign = {"origin": "https://evil.example"}
        assert (
            httpx.post(link, data={"answer": "no"}, headers=foreign, verify=False).status_code
            == 403
        )
        with gateway_home.client() as client:
            assert client.questions()[0].status == "open"


def test_a_receiver_that_fails_hangs_and_redirects_gets_the_same_delivery_again(
    tmp_path: Path,
) -> None:
    with WebhookServer(500, 0, 307) as hook, gateway(tmp_path, phone=webhook(hook)) as gateway_home:
        ask(gateway_home)
        posts = hook.until(lambda posts: len(posts) == 4)
        assert len({post.headers["webhook-id"] for post in posts}) == 1
        assert len({post.body for post in posts}) == 1
        assert {post.path for post in posts} == {"/hook"}
        with gateway_home.client() as client:
            [row] = [one for one in client.channels() if one.name == "phone"]
        assert row.where.startswith("http://127.0.0.1")


def test_undeliverable_notification_is_a_dead_letter_and_retried_on_request(
    tmp_path: Path,
) -> None:
    with WebhookServer(500, 500) as hook:
        with gateway(tmp_path, {"delivery_attempts": 2}, phone=webhook(hook)) as gateway_home:
            ask(gateway_home)
            gateway_home.wait_until(
                lambda: any(e.type == "channel.dead" for e in gateway_home.runtime.events())
            )
            with gateway_home.client() as client:
                [dead] = client.deliveries(status="dead")
                assert (dead.error, dead.attempts) == ("the receiver answered 500", 1)
                with pytest.raises(ApiError, match=r"no delivery 'x' .*known: dlv_"):
                    client.retry_delivery("x")
                client.retry_delivery(dead.id)
                until(lambda: client.deliveries() == [], "the delivery")
        with (
            gateway(tmp_path, phone=webhook(hook)) as gateway_home,
            gateway_home.client() as client,
        ):
            assert client.deliveries() == []
            assert len(hook.posts) == 3


def test_answered_question_is_not_delivered_later(tmp_path: Path) -> None:
    away = SetPresenceRequest(status="away")
    with (
        WebhookServer() as hook,
        gateway(tmp_path, phone=webhook(hook)) as gateway_home,
        gateway_home.client() as client,
    ):
        client.set_me(away)
        ask(gateway_home, "q-1", "first")
        ask(gateway_home, "q-2", "second")
        client.answer("q-1", "done")
        assert [one.text for one in client.deliveries()] == ["first", "second"]
        client.set_me(SetPresenceRequest(status="available"))
        posts = hook.until(lambda posts: bool(posts))
        assert [post.json["text"] for post in posts] == ["second"]


def test_away_status_is_kept_and_urgent_notices_use_its_channel(tmp_path: Path) -> None:
    with WebhookServer() as phone, WebhookServer() as desk:
        channels = {"phone": webhook(phone), "desk": webhook(desk)}
        with gateway(tmp_path, **channels) as gateway_home, gateway_home.client() as client:
            with pytest.raises(ApiError, match=r"unknown channel 'pager' \(known: desk, phone\)"):
                client.set_me(SetPresenceRequest(status="away", channel="pager"))
            with pytest.raises(ApiError, match="is over"):
                client.set_me(SetPresenceRequest(status="away", until=1.0))
            client.set_me(SetPresenceRequest(status="away", channel="desk"))
        with gateway(tmp_path, **channels) as gateway_home, gateway_home.client() as client:
            assert (client.me().status, client.me().channel) == ("away", "desk")
            gateway_home.log_events("agent.failed", reason="no luck")
            gateway_home.arrive(arrived(EventAppended(event=of_type("agent.failed")), "recorder"))
            assert desk.until(lambda posts: len(posts) == 1)[0].json["text"] == "no luck"
            assert phone.posts == []


def test_unanswered_asker_is_notified_that_the_human_is_away(tmp_path: Path) -> None:
    with gateway(tmp_path) as gateway_home, gateway_home.client() as client:
        client.set_me(SetPresenceRequest(status="away", until=4102444800.0))
        ask(gateway_home, deadline_seconds=0.05)
        gateway_home.wait_until(lambda: bool(gateway_home.runtime.sent_to(ADA)))
        [outcome] = gateway_home.runtime.sent_to(ADA)
        assert (outcome.outcome, outcome.away) == (
            "expired",
            "the human is away until 2100-01-01T00:00:00Z",
        )
        told = answer_in_words(outcome, "decide")
        assert "(the human is away until 2100-01-01T00:00:00Z). This is not a refusal" in told


def of_type(type: str) -> Event:
    return Event(type=type, agent_id=AgentId(AGENT), ts=1.0)


def test_ends_and_messages_are_delivered_to_subscribed_channels(tmp_path: Path) -> None:
    with WebhookServer() as ends, WebhookServer() as texts:
        channels = {
            "ends": webhook(ends, notices=["finished"], shape="slack"),
            "texts": webhook(texts, notices=["messages"], shape="discord"),
        }
        with gateway(tmp_path, **channels) as gateway_home:
            gateway_home.arrive(arrived(TextMessage(content="half done", from_name="Ada"), ADA))
            gateway_home.log_events("agent.completed", result="All done")
            gateway_home.arrive(
                arrived(EventAppended(event=of_type("agent.completed")), "recorder")
            )
            [end] = ends.until(lambda posts: len(posts) == 1)
            [text] = texts.until(lambda posts: len(posts) == 1)
            with gateway_home.client() as client:
                until(lambda: client.deliveries() == [], "the record of the message")
        assert "All done" in json.dumps(end.json["blocks"])
        assert text.json["embeds"][0]["description"] == "half done"
        with gateway(tmp_path, **channels) as gateway_home:
            gateway_home.arrive(
                arrived(EventAppended(event=of_type("agent.completed")), "recorder")
            )
            gateway_home.arrive(arrived(TextMessage(content="more", from_name="Ada"), ADA))
            texts.until(lambda posts: len(posts) == 2)
        assert (len(ends.posts), len(texts.posts)) == (1, 2)


def test_mail_with_the_link_is_sent_once_its_server_accepts_it(tmp_path: Path) -> None:
    with MailServer(busy=1) as server:
        mail = {
            "kind": "email",
            "to": "me@example.org",
            "sender": "agents@example.org",
            "server": server.address,
            "security": "none",
        }
        with gateway(tmp_path, {"public_url": "https://a.example"}, mail=mail) as gateway_home:
            ask(gateway_home)
            [letter] = server.until(lambda mails: len(mails) == 1)
        assert letter["subject"] == "survey: Ada asks"
        assert "https://a.example/answer/" in letter.get_content()
        assert (server.attempts, letter["message-id"][:5]) == (2, "<dlv_")


def test_channel_is_tested_on_request_and_a_missing_variable_is_named(
    tmp_path: Path,
) -> None:
    with WebhookServer(200, 503) as hook:
        channels = {
            "phone": webhook(hook),
            "lost": {"kind": "webhook", "url": "${NO_SUCH_VARIABLE_HERE}"},
        }
        with gateway(tmp_path, **channels) as gateway_home, gateway_home.client() as client:
            assert client.test_channel("phone").delivered
            refused = client.test_channel("phone")
            assert (refused.delivered, refused.error) == (False, "the receiver answered 503")
            assert "NO_SUCH_VARIABLE_HERE is not set" in client.test_channel("lost").error
            with pytest.raises(ApiError, match=r"unknown channel 'x' \(known: lost, phone\)"):
                client.test_channel("x")
            names = [one.name for one in client.channels()]
            assert names == ["console", "web", "lost", "phone"]
            assert client.deliveries() == []

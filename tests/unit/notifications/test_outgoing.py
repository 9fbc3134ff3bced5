"""Outgoing notifications: shapes of Slack and Discord, signatures, tokens of links, mails."""

import base64
import hmac
import json
from hashlib import sha256

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.inbox.channels.channel import Notification
from agiraph.inbox.channels.email import mail_of
from agiraph.notifications.notice import body_of, title_of
from agiraph.notifications.webhooks import (
    DISCORD_DESCRIPTION,
    SHAPES,
    SLACK_SECTION,
    answer_token,
    read_answer_token,
    webhook_headers,
)
from agiraph.settings.channels import ChannelConfig
from tests.unit.notifications.notices import notice

LINK = "https://agents.example.org/answer/abc.def"
PAGE = "https://agents.example.org/ui/agents/shop-1"
KEY = b"k" * 32


def test_generic_body_has_every_fact_under_its_name() -> None:
    asked = notice(question_id="q-1", options=("yes", "no"), deadline_at=2000.0, is_urgent=True)
    body = SHAPES["generic"](asked, "dlv_1", LINK, PAGE)
    assert (body["id"], body["kind"], body["question_id"]) == ("dlv_1", "questions", "q-1")
    assert (body["options"], body["answer_url"], body["urgent"]) == (["yes", "no"], LINK, True)
    assert body["page_url"] == PAGE
    assert body["deadline_at"] == "1970-01-01T00:33:20Z"


def test_slack_body_escapes_text_and_has_a_button_for_the_answer() -> None:
    asked = notice(text="<!channel> a & b" + "&" * 9000, question_id="q-1")
    body = SHAPES["slack"](asked, "dlv_1", LINK, PAGE)
    told = json.dumps(body)
    assert "<!channel>" not in told
    assert all(
        len(block["text"]["text"]) <= SLACK_SECTION for block in body["blocks"] if "text" in block
    )
    assert [button["url"] for button in body["blocks"][-1]["elements"]] == [LINK, PAGE]
    assert body["text"] == "shop: Ada asks"


def test_discord_message_mentions_no_user_and_keeps_its_limits() -> None:
    body = SHAPES["discord"](notice(text="@everyone " * 900), "dlv_1", None, PAGE)
    assert body["allowed_mentions"] == {"parse": []}
    assert len(body["embeds"][0]["description"]) <= DISCORD_DESCRIPTION
    assert body["embeds"][0]["url"] == PAGE
    assert SHAPES["discord"](notice(), "dlv_1", LINK, PAGE)["embeds"][0]["url"] == LINK


def test_webhook_signature_follows_the_standard() -> None:
    secret = "whsec_" + base64.b64encode(KEY).decode()
    headers = webhook_headers(secret, "dlv_1", 1234, b'{"a":1}')
    wanted = hmac.digest(KEY, b'dlv_1.1234.{"a":1}', sha256)
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(wanted).decode()}"
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("dlv_1", "1234")
    assert "webhook-signature" not in webhook_headers("", "dlv_1", 1234, b"")
    with pytest.raises(InvalidInput, match="base64"):
        webhook_headers("whsec_!", "dlv_1", 1, b"")


def test_answer_link_is_valid_only_for_its_question_until_its_expiry() -> None:
    token = answer_token(KEY, "q-1", 100.0)
    assert token == answer_token(KEY, "q-1", 100.0)
    assert read_answer_token(KEY, token, 100.0) == "q-1"
    with pytest.raises(InvalidInput, match="too old"):
        read_answer_token(KEY, token, 102.0)
    other = answer_token(KEY, "q-2", 100.0)
    mixed = f"{other.split('.')[0]}.{token.split('.')[1]}"
    for forged in (mixed, token[:-2], "", ".", "x", "é.é", answer_token(b"x" * 32, "q-1", 100.0)):
        with pytest.raises(InvalidInput, match="not one of ours"):
            read_answer_token(KEY, forged, 0.0)


def test_a_mail_has_a_subject_of_one_line_the_link_and_always_the_same_id() -> None:
    settings = ChannelConfig.model_validate(
        {"kind": "email", "to": "me@example.org", "sender": "a@x.org", "server": "mail:25"}
    )
    asked = notice(question_id="q-1", sender="Ada\r\nBcc: all@example.org", options=("a", "b"))
    mail = mail_of(settings, Notification("dlv_1", asked, LINK, PAGE))
    assert mail["Message-ID"] == "<dlv_1@x.org>"
    assert "\n" not in mail["Subject"]
    assert mail["Bcc"] is None
    assert LINK in mail.get_content()
    assert PAGE in mail.get_content()
    assert "Answers: a | b" in mail.get_content()


def test_title_is_one_line_and_a_cut_text_names_its_length() -> None:
    long = notice(agent_name="a" * 500, text="x" * 9000)
    assert len(title_of(long)) <= 120
    assert "9000 characters in all" in body_of(long, None)

"""Webhooks: their bodies (ours, Slack's, Discord's) and signatures; tokens of answer links. Pure.

Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks ; notifications
show `text`, a section has at most 3000 characters, `&<>` are escaped.
Discord: https://discord.com/developers/docs/resources/webhook#execute-webhook ; an embed's title
has at most 256 characters, its description 4096; `allowed_mentions` prevents mass mentions.

Webhooks are signed as https://www.standardwebhooks.com says, so that receivers can use a library:
`webhook-signature: v1,BASE64(HMAC-SHA256(secret, "{id}.{timestamp}.{body}"))`. A secret that begins
with `whsec_` is the base64 of the key, any other is the key as UTF-8.

A link's token is `{payload}.{signature}` in URL-safe base64; its key serves no other purpose.
"""

import base64
import binascii
import hmac
import json
from hashlib import sha256
from typing import Any

from agiraph.core.clock import iso
from agiraph.core.errors import InvalidInput
from agiraph.core.json_text import parse_json
from agiraph.core.naming import cut
from agiraph.notifications.notice import Notice, body_of, title_of

SLACK_SECTION = 3000
DISCORD_TITLE = 256
DISCORD_DESCRIPTION = 4096
ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
LINK_ROOM = 300
PREFIX = "whsec_"
KEY_BYTES = 32
PURPOSE = b"agiraph answer link v1\0"

JsonObject = dict[str, Any]


def webhook_headers(secret: str, delivery: str, at: int, body: bytes) -> dict[str, str]:
    """Return the headers of one delivery with its signature; none without a secret."""
    headers = {"webhook-id": delivery, "webhook-timestamp": str(at)}
    if secret:
        signed = f"{delivery}.{at}.".encode() + body
        digest = hmac.digest(_key_of(secret), signed, sha256)
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return headers


def _key_of(secret: str) -> bytes:
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise InvalidInput("a secret that begins with whsec_ must go on as base64") from None


def answer_token(key: bytes, question_id: str, expires_at: float) -> str:
    """Return the token that lets its bearer answer this question alone, until `expires_at`."""
    payload = _encoded(json.dumps([question_id, int(expires_at)]).encode())
    return f"{payload}.{_signature(key, payload)}"


def read_answer_token(key: bytes, token: str, now: float) -> str:
    """Return the id of the question in a token. Raises InvalidInput if it is forged or expired."""
    payload, _, signature = token.partition(".")
    if not hmac.compare_digest(signature.encode(), _signature(key, payload).encode()):
        raise InvalidInput("this link is not one of ours, or it was cut short")
    question_id, expires_at = parse_json(_decoded(payload))
    if now > expires_at:
        raise InvalidInput("this link is too old; the question may still be open elsewhere")
    return str(question_id)


def _signature(key: bytes, payload: str) -> str:
    return _encoded(hmac.digest(key, PURPOSE + payload.encode(), sha256))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def generic(notice: Notice, delivery: str, link: str | None, page: str) -> JsonObject:
    """Return a notice in Agiraph's own format; `id` is the delivery's, also on a retry."""
    facts = notice.model_dump(mode="json", exclude={"id", "ts", "is_urgent", "channel"})
    return facts | {
        "id": delivery,
        "title": title_of(notice),
        "urgent": notice.is_urgent,
        "at": iso(notice.ts),
        "deadline_at": iso(notice.deadline_at) if notice.deadline_at is not None else None,
        "answer_url": link,
        "page_url": page,
    }


def slack(notice: Notice, _delivery: str, link: str | None, page: str) -> JsonObject:
    """Return a notice as the body of a Slack incoming webhook."""
    title = title_of(notice).translate(ESCAPES)
    text = cut(body_of(notice, None), SLACK_SECTION - LINK_ROOM).translate(ESCAPES)
    blocks: list[JsonObject] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*{title}*"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": cut(text, SLACK_SECTION)}},
    ]
    buttons = [("Answer", link)] if link else []
    elements = [
        {"type": "button", "text": {"type": "plain_text", "text": text}, "url": url}
        for text, url in [*buttons, ("Open", page)]
    ]
    return {"text": title, "blocks": [*blocks, {"type": "actions", "elements": elements}]}


def discord(notice: Notice, _delivery: str, link: str | None, page: str) -> JsonObject:
    """Return a notice as the body of a Discord webhook."""
    embed: JsonObject = {
        "title": cut(title_of(notice), DISCORD_TITLE),
        "description": cut(body_of(notice, link), DISCORD_DESCRIPTION),
        "url": link or page,
    }
    return {"embeds": [embed], "allowed_mentions": {"parse": []}}


SHAPES = {"generic": generic, "slack": slack, "discord": discord}

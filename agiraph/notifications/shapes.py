"""The bodies that webhooks take: ours, Slack's (mrkdwn blocks) and Discord's (embeds). Pure.

Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks ; `text` is what
notifications show, a section holds at most 3000 characters, `&<>` are escaped.
Discord: https://discord.com/developers/docs/resources/webhook#execute-webhook ; an embed's title
holds 256 characters, its description 4096; `allowed_mentions` keeps a text from ringing everybody.
"""

from typing import Any

from agiraph.core.clock import iso
from agiraph.notifications.notice import Notice, body_of, cut, title_of

SLACK_SECTION = 3000
DISCORD_TITLE = 256
DISCORD_DESCRIPTION = 4096
ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
LINK_ROOM = 300

JsonObject = dict[str, Any]


def generic(notice: Notice, delivery: str, link: str | None) -> JsonObject:
    """Return our own shape: every fact under its name; `id` is the delivery's, always the same."""
    facts = notice.model_dump(mode="json", exclude={"id", "ts", "is_urgent", "channel"})
    return facts | {
        "id": delivery,
        "title": title_of(notice),
        "urgent": notice.is_urgent,
        "at": iso(notice.ts),
        "deadline_at": iso(notice.deadline_at) if notice.deadline_at is not None else None,
        "answer_url": link,
    }


def slack(notice: Notice, _delivery: str, link: str | None) -> JsonObject:
    """Return the shape of a Slack incoming webhook."""
    title = title_of(notice).translate(ESCAPES)
    text = cut(body_of(notice, None), SLACK_SECTION - LINK_ROOM).translate(ESCAPES)
    blocks: list[JsonObject] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*{title}*"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": text[:SLACK_SECTION]}},
    ]
    if link:
        button = {"type": "plain_text", "text": "Answer"}
        blocks.append(
            {"type": "actions", "elements": [{"type": "button", "text": button, "url": link}]}
        )
    return {"text": title, "blocks": blocks}


def discord(notice: Notice, _delivery: str, link: str | None) -> JsonObject:
    """Return the shape of a Discord webhook."""
    embed: JsonObject = {
        "title": title_of(notice)[:DISCORD_TITLE],
        "description": cut(body_of(notice, link), DISCORD_DESCRIPTION),
    }
    if link:
        embed["url"] = link
    return {"embeds": [embed], "allowed_mentions": {"parse": []}}


SHAPES = {"generic": generic, "slack": slack, "discord": discord}

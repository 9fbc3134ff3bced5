"""Pages of an agent's two logs, events and messages, read over the API from their ends."""

from agiraph.core.ids import AgentId
from agiraph.http.api import MessageView
from agiraph.http.client import Client
from cli.console.ui.view import EventsReceived, MessagesReceived, News

PAGE = 400
MESSAGE_PAGE = 1000
RECENT = 500


def recent_messages(
    client: Client, agent: AgentId, since: float, after: int = 0
) -> list[MessageView]:
    """Return the messages after seq `after` and not before `since`, the last RECENT at most."""
    found: list[MessageView] = []
    while True:
        page = client.messages(agent, after=after, limit=MESSAGE_PAGE)
        found = [message for message in [*found, *page] if message.ts >= since][-RECENT:]
        if len(page) < MESSAGE_PAGE:
            return found
        after = page[-1].seq


def older_pages(
    client: Client, agent: AgentId, first_event: int | None, first_message: int | None
) -> list[News]:
    """Return the page of events before `first_event`, and the messages of the same time."""
    news: list[News] = []
    since = 0.0
    if first_event is not None and first_event > 1:
        after = max(0, first_event - 1 - PAGE)
        page = client.events(agent, after=after, limit=first_event - 1 - after)
        news.append(EventsReceived(page.events, is_older=True))
        since = page.events[0].ts if page.events and after > 0 else 0.0
    if first_message is not None and first_message > 1:
        after = max(0, first_message - 1 - PAGE)
        messages = client.messages(agent, after=after, limit=first_message - 1 - after)
        news.append(MessagesReceived(tuple(m for m in messages if m.ts >= since), is_older=True))
    return news

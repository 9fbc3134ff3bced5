"""Here or away: what the person said, and what is told of it to those who ask him."""

from actors.gateway.notifications.dispatcher import NotificationDispatcher, named
from agiraph.core.clock import iso
from agiraph.http.api import ApiError, PresenceView, SetPresenceRequest
from agiraph.notifications.delivery_queue import DoNotDisturb

UNPROCESSABLE = 422


def presence(dispatcher: NotificationDispatcher, now: float) -> PresenceView:
    """Return whether he is here."""
    away = dispatcher.book.away_at(now)
    if away is None:
        return PresenceView(status="available")
    return PresenceView(status="away", since=away.since, until=away.until, channel=away.channel)


def set_presence(
    dispatcher: NotificationDispatcher, wanted: SetPresenceRequest, now: float
) -> PresenceView:
    """Write down that he leaves or returns; what waited for his return goes out.

    Raises ApiError 422 for a channel that there is not and for a time that is over.
    """
    if wanted.status == "available":
        if wanted.until is not None or wanted.channel is not None:
            raise ApiError(UNPROCESSABLE, "until and channel go with the status 'away'")
        if dispatcher.book.away is not None:
            dispatcher.write({"type": "back", "at": now})
        return presence(dispatcher, now)
    if wanted.channel is not None and wanted.channel not in dispatcher.settings:
        known = named(dispatcher.settings)
        raise ApiError(UNPROCESSABLE, f"unknown channel '{wanted.channel}' (known: {known})")
    if wanted.until is not None and wanted.until <= now:
        raise ApiError(UNPROCESSABLE, f"until: {iso(wanted.until)} is over")
    dispatcher.write({"type": "away", "at": now, "until": wanted.until, "channel": wanted.channel})
    return presence(dispatcher, now)


def in_words(away: DoNotDisturb | None) -> str:
    """Return what one who asks him is told, empty if he is here."""
    if away is None:
        return ""
    return f"the human is away{f' until {iso(away.until)}' if away.until else ''}"

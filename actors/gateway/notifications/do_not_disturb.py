"""Do not disturb: the person says that he is away, or back."""

from actors.gateway.notifications.dispatcher import NotificationDispatcher, named
from agiraph.core.clock import iso
from agiraph.http.api import ApiError, PresenceView, SetPresenceRequest

UNPROCESSABLE = 422


def presence(dispatcher: NotificationDispatcher, now: float) -> PresenceView:
    """Return whether the person is here."""
    away = dispatcher.queue.away_at(now)
    if away is None:
        return PresenceView(status="available")
    return PresenceView(status="away", since=away.since, until=away.until, channel=away.channel)


def set_presence(
    dispatcher: NotificationDispatcher, wanted: SetPresenceRequest, now: float
) -> PresenceView:
    """Record that the person is away or back; what waited for his return is delivered.

    Raises ApiError 422 for an unknown channel and for a time that is over.
    """
    if wanted.status == "available":
        if wanted.until is not None or wanted.channel is not None:
            raise ApiError(UNPROCESSABLE, "until and channel go with the status 'away'")
        if dispatcher.queue.away is not None:
            dispatcher.write({"type": "back", "at": now})
        return presence(dispatcher, now)
    if wanted.channel is not None and wanted.channel not in dispatcher.settings:
        known = named(dispatcher.settings)
        raise ApiError(UNPROCESSABLE, f"unknown channel '{wanted.channel}' (known: {known})")
    if wanted.until is not None and wanted.until <= now:
        raise ApiError(UNPROCESSABLE, f"until: {iso(wanted.until)} is over")
    dispatcher.write({"type": "away", "at": now, "until": wanted.until, "channel": wanted.channel})
    return presence(dispatcher, now)

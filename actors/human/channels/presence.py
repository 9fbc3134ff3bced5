"""Here or away: what the person said, and what is told of it to those who ask him."""

from actors.human.channels.courier import Courier, named
from agiraph.api import ApiError, Presence, SetPresence
from agiraph.channels.book import Away
from agiraph.clock import iso

UNPROCESSABLE = 422


def presence(courier: Courier, now: float) -> Presence:
    """Return whether he is here."""
    away = courier.book.away_at(now)
    if away is None:
        return Presence(status="available")
    return Presence(status="away", since=away.since, until=away.until, channel=away.channel)


def set_presence(courier: Courier, wanted: SetPresence, now: float) -> Presence:
    """Write down that he leaves or returns; what waited for his return goes out.

    Raises ApiError 422 for a channel that there is not and for a time that is over.
    """
    if wanted.status == "available":
        if wanted.until is not None or wanted.channel is not None:
            raise ApiError(UNPROCESSABLE, "until and channel go with the status 'away'")
        if courier.book.away is not None:
            courier.write({"type": "back", "at": now})
        return presence(courier, now)
    if wanted.channel is not None and wanted.channel not in courier.settings:
        known = named(courier.settings)
        raise ApiError(UNPROCESSABLE, f"unknown channel '{wanted.channel}' (known: {known})")
    if wanted.until is not None and wanted.until <= now:
        raise ApiError(UNPROCESSABLE, f"until: {iso(wanted.until)} is over")
    courier.write({"type": "away", "at": now, "until": wanted.until, "channel": wanted.channel})
    return presence(courier, now)


def in_words(away: Away | None) -> str:
    """Return what one who asks him is told, empty if he is here."""
    if away is None:
        return ""
    return f"the human is away{f' until {iso(away.until)}' if away.until else ''}"

"""Old pictures of a conversation: dropped, so that its requests have a limited size. Pure."""

from typing import Final

from agiraph.core.turns import Turn, pictures_in, without_pictures

MOST_PICTURES: Final = 12
"""With 512 KiB each they fit into one message of the bus; Claude shrinks pictures beyond 20."""
KEPT_PICTURES: Final = 6
"""Fewer than the limit: each drop changes the beginning that services have cached."""


def drop_old_pictures(turns: list[Turn]) -> None:
    """Replace all but the newest pictures by a line of text, if there are too many."""
    left = len(pictures_in(turns))
    if left <= MOST_PICTURES:
        return
    for place, turn in enumerate(turns):
        if left <= KEPT_PICTURES:
            return
        if shown := len(pictures_in([turn])):
            turns[place] = without_pictures(turn)
            left -= shown

"""WaitState: what an entity waits for from people: it is paused, or has asked the human.

It is a file beside the entity's conversation, there only while something holds the entity. So it is
known of one without a process, and after a restart of everything.
"""

import os
from pathlib import Path

from pydantic import ValidationError

from agiraph.core.models import ActivityState
from agiraph.core.record import Record
from agiraph.storage.files import read_bytes, remove_file, replace_file


class WaitState(Record):
    """`asks` is what the human is asked, '' if nothing; `since` when it last changed."""

    is_paused: bool = False
    asks: str = ""
    since: float = 0.0

    @property
    def state(self) -> ActivityState:
        """Return the state that it is shown in, '' if nothing holds it; a pause comes first."""
        if self.is_paused:
            return "paused"
        return "waiting_for_human" if self.asks else ""


NO_HOLD = WaitState()


def load_hold(path: Path) -> WaitState:
    """Return what is in the file; a missing or damaged one holds nothing."""
    if not os.path.lexists(path):  # of nearly all; the safe way there opens each folder
        return NO_HOLD
    try:
        return WaitState.model_validate_json(read_bytes(path))
    except (OSError, ValidationError):
        return NO_HOLD


def store_hold(path: Path, hold: WaitState) -> None:
    """Write the file, or remove it if nothing holds the entity."""
    if hold.state:
        replace_file(path, hold.model_dump_json() + "\n")
    else:
        remove_file(path)

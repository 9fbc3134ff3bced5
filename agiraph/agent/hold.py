"""The state of an entity that waits for a person: it is paused, or has asked the human.

It is stored beside the entity's conversation as long as the wait lasts, so that it is known while
the entity has no process, and after a restart.
"""

import os
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from agiraph.core.models import EntityState
from agiraph.storage.files import read_bytes, remove_file, replace_file

HELD: Final = ("paused", "waiting_for_human")


def load_hold(path: Path) -> EntityState:
    """Return the stored state; the empty state if the file is missing or damaged."""
    if not os.path.lexists(path):  # nearly all are missing; the safe open opens each folder
        return EntityState()
    try:
        return EntityState.model_validate_json(read_bytes(path))
    except (OSError, ValidationError):
        return EntityState()


def store_hold(path: Path, state: EntityState) -> None:
    """Write the state of an entity that waits for a person; remove the file for any other state."""
    if state.state in HELD:
        replace_file(path, state.model_dump_json() + "\n")
    else:
        remove_file(path)

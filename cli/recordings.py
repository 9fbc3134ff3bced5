"""Recordings: what the broker recorded of a run's model calls, copied to where it is wanted."""

import os
import shutil
from pathlib import Path

from agiraph.core.errors import InvalidInput
from agiraph.storage.files import is_file, open_file
from cli.screen import TerminalScreen


def copy_recording(made: Path, wanted: Path, screen: TerminalScreen) -> None:
    """Copy a run's recording to `wanted`, readable only by its owner; report it, or why not."""
    if not is_file(made):
        screen.note(f"nothing was recorded: {made} does not exist", "bad")
        return
    try:
        with os.fdopen(open_file(made, anyones=True), "rb") as source:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            descriptor = os.open(wanted, flags, 0o600)  # plain: where the person wants it
            with os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(source, file)
    except OSError as error:
        raise InvalidInput(
            f"{wanted}: cannot be written ({error.strerror}); the recording is {made}"
        ) from None
    screen.note(f"recorded: {wanted}")

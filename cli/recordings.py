"""Recordings: what the broker wrote down of a run's model calls, brought where it was wished."""

import os
import shutil
from pathlib import Path

from agiraph.errors import InvalidInput
from cli.screen import Screen


def keep_recording(made: Path, wanted: Path, screen: Screen) -> None:
    """Copy a run's recording to `wanted`, readable by its owner alone; say so, or say why not."""
    if not made.is_file():
        screen.note(f"nothing was recorded: {made} is not there", "bad")
        return
    try:
        descriptor = os.open(wanted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file, made.open("rb") as source:
            shutil.copyfileobj(source, file)
    except OSError as error:
        raise InvalidInput(
            f"{wanted}: cannot be written ({error.strerror}); the recording is {made}"
        ) from None
    screen.note(f"recorded: {wanted}")

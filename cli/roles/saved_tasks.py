"""SavedTasks: the finished tasks of a team's shell, and the file in which it is saved."""

from pathlib import Path
from typing import ClassVar, Final

from pydantic import ConfigDict, Field

from agiraph.core.errors import InvalidInput
from agiraph.core.json_text import parse_json
from agiraph.core.record import Record
from agiraph.core.roles import MOST_TURNS
from cli.options.shared import require_writable

MOST_BYTES: Final = 64_000_000
NOT_SAVED_TASKS: Final = "it is not a file that /save has written"


class DoneTask(Record):
    """A finished task, and its result."""

    task: str
    output: str
    status: str
    agent: str
    run: str
    turns: int


class SavedTasks(Record):
    """The content of a file of `/save` and `/load`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    tasks: tuple[DoneTask, ...]
    max_turns: int | None = Field(default=None, ge=1, le=MOST_TURNS)
    follows_up: bool = True


def load_tasks(path: Path) -> SavedTasks:
    """Return the tasks of a file. Raises InvalidInput that explains why it is invalid."""
    try:
        with path.open("rb") as file:  # plain: the person's
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InvalidInput(f"{path}: {NOT_SAVED_TASKS}: it has more than {MOST_BYTES:,} bytes")
        return SavedTasks.model_validate(parse_json(data))
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise InvalidInput(f"{path}: {NOT_SAVED_TASKS}") from None


def save_tasks(path: Path, tasks: SavedTasks) -> None:
    """Write tasks into a new file, or over a saved one. Raises InvalidInput for another
    file.
    """
    if path.exists():  # plain: the person's
        try:
            load_tasks(path)
        except InvalidInput as error:
            raise InvalidInput(f"not saved, there is a file of that name: {error}") from None
    require_writable(path)
    path.write_text(tasks.model_dump_json(indent=2) + "\n", "utf-8")  # plain: the person's

"""Input news: new autorun files in an input folder, reported to the model and to people.

A command may create such a file where there was none: the sandbox covers only what exists. So the
folder is searched after each command that may write it, however the command ends, and once more
when an entity of the run has ended.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager

from agiraph.core.ids import derived_id
from agiraph.core.turns import JsonObject
from agiraph.logs.event_text import AUTORUN
from agiraph.tools.sandbox.input_guard import InputGuard
from agiraph.tools.sandbox.sandbox import Sandbox
from agiraph.tools.sandbox.survey import FoundAutorun
from agiraph.tools.scopes.scope import Scope

GIT_COMMANDS = "sandbox.git_commands"
MOST_NAMED = 500
"""The most files of one search that events name: a person must see each of them."""
NAMES_LENGTH = 900
"""The most characters of the names in one event: its sentence is shown as one line."""
NAMED_TO_MODEL = 20
COMMANDS_NAMED = 20

Report = Callable[[str, JsonObject, str], None]


async def report_input_news(sandbox: Sandbox, scope: Scope, report: Report) -> str:
    """Report autorun files that appeared since the run began, once; return the model's note.

    The note is '' without such files. Waits until the search is done.
    """
    found = await asyncio.to_thread(_news, sandbox, scope)
    if not found:
        return ""
    for data in events_data(str(scope.input_dir), found):
        named = (scope.rules.run.name, *data["paths"], *data["marks"])
        report(AUTORUN, data, derived_id("\0".join(named)))
    return note(found)


@asynccontextmanager
async def reported_if_cancelled(
    sandbox: Sandbox, scope: Scope, report: Report
) -> AsyncIterator[None]:
    """Report the autorun files that a command has created if it is cancelled within the block.

    The command must have ended when the block ends. A model can have its own command cancelled: by
    the end of its node or of the run, or by a message that interrupts it.
    """
    try:
        yield
    except asyncio.CancelledError:
        await report_input_news(sandbox, scope, report)
        raise


def _news(sandbox: Sandbox, scope: Scope) -> tuple[FoundAutorun, ...]:
    guard = sandbox.input_guard(scope)
    return () if guard is None else guard.news()


def events_data(folder: str, found: Sequence[FoundAutorun]) -> list[JsonObject]:
    """Return the fields of the events that name the files; `more` counts the unnamed files."""
    groups: list[list[FoundAutorun]] = []
    length = NAMES_LENGTH
    for one in found[:MOST_NAMED]:
        length += len(one.path) + 2  # with a comma
        if length > NAMES_LENGTH:
            groups.append([])
            length = len(one.path) + 2
        groups[-1].append(one)
    more = len(found) - MOST_NAMED
    return [
        {
            "folder": folder,
            "paths": [_shown(one.path) for one in group],
            "marks": [one.mark for one in group],
            "programs": sorted({one.program for one in group if one.program}),
            "more": more if more > 0 and group is groups[-1] else None,
        }
        for group in groups
    ]


def unreported(
    guard: InputGuard, reported: Callable[[], Collection[tuple[str, str]]]
) -> list[JsonObject]:
    """Return the fields of the events for the new files whose path and mark are not reported.

    `reported` returns (path, mark) of known files; it is called only if there are new files. Blocks
    as long as the search takes.
    """
    found = guard.news()
    known = reported() if found else ()
    new = [one for one in found if (one.path, one.mark) not in known]
    return events_data(str(guard.folder), new)


def git_commands_data(folder: str, commands: Sequence[str]) -> JsonObject:
    """Return the fields of the event about commands of git that may run files of the folder."""
    named = [_shown(one) for one in commands[:COMMANDS_NAMED]]
    return {"folder": folder, "commands": named, "more": len(commands) - len(named) or None}


def note(found: Sequence[FoundAutorun]) -> str:
    """Return the text for the model whose command may have created the files."""
    named = ", ".join(_shown(one.path) for one in found[:NAMED_TO_MODEL])
    left = len(found) - NAMED_TO_MODEL
    more = f" and {left} more" if left > 0 else ""
    return (
        f"[input] New in the input folder: {named}{more}. Programs of the "
        "person's machine run commands because of such files, so the person has been notified. "
        "Remove the files that the task does not need."
    )


def _shown(path: str) -> str:
    """Return a path as text that every reader of events can decode."""
    return path.encode("utf-8", "replace").decode()

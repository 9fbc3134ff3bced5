"""Input news: new autorun files in an input folder, reported to the model and to people.

A command may create such a file where there was none: the sandbox covers only existing files. So
the folder is searched after each command that may write it, and also after a killed command.
"""

import asyncio
from collections.abc import Callable, Sequence

from agiraph.core.ids import derived_id
from agiraph.core.turns import JsonObject
from agiraph.tools.sandbox.sandbox import Sandbox
from agiraph.tools.sandbox.survey import FoundAutorun
from agiraph.tools.scopes.scope import Scope

EVENT = "sandbox.autorun"
GIT_COMMANDS = "sandbox.git_commands"
MOST_NAMED = 20

Report = Callable[[str, JsonObject, str], None]


async def report_input_news(sandbox: Sandbox, scope: Scope, report: Report) -> str:
    """Report autorun files that appeared since the run began, once; return the model's note.

    The note is '' if there is nothing new. Waits until the search is done.
    """
    found = await asyncio.to_thread(_news, sandbox, scope)
    if not found:
        return ""
    key = derived_id("".join(f"{one.path}\0{one.inode}\0" for one in found))
    report(EVENT, event_data(str(scope.input_dir), found), key)
    return note(found)


def _news(sandbox: Sandbox, scope: Scope) -> tuple[FoundAutorun, ...]:
    guard = sandbox.input_guard(scope)
    return () if guard is None else guard.news()


def event_data(folder: str, found: Sequence[FoundAutorun]) -> JsonObject:
    """Return the fields of the event."""
    named = [one.path.encode("utf-8", "replace").decode() for one in found[:MOST_NAMED]]
    programs = sorted({one.program for one in found if one.program})
    more = len(found) - len(named)
    return {"folder": folder, "paths": named, "programs": programs, "more": more or None}


def git_commands_data(folder: str, commands: Sequence[str]) -> JsonObject:
    """Return the fields of the event about commands of git that may run files of the folder."""
    named = [one.encode("utf-8", "replace").decode() for one in commands[:MOST_NAMED]]
    return {"folder": folder, "commands": named, "more": len(commands) - len(named) or None}


def note(found: Sequence[FoundAutorun]) -> str:
    """Return the text for the model whose command may have created the files."""
    data = event_data("", found)
    more = f" and {data['more']} more" if data["more"] else ""
    return (
        f"[input] New in the input folder: {', '.join(data['paths'])}{more}. Programs of the "
        "person's machine run commands because of such files, so the person has been notified. "
        "Remove what the task does not need."
    )

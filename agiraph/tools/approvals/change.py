"""Change: the effect of a call that needs approval on a file, as a diff; pure."""

import difflib
import json
from collections.abc import Mapping
from typing import Any, Final

MOST_CHARACTERS: Final = 20_000
MOST_COMPARED: Final = 400_000
PATHS: Final = ("path", "file_path", "filePath")
CONTENTS: Final = ("content", "contents", "text")
REPLACED: Final = (("old_string", "new_string"), ("old_text", "new_text"), ("oldText", "newText"))


def path_in(arguments: Mapping[str, Any]) -> str | None:
    """Return the path that a call names, None if there is none."""
    return _text(arguments, *PATHS)


def diff_of(arguments: Mapping[str, Any], before: str) -> str:
    """Return the effect of a call on its file as a unified diff; '' if the call changes no file.

    `before` is the current content of the file, '' if it is missing. A long diff is cut, with a
    note.
    """
    path = path_in(arguments)
    if path is None:
        return ""
    for old, new in REPLACED:
        if isinstance(arguments.get(old), str) and isinstance(arguments.get(new), str):
            return _diff(path, arguments[old], arguments[new])
    content = _text(arguments, *CONTENTS)
    return "" if content is None else _diff(path, before, content)


def whole_call(arguments: Mapping[str, Any], subject: str, diff: str) -> str:
    """Return all arguments of a call as indented JSON; '' if `subject` or `diff` contains them."""
    if diff or (len(arguments) == 1 and subject in arguments.values()):
        return ""
    return json.dumps(arguments, ensure_ascii=False, indent=2, default=str)


def _text(arguments: Mapping[str, Any], *names: str) -> str | None:
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), None)


def _diff(path: str, old: str, new: str) -> str:
    if len(old) + len(new) > MOST_COMPARED:
        return f"(too long to compare: {len(old)} characters become {len(new)})"
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm=""
    )
    text = "\n".join(lines)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n(cut: {len(text) - MOST_CHARACTERS} more characters)"

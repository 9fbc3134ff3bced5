"""Searching: find files by name and lines by a regular expression, within the entity's scope.

The files are listed in this process, by the scope's rules and without following links. A process of
its own (`search_lines`) then reads them: a regular expression of a model may take exponential time,
and only a process can be stopped. Both parts open files by `agiraph.storage.files`. A `ripgrep` on
this machine is not used: it opens a file by its path again and would follow a link that a command
has put there since.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec
from pydantic import Field

from agiraph.core.errors import InvalidInput
from agiraph.core.json_text import parse_json
from agiraph.knowledge.scan.ignores import (
    IGNORE_FILE,
    LONGEST_PATTERN,
    MOST_STARS,
    IgnoreFile,
    ignore_file,
    is_ignored,
)
from agiraph.storage.file_names import spelled
from agiraph.storage.files import entries, is_file, read_shown, status_of
from agiraph.storage.walk import kind_of
from agiraph.tools.approvals.equivalents import split_glob
from agiraph.tools.base import ToolParams, tool
from agiraph.tools.ports import ToolContext
from agiraph.tools.scopes.scope import INPUT, Scope

LISTED_FILES: Final = 500
MATCHED_LINES: Final = 200
SEARCHED_FILES: Final = 50_000
SEARCHED_ENTRIES: Final = 200_000
FOLDER_ENTRIES: Final = 20_000
LEVELS: Final = 40
SEARCH_SECONDS: Final = 20.0
BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
MOST_ALTERNATIVES: Final = 64
HERE: Final = "."


class SearchParams(ToolParams):
    pattern: str = Field(
        min_length=1, max_length=1000, description="a regular expression, as in Python"
    )
    path: str = Field(
        default="", description="a file or folder; default: your folder and the input folder"
    )
    glob: str = Field(default="", description="only files of this form: *.py, src/**/*.{ts,tsx}")


class FindFilesParams(ToolParams):
    glob: str = Field(min_length=1, description="for example *.py, input/src/**/*.{ts,tsx}")


@tool("Search the lines of files by a regular expression.", idempotent=True)
async def search(context: ToolContext, params: SearchParams) -> str:
    """Return the matching lines as `path:line: text`, at most MATCHED_LINES of them."""
    _require_valid(params.pattern)
    found = SearchedFiles(context.scope, SEARCHED_FILES)
    for folder in _folders(context.scope, params.path):
        await asyncio.to_thread(found.add, folder, params.glob)
    lines, has_more, is_late = await matching_lines(params.pattern, found.places, found.shown)
    where = f"{len(found.shown)} files"
    notes = [f"[{len(lines)} matching lines in {where}]" if lines else f"No matches in {where}."]
    if has_more:
        notes = [f"[the first {len(lines)} matching lines; narrow path, glob or pattern]"]
    if is_late:
        notes.append(f"[stopped after {SEARCH_SECONDS:g} seconds; narrow path, glob or pattern]")
    if found.is_cut:
        notes.append(f"[only {len(found.shown)} files were searched; narrow path or glob]")
    return "\n".join((*lines, *notes))


@tool("Find files by a pattern of their names.", idempotent=True)
async def find_files(context: ToolContext, params: FindFilesParams) -> str:
    """Return the paths of the files that match, at most LISTED_FILES of them."""
    folder, glob = split_glob(params.glob)
    found = SearchedFiles(context.scope, LISTED_FILES)
    for one in _folders(context.scope, folder):
        await asyncio.to_thread(found.add, one, glob)
    if not found.shown:
        return f"No file matches '{params.glob}'."
    note = f"[the first {LISTED_FILES} files; give a narrower pattern]" if found.is_cut else ""
    return "\n".join(filter(None, (*found.shown, note)))


def _folders(scope: Scope, path: str) -> tuple[str, ...]:
    """Return the paths to search for a path: all folders for the start folder, each ref for refs/.

    A search follows no links, so it would find nothing behind these names.
    """
    refs = tuple(path for path in scope.refs.values() if status_of(scope.to_read(path)) is not None)
    match path.strip().rstrip("/").removeprefix("./"):
        case "" | ".":
            return (HERE, *([INPUT] if scope.input_dir else []), *refs)
        case "refs" if scope.refs:
            return refs
        case _:
            return (path,)


def _require_valid(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidInput(f"the pattern is not a regular expression ({error})") from None


def glob_spec(glob: str) -> GitIgnoreSpec:
    """Return the parsed pattern; without a slash it is about names. Raises InvalidInput."""
    try:
        return GitIgnoreSpec.from_lines([_checked(one) for one in _alternatives(glob.strip())])
    except ValueError as error:
        raise InvalidInput(f"'{glob}' is not a pattern of file names ({error})") from None


def _checked(glob: str) -> str:
    if len(glob) > LONGEST_PATTERN or glob.count("*") > MOST_STARS:
        raise ValueError(f"at most {LONGEST_PATTERN} characters and {MOST_STARS} stars")
    return f"\\{glob}" if glob[:1] in ("!", "#") else glob


def _alternatives(glob: str) -> list[str]:
    """Return the patterns that a pattern with braces (`*.{ts,tsx}`) stands for."""
    waiting, found = [glob], list[str]()
    while waiting:
        one = waiting.pop()
        braces = BRACES.search(one)
        if braces is None:
            found.append(one)
        else:
            head, tail = one[: braces.start()], one[braces.end() :]
            waiting += [f"{head}{part}{tail}" for part in braces[1].split(",")]
        if len(waiting) + len(found) > MOST_ALTERNATIVES:
            raise ValueError(f"more than {MOST_ALTERNATIVES} alternatives")
    return found


@dataclass(slots=True)
class SearchedFiles:
    """Files that an entity may read, at most `most`: their places and their spellings."""

    scope: Scope
    most: int
    places: list[Path] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    is_cut: bool = False
    looked_at: int = 0

    def add(self, path: str, glob: str) -> None:
        """Add a file, or the files below a folder that match `glob` ('': all).

        Links, files that .gitignore excludes, dependencies and files that may contain keys are
        left out. Raises OutOfScope, InvalidInput, OSError.
        """
        spec = glob_spec(glob) if glob.strip() else None
        place = self.scope.to_list(path)
        status = status_of(place)
        if status is None:
            raise InvalidInput(f"'{path}' does not exist")
        if kind_of(status) != "folder":
            self._take(self.scope.to_read(path))
            return
        top, ignores = self._outer_ignores(place)
        for file in self._below(place, top, ignores):
            if spec is None or spec.match_file(file.relative_to(place).as_posix()):
                self._take(file)
            if self.is_cut:
                return

    def _take(self, place: Path) -> None:
        if len(self.places) >= self.most:
            self.is_cut = True
        elif place not in self.places[-1:]:
            self.places.append(place)
            self.shown.append(spelled(self.scope.shown(place)))

    def _outer_ignores(self, folder: Path) -> tuple[Path, tuple[IgnoreFile, ...]]:
        """Return the highest listable folder above `folder`, and the ignore files, nearest first.

        The ignore file of `folder` itself is not among them.
        """
        above: list[Path] = []
        here = folder
        while here.parent != here and self.scope.may_list(here.parent):
            here = here.parent
            above.append(here)
        rules = (self._ignores_of(one, here) for one in above)
        return here, tuple(one for one in rules if one is not None)

    def _ignores_of(self, folder: Path, top: Path) -> IgnoreFile | None:
        file = folder / IGNORE_FILE
        if not (self.scope.may_read(file) and is_file(file)):
            return None
        inside = folder.relative_to(top).as_posix()
        return ignore_file("" if inside == HERE else inside, read_shown(file))

    def _below(self, folder: Path, top: Path, ignores: tuple[IgnoreFile, ...]) -> Iterator[Path]:
        """Yield the readable files below a folder in the order of their paths."""
        waiting: list[tuple[Path, int, tuple[IgnoreFile, ...]]] = [(folder, 0, ignores)]
        while waiting:
            here, depth, rules = waiting.pop()
            if (own := self._ignores_of(here, top)) is not None:
                rules = (own, *rules)
            try:
                found = entries(here, FOLDER_ENTRIES)
            except OSError:
                continue  # it was removed or closed to us since it was listed
            self.looked_at += len(found)
            if self.looked_at > SEARCHED_ENTRIES or depth > LEVELS:
                self.is_cut = True
                return
            folders: list[tuple[Path, int, tuple[IgnoreFile, ...]]] = []
            for entry in found:
                place = here / entry.name
                if entry.kind not in ("file", "folder"):
                    continue
                is_inner = entry.kind == "folder"
                shown = place.relative_to(top).as_posix()
                if is_ignored(shown, entry.name, rules, is_folder=is_inner):
                    continue
                if is_inner and (self.scope.may_list(place) or self.scope.may_read(place)):
                    folders.append((place, depth + 1, rules))
                elif not is_inner and self.scope.may_read(place):
                    yield place
            waiting += reversed(folders)


async def matching_lines(
    pattern: str, places: list[Path], shown: list[str]
) -> tuple[list[str], bool, bool]:
    """Return the matching lines, whether there are more, and whether the time was over."""
    if not places:
        return [], False, False
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "agiraph.tools.search_lines"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    lines: list[str] = []
    is_late = has_ended = False
    try:
        async with asyncio.timeout(SEARCH_SECONDS):
            request = {"pattern": pattern, "paths": [str(one) for one in places]}
            process.stdin.write(json.dumps(request).encode())
            process.stdin.close()
            while len(lines) <= MATCHED_LINES and not has_ended:
                line = await process.stdout.readline()
                has_ended = not line
                if line:
                    index, number, text = parse_json(line)
                    lines.append(f"{shown[index]}:{number}: {text}")
    except TimeoutError:
        is_late = True
    finally:
        if not has_ended and process.returncode is None:
            process.kill()
        await process.wait()
    return lines[:MATCHED_LINES], len(lines) > MATCHED_LINES, is_late

"""Input guard: parts of a writable input folder that stay read-only, or absent.

Programs of the person's machine run commands because of some files in a folder (`autorun.py`,
`repositories.py`). Before the first command of a run the folder is surveyed, and the result is kept
as long as the run: every command of the run has the same paths covered, and a folder that contains
such a path is a mount of its own, so no command can rename it and put another in its place. A file
that appears later is reported (`news`), not covered.

If that is not possible, all commands of the run see the folder read-only: `why_read_only`.
"""

import fcntl
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from agiraph.core.json_text import parse_json
from agiraph.core.record import Record
from agiraph.storage.files import opened, read_bytes, read_descriptor, write_all
from agiraph.storage.home import input_at_start, user_home
from agiraph.tools.sandbox.autorun import GIT
from agiraph.tools.sandbox.git_commands import Setting, commands_to_look_at
from agiraph.tools.sandbox.repositories import (
    NotGuarded,
    Repository,
    enclosing,
    files_of,
    home_of,
    paths_in_settings,
    paths_of,
    read_settings,
    repository_at,
)
from agiraph.tools.sandbox.survey import ROOT, FoundAutorun, InputSurvey, changed_at, survey

MOST_REPOSITORIES = 500
MOST_GUARDED = 500
"""The most paths that are protected because of git: more would take seconds of each command."""

MOST_OTHERS = 100
"""The most paths that are protected because of other programs."""

MOST_LINKS = 1_000
"""The most links in one folder of a program whose targets are protected."""

DOT_GIT = ".git"

GuardKind = Literal["pin", "read", "stand_in"]


class GuardedPath(Record):
    """A path within the input folder. `is_kept_absent`: a missing path must stay missing."""

    path: str
    is_kept_absent: bool = False


class InputBaseline(Record):
    """An input folder before the first command of a run.

    `known` maps the path of each autorun file to its inode. `watched` maps the autorun files beyond
    the limit of protected files to the time of their last change (ns). `git_commands` describes
    the settings of the person's git by which git may run a file of the folder.
    """

    folder: str
    known: dict[str, int] = Field(default_factory=dict)
    guarded: tuple[GuardedPath, ...] = ()
    watched: dict[str, int] = Field(default_factory=dict)
    git_commands: tuple[str, ...] = ()
    why_read_only: str = ""


@dataclass(frozen=True, slots=True)
class GuardMount:
    """A mount that protects a path, in one of three ways.

    `pin`: a folder cannot be renamed; `read`: a file or folder is read-only; `stand_in`: no file
    can be created in an empty folder.
    """

    path: Path
    kind: GuardKind


# --- the baseline --------------------------------------------------------------------------------


def look_at(folder: Path) -> InputBaseline:
    """Return the survey of a folder that commands will write; `os.environ` is the person's.

    Blocks during the walk, and some milliseconds for each repository.
    """
    try:
        found = survey(folder)
        _refuse_unguardable(folder, found)
        others = [one.path for one in found.found if one.program != GIT and not one.is_link]
        others.sort(key=lambda path: path.count("/"))
        settings = _settings(folder, list(_repositories(folder, found.found)))
        guarded = _guarded(folder, found, others[:MOST_OTHERS], settings)
    except OSError as error:
        return InputBaseline(folder=str(folder), why_read_only=str(error))
    except NotGuarded as error:
        return InputBaseline(folder=str(folder), why_read_only=str(error))
    known = {one.path: one.inode for one in found.found}
    watched = {path: changed_at(folder / path) for path in others[MOST_OTHERS:]}
    home = home_of(os.environ)
    commands = (line for _, lines in settings for line in commands_to_look_at(lines, folder, home))
    return InputBaseline(
        folder=str(folder),
        known=known,
        guarded=guarded,
        watched=watched,
        git_commands=tuple(dict.fromkeys(commands)),
    )


def _settings(
    folder: Path, repositories: Sequence[Repository]
) -> list[tuple[Repository | None, list[Setting]]]:
    """Return the repositories with the settings of git in each.

    None is a folder without a repository: the person may use git there, for instance `git init`.
    """
    places: list[Repository | None] = [*repositories]
    if not os.path.lexists(folder / DOT_GIT) and enclosing(folder) is None:
        places.append(None)
    return [(one, read_settings(one, folder, os.environ)) for one in places]


def _guarded(
    folder: Path,
    found: InputSurvey,
    others: Sequence[str],
    settings: Sequence[tuple[Repository | None, list[Setting]]],
) -> tuple[GuardedPath, ...]:
    """Return the paths to protect, sorted, outer ones first. Raises NotGuarded."""
    git = (one.path for one in found.found if one.program == GIT and one.path != ROOT)
    paths = dict.fromkeys((*git, *others), False) | {DOT_GIT: True}
    for repository, lines in settings:
        for one in (
            paths_in_settings(lines, folder, folder, os.environ)
            if repository is None
            else paths_of(repository, lines, folder, os.environ)
        ):
            path = one.path.relative_to(folder).as_posix()
            paths[path] = paths.get(path, False) or one.is_missing
    for autorun in found.found:
        if autorun.program != GIT:
            paths = dict(linked_files(folder / autorun.path, folder)) | paths
    paths |= dict.fromkeys(own_programs(folder, os.environ.get("PATH", "")), False)
    repositories = [one for one, _ in settings if one is not None]
    paths |= dict.fromkeys(_other_names(folder, paths, repositories), False)
    if len(paths) - len(others) > MOST_GUARDED:
        raise NotGuarded(f"more than {MOST_GUARDED} paths in it would have to be protected")
    ordered = sorted(paths.items(), key=lambda one: one[0].split("/"))
    return tuple(GuardedPath(path=path, is_kept_absent=absent) for path, absent in ordered)


def _refuse_unguardable(folder: Path, found: InputSurvey) -> None:
    if found.gap:
        raise NotGuarded(found.gap)
    if user_home().resolve().is_relative_to(folder):
        raise NotGuarded("it contains your home folder, from which many programs take settings")
    if not os.access(folder, os.W_OK):
        raise NotGuarded("you may not write it yourself")
    if ignores_case(folder):
        raise NotGuarded("its file system does not distinguish upper and lower case")
    for one in found.found:
        if one.program == GIT and one.is_link:
            raise NotGuarded(f"{one.path} is a symbolic link, which a command could replace")
        if one.path == ROOT and not os.path.lexists(folder / DOT_GIT):
            raise NotGuarded("it is itself a git repository, without a worktree")


def linked_files(place: Path, folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the paths within the input folder to which a file or folder and its links lead.

    Each comes with whether the path is missing. Raises NotGuarded if a path is the folder itself.
    """
    links = [place] if place.is_symlink() else list(islice(_links_below(place), MOST_LINKS))
    for link in links:
        target = Path(os.path.realpath(link))
        if target == folder:
            raise NotGuarded(f"{link.relative_to(folder)} is a link to the folder itself")
        if target.is_relative_to(folder) and not target.is_relative_to(place):
            yield target.relative_to(folder).as_posix(), not target.exists()


def _links_below(place: Path) -> Iterator[Path]:
    for above, folders, files in os.walk(place):  # plain: the person's input folder
        for name in (*folders, *files):
            if os.path.islink(os.path.join(above, name)):
                yield Path(above, name)


def own_programs(folder: Path, path: str) -> Iterator[str]:
    """Yield the paths in the folder of programs that Agiraph itself or the person's shell runs.

    These are the virtual environment and the packages of Agiraph, and the folders on `path`. Raises
    NotGuarded if the folder itself is one of them, or if an entry of `path` is relative: then each
    program may be run from the folder that a person is in.
    """
    if any(not os.path.isabs(entry) for entry in path.split(os.pathsep)) and path:
        raise NotGuarded("programs may be run from it: your PATH has a relative or empty entry")
    packages = (
        Path(__file__).parents[3] / name for name in ("agiraph", "actors", "transport", "cli")
    )
    on_path = (Path(entry) for entry in path.split(os.pathsep) if entry)
    for place in (Path(sys.prefix), *packages, *on_path):
        real = place.resolve()
        if real == folder:
            raise NotGuarded("programs are run from it: it is on your PATH, or Agiraph is in it")
        if real.is_relative_to(folder) and real.exists():
            yield real.relative_to(folder).as_posix()


def ignores_case(folder: Path) -> bool:
    """Whether a folder's file system finds a file under its name in another case, too."""
    with os.scandir(folder) as listed:  # plain: the person's input folder
        names = {entry.name for entry in listed}
    for name in names:
        other = name.swapcase()
        if other != name and other not in names:
            return os.path.lexists(folder / other)
    other = folder.name.swapcase()
    return other != folder.name and _is_same(folder, folder.parent / other)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _repositories(folder: Path, found: Sequence[FoundAutorun]) -> Iterator[Repository]:
    """Yield the repositories in a folder, and the repository that contains it."""
    places = [folder / one.path for one in found if one.program == GIT and one.path != ROOT]
    if len(places) > MOST_REPOSITORIES:
        raise NotGuarded(f"it has more than {MOST_REPOSITORIES} git repositories")
    outer = None if os.path.lexists(folder / DOT_GIT) else enclosing(folder)
    for place in (*places, *([outer] if outer else [])):
        repository = repository_at(place)
        if repository is not None:
            yield repository


def _other_names(
    folder: Path, paths: dict[str, bool], repositories: Sequence[Repository]
) -> tuple[str, ...]:
    """Return further names (hard links) in the folder of the files that are protected."""
    inodes = set()
    for file in (*(folder / path for path in paths), *_files(repositories)):
        try:
            status = file.lstat()
        except OSError:
            continue
        if status.st_nlink > 1 and not file.is_dir():
            inodes.add(status.st_ino)
    return survey(folder, frozenset(inodes)).same if inodes else ()


def _files(repositories: Sequence[Repository]) -> Iterator[Path]:
    for repository in repositories:
        yield from files_of(repository)


# --- the guard of a run --------------------------------------------------------------------------


@dataclass(slots=True)
class InputGuard:
    """The protection of one run's input folder; one object per process, made by `guard_of`."""

    baseline: InputBaseline
    _reported: set[str] = field(default_factory=set)

    @property
    def folder(self) -> Path:
        """The input folder."""
        return Path(self.baseline.folder)

    @property
    def why_read_only(self) -> str:
        """Why commands may not write the folder at all, '' if they may."""
        return self.baseline.why_read_only

    def mounts(self) -> tuple[GuardMount, ...]:
        """Return the mounts that protect the folder from a command that starts now.

        Empty if the folder cannot be protected, or if a person has since put a link in place of a
        protected path.
        """
        found: dict[Path, GuardKind] = {}
        for guarded in self.baseline.guarded:
            path = self.folder / guarded.path
            if any(found.get(above) in ("read", "stand_in") for above in path.parents):
                continue
            parts = [self.folder / above for above in path.relative_to(self.folder).parents]
            pins = [above for above in reversed(parts) if above != self.folder and above.is_dir()]
            if path.is_symlink() or any(pin.is_symlink() for pin in pins):
                return ()
            kind = _kind(path, guarded)
            if kind is None:
                continue
            for pin in pins:
                found.setdefault(pin, "pin")
            place = path if kind == "read" else _first_missing(self.folder, path)
            found[place] = kind
        return tuple(GuardMount(path, kind) for path, kind in sorted(found.items()))

    def news(self) -> tuple[FoundAutorun, ...]:
        """Return the autorun files that appeared since the run began, each once per process.

        Includes unprotected files that were changed. Blocks during the walk.
        """
        if self.why_read_only:
            return ()
        try:
            seen = survey(self.folder)
        except OSError:
            return ()
        found = [one for one in seen.found if self._is_new(one)]
        if seen.gap:
            found.append(FoundAutorun(f"(not all of it was searched: {seen.gap})", "", 0))
        new = [one for one in found if f"{one.path}\0{one.mark}" not in self._reported]
        self._reported |= {f"{one.path}\0{one.mark}" for one in new}
        return tuple(new)

    def _is_new(self, found: FoundAutorun) -> bool:
        if self.baseline.known.get(found.path) != found.inode:
            return True
        before = self.baseline.watched.get(found.path)
        return before is not None and before != changed_at(self.folder / found.path)


def _kind(path: Path, guarded: GuardedPath) -> GuardKind | None:
    """Return how to protect a path, None if the path needs no protection now."""
    if path.exists() and not (guarded.is_kept_absent and is_empty_folder(path)):
        return "read"
    return "stand_in" if guarded.is_kept_absent else None


def is_empty_folder(path: Path) -> bool:
    """Whether a path is an empty folder."""
    try:
        return path.is_dir() and not os.listdir(path)  # plain: the person's input folder
    except OSError:
        return False


def _first_missing(folder: Path, path: Path) -> Path:
    """Return the outermost part of a path that is missing or an empty folder."""
    for above in reversed(path.relative_to(folder).parents):
        place = folder / above
        if place != folder and not place.exists():
            return place
    return path


def guard_of(run: Path, folder: Path) -> InputGuard:
    """Return the guard of a run's input folder; the first call in a run surveys it, and blocks."""
    return _guard_of(input_at_start(run), folder)


@lru_cache(maxsize=64)
def _guard_of(file: Path, folder: Path) -> InputGuard:
    # The lock lets one process of the run survey: a command of it may write from then on.
    with opened(file, os.O_RDWR | os.O_CREAT) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)
        known = _parsed(read_descriptor(fd))
        if known is None or known.folder != str(folder):
            known = look_at(folder)
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            write_all(fd, known.model_dump_json().encode() + b"\n")
            os.fsync(fd)
    return InputGuard(known)


def known_guard_of(run: Path) -> InputGuard | None:
    """Return the guard of a run's input folder if a command of the run may have written it.

    For a process that is not of the run. Reads the record of the run's first command, whose file
    no command can reach.
    """
    try:
        known = _parsed(read_bytes(input_at_start(run)))
    except OSError:
        return None
    return None if known is None else InputGuard(known)


def _parsed(data: bytes) -> InputBaseline | None:
    try:
        return InputBaseline.model_validate(parse_json(data))
    except (ValueError, ValidationError):
        return None

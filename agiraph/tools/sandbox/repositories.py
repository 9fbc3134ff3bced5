"""Repositories: every path in a person's folder from which their git takes settings or programs.

Besides `.git`, a configuration names hooks, included files and programs in the worktree
(`core.hooksPath=.husky`, `filter.x.clean=./tools/clean`), `.git/hooks/pre-commit` may be a link to
a script of the project, and git reads the submodules of its index. The configuration and the index
are read with git itself: neither runs a program.
"""

import contextlib
import os
import re
import shlex
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agiraph.settings.variables import GIT_CONFIGURATION_VARIABLES
from agiraph.tools.sandbox.git_commands import (
    INTERPRETERS,
    Setting,
    may_run_files,
    runs_program,
    settings_of_variables,
)

GITLINK: Final = "160000 "
GITFILE: Final = "gitdir:"
GITFILE_BYTES: Final = 4096
GIT_SECONDS: Final = 10.0
MOST_LINKS: Final = 1000

NAMES_NO_PROGRAM: Final = re.compile(
    r"(safe|maintenance|scalar|gui|user|author|committer|branch|url|color|extensions)\..*"
    r"|core\.(worktree|excludesfile|attributesfile|bare|repositoryformatversion|filemode|abbrev)"
    r"|remote\..*\.(url|pushurl|fetch|push|promisor|partialclonefilter)"
    r"|submodule\..*\.(url|path|branch|active|ignore)|commit\.template"
)
"""Settings that may name a path in the folder but do not make git run a program."""

SCRIPT: Final = re.compile(r"(?!s/)[\w.@+-]+(/[\w.@+-]+)*")
"""A relative path, as a word of a command; not the expression of `sed s/a/b/g`."""

INCLUDES: Final = re.compile(r"include\.path|includeif\..*\.path")
HOOKS_PATH: Final = "core.hookspath"


class NotGuarded(Exception):
    """Git cannot be kept from running programs of a folder; the text says why."""


@dataclass(frozen=True, slots=True)
class RepositoryPath:
    """A path from which git takes settings or programs.

    `is_missing`: the path must stay missing.
    """

    path: Path
    is_missing: bool = False
    setting: str = ""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of git. `top` is the folder of its worktree, None for a bare repository."""

    git: Path
    common: Path
    top: Path | None


def repository_at(path: Path) -> Repository | None:
    """Return the repository of a `.git` (folder or file) or of a bare folder, None if none."""
    git = _git_folder(path)
    if git is None:
        return None
    common = _line(git / "commondir")
    is_bare = path.name.lower() != ".git" and path == git
    return Repository(
        git=git,
        common=Path(os.path.realpath(git / common)) if common else git,
        top=None if is_bare else path.parent,
    )


def _git_folder(path: Path) -> Path | None:
    if path.is_dir():
        return Path(os.path.realpath(path))
    named = _line(path)
    if not named.startswith(GITFILE):
        return None
    found = Path(os.path.realpath(path.parent / named.removeprefix(GITFILE).strip()))
    return found if found.is_dir() else None


def _line(path: Path) -> str:
    """Return the first line of one of git's small files, '' if it is missing."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return ""
        with open(path, "rb") as file:  # plain: the person's repository
            return os.fsdecode(file.read(GITFILE_BYTES)).split("\n", 1)[0]
    except OSError:
        return ""


def enclosing(folder: Path) -> Path | None:
    """Return the `.git` of the nearest parent folder that has one, else None."""
    found = (above / ".git" for above in folder.parents)
    return next((git for git in found if os.path.lexists(git)), None)


def paths_of(
    repository: Repository,
    settings: Sequence[Setting],
    folder: Path,
    environ: Mapping[str, str],
) -> Iterator[RepositoryPath]:
    """Yield the paths in `folder` from which git takes settings or programs in a repository.

    `settings` are the settings that apply in the repository, `environ` the person's variables.
    Raises NotGuarded.
    """
    for place in dict.fromkeys((repository.git, repository.common)):
        yield from _inside(RepositoryPath(place), folder)
        for target in _linked_from(place):
            yield from _inside(RepositoryPath(target, not target.exists()), folder)
    yield from paths_in_settings(settings, repository.top or repository.git, folder, environ)
    if repository.top is not None:
        for name in submodules(repository, environ):
            git = repository.top / name / ".git"
            yield from _inside(RepositoryPath(git, not os.path.lexists(git)), folder)


def paths_in_settings(
    settings: Sequence[Setting], top: Path, folder: Path, environ: Mapping[str, str]
) -> Iterator[RepositoryPath]:
    """Yield the configuration files in `folder`, and the paths there that they name.

    `top` is where git runs its commands. Raises NotGuarded.
    """
    for origin in dict.fromkeys(setting.origin for setting in settings if setting.origin):
        yield from _inside(RepositoryPath(Path(os.path.realpath(top / origin))), folder)
    for one in named_paths(settings, top, home_of(environ)):
        _refuse_unguardable(one, folder)
        yield from _inside(one, folder)


def home_of(environ: Mapping[str, str]) -> Path:
    """Return the person's home folder."""
    return Path(environ.get("HOME") or "/nonexistent")


def _inside(found: RepositoryPath, folder: Path) -> Iterator[RepositoryPath]:
    if found.path != folder and found.path.is_relative_to(folder):
        yield found


def _refuse_unguardable(found: RepositoryPath, folder: Path) -> None:
    named = f"git's setting {found.setting} names {found.path}"
    if found.setting == HOOKS_PATH and found.path == folder:
        raise NotGuarded(f"{named}, the folder itself: git runs every file in it")
    is_inside = found.path.is_relative_to(folder)
    if INCLUDES.fullmatch(found.setting) and found.is_missing and is_inside:
        raise NotGuarded(f"{named}, which does not exist (create it, or remove the setting)")


def _linked_from(git: Path) -> Iterator[Path]:
    """Yield the targets of links among the files that git reads in its folder."""
    for place in (git, git / "hooks", git / "info"):
        if place.is_symlink():
            yield Path(os.path.realpath(place))
        try:
            with os.scandir(place) as entries:  # plain: the person's repository
                links = [entry.path for entry in entries if entry.is_symlink()]
        except OSError:
            continue
        if len(links) > MOST_LINKS:
            raise NotGuarded(f"{place} has more than {MOST_LINKS} links")
        yield from (Path(os.path.realpath(link)) for link in links)


def files_of(repository: Repository) -> Iterator[Path]:
    """Yield the files of a repository by which git can run programs."""
    for place in dict.fromkeys((repository.git, repository.common)):
        names = ("config", "config.worktree", "commondir", "gitdir", "HEAD")
        yield from (place / name for name in names)
        for inner in (place / "hooks", place / "info"):
            try:
                yield from (inner / name for name in os.listdir(inner))  # plain: the repository
            except OSError:
                continue


# --- the configuration ---------------------------------------------------------------------------


def read_settings(
    repository: Repository | None, folder: Path, environ: Mapping[str, str]
) -> list[Setting]:
    """Return the whole configuration that applies in a repository, including the person's own.

    Without a repository: the person's own configuration, as it applies in `folder`.
    """
    words = ("config", "--list", "--includes", "--show-origin", "-z")
    fields = _git(repository, words, environ, folder).split("\0")
    found = []
    for origin, line in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = line.partition("\n")
        file = origin.removeprefix("file:") if origin.startswith("file:") else ""
        found.append(Setting(key, value, file))
    return [*found, *settings_of_variables(environ)]


def submodules(repository: Repository, environ: Mapping[str, str]) -> list[str]:
    """Return the paths at which the index of a repository has a submodule."""
    rows = _git(repository, ("ls-files", "--stage", "-z"), environ, repository.git).split("\0")
    return [row.partition("\t")[2] for row in rows if row.startswith(GITLINK)]


def _git(
    repository: Repository | None,
    words: tuple[str, ...],
    environ: Mapping[str, str],
    folder: Path,
) -> str:
    """Return the output of git, '' if git cannot read the repository (and so runs no program)."""
    if repository is None:
        at = ["-C", str(folder)]
    else:
        at = ["-C", str(repository.top or repository.git), f"--git-dir={repository.git}"]
        at += [f"--work-tree={repository.top}"] if repository.top is not None else []
    passed = ("PATH", "HOME", *GIT_CONFIGURATION_VARIABLES)
    env = {name: environ[name] for name in passed if name in environ}
    try:
        ended = subprocess.run(
            ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", *at, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
            env={"PATH": os.defpath} | env | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise NotGuarded(f"git took more than {GIT_SECONDS:g} s in {folder}") from None
    except OSError:  # git is not installed
        return ""
    return os.fsdecode(ended.stdout) if ended.returncode == 0 else ""


def named_paths(settings: Sequence[Setting], top: Path, home: Path) -> Iterator[RepositoryPath]:
    """Yield the paths that a configuration names: included files, hooks, words of its programs.

    `top` is where git runs the programs. A word is a path if it exists, if it is written as a path
    (`./tool`), or by its position in the command (`tools/x`, `python3 x.py`).
    """
    for setting in settings:
        if INCLUDES.fullmatch(setting.key):
            base = (top / setting.origin).parent if setting.origin else top
            yield _named(setting, _place(setting.value, base, home))
        elif setting.key == HOOKS_PATH:
            yield _named(setting, _place(setting.value, top, home))
        elif not (NAMES_NO_PROGRAM.fullmatch(setting.key) or _is_plain_alias(setting, home)):
            scripts = _scripts(setting)
            for word in _words(setting.value):
                path = _place(word, top, home)
                is_path = word.startswith(("./", "../", "/", "~/")) or word in scripts
                if is_path or (path.exists() if "/" in word else path.is_file()):
                    yield _named(setting, path)


def _named(setting: Setting, path: Path) -> RepositoryPath:
    return RepositoryPath(path, not os.path.lexists(path), setting.key)


def _is_plain_alias(setting: Setting, home: Path) -> bool:
    """Whether a setting is an alias of a git command that runs no program."""
    is_git = setting.key.startswith("alias.") and not setting.value.startswith("!")
    return is_git and not may_run_files(setting, Path("/"), home)


def _place(value: str, base: Path, home: Path) -> Path:
    if value.startswith("~/"):
        return Path(os.path.realpath(home / value[2:]))
    return Path(os.path.realpath(base / value))


def _scripts(setting: Setting) -> set[str]:
    """Return the words of a command that are paths of programs, whether or not they exist."""
    if not runs_program(setting):
        return set()
    words = re.split(r"[\s'\"=;|&()]+", setting.value.removeprefix("!"))
    found, is_script = set(), False
    for word in words:
        if SCRIPT.fullmatch(word) and ("/" in word or is_script) and not word.startswith("-"):
            found.add(word)
        # The script of an interpreter is the first word after it that is no option.
        is_script = word in INTERPRETERS or (is_script and word.startswith("-"))
    return found


def _words(value: str) -> list[str]:
    """Return the words of a command that may be paths."""
    text = value.removeprefix("!")
    words = dict.fromkeys(re.split(r"[\s'\"=;|&()]+", text))
    with contextlib.suppress(ValueError):  # a quotation mark that is not closed
        words |= dict.fromkeys(shlex.split(text))  # a path may contain spaces
    return [word for word in words if word.strip("./") and "\0" not in word]

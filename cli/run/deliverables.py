"""Deliverables: the files of a run for its person, and writing them to the requested place.

They are the final answer, the published files of completed nodes, and files that the coordinator
wrote into the run's folder. All of them stay in the home, so nothing is lost if they cannot be
written.
"""

import base64
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import click

from agiraph.core.errors import InvalidInput
from agiraph.http.errors import ApiError
from agiraph.storage.file_names import spelled, unspelled
from agiraph.tools.sandbox.autorun import GIT, is_git_folder, program_of
from cli.options.shared import require_writable

if TYPE_CHECKING:
    from agiraph.http.api import FileContentView
    from agiraph.http.client import Client

ANSWER: Final = "_output.md"
MOST_NAMED: Final = 10
PIECE: Final = 8 * 1024 * 1024
NO_SUCH_RANGE: Final = 416


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination of a result: a file for the answer, or a folder for all deliverables."""

    path: Path
    is_folder: bool
    may_replace: bool


def wanted_destination(named: str | None, *, may_replace: bool) -> Destination | None:
    """Return the destination named by `--output`, a folder if it is one or ends with a slash.

    None for None. Raises InvalidInput if it cannot be written, or exists and may not be replaced.
    """
    if named is None:
        return None
    path = Path(named)
    exists, is_there = path.exists(), path.is_dir()  # plain: where the person wants it
    is_folder = is_there or named.endswith("/")
    if is_folder and exists and not is_there:
        raise InvalidInput(f"{path} is not a folder")
    if is_there and not may_replace and any(path.iterdir()):  # plain: where the person wants it
        raise InvalidInput(
            f"{path}/ is not empty (possible: another folder, or --force, which replaces files of "
            "the same name)"
        )
    if exists and not is_folder and not may_replace:
        raise _is_there(path)
    require_writable(path / ANSWER if is_there else path)
    return Destination(path, is_folder, may_replace)


Command = Callable[..., Any]


def output_options(command: Command) -> Command:
    """Return the command with -o/--output and --force: arguments `output` and `force`."""
    for option in (
        click.option("--force", is_flag=True, help="With --output: replace existing files."),
        click.option(
            "-o",
            "--output",
            metavar="FILE|DIR/",
            help="Write the answer into a file, or everything that was delivered into a folder.",
        ),
    ):
        command = option(command)
    return command


def deliverables(client: "Client", agent: str, run: str | None) -> dict[str, str]:
    """Return the files of a run besides its answer.

    The keys are names in a folder, as on disk; the values paths under the run, as the API spells
    them.
    """
    files = client.delivered(agent, run=run).files if run is not None else ()
    return {
        unspelled(file.name) if file.is_spelled else file.name: file.path
        for file in files
        if file.name != ANSWER
    }


@dataclass(frozen=True, slots=True)
class Delivered:
    """The written files, and the unwritten ones.

    `missing` could no longer be read (paths under the run); `left_out` would be a repository's
    `.git`.
    """

    written: list[Path]
    missing: list[str]
    left_out: list[PurePosixPath] = field(default_factory=list)
    autorun: list[PurePosixPath] = field(default_factory=list)
    """Files and folders because of which programs run commands."""

    @property
    def notes(self) -> list[str]:
        """Lines for people."""
        lost = [f"not written, for it cannot be read: {path}" for path in self.missing]
        if self.left_out:
            lost.append(f"not written, because git runs programs from it: {_named(self.left_out)}")
        if self.autorun:
            lost.append(f"look at these, because of which programs run: {_named(self.autorun)}")
        if len(self.written) < 2:
            return [*(f"result: {spelled(path)}" for path in self.written), *lost]
        folder = os.path.commonpath(self.written)
        return [f"result: {len(self.written)} files in {folder}/", *lost]


def deliver(
    client: "Client", agent: str, run: str | None, answer: str | None, to: Destination
) -> Delivered:
    """Write the answer, into a folder also all other deliverables; return what was written.

    No file or folder called `.git` is written. Raises InvalidInput, which names the place of the
    result, if a file cannot be written.
    """
    written: list[Path] = []
    missing: list[str] = []
    left_out: dict[PurePosixPath, None] = {}
    autorun: dict[PurePosixPath, None] = {}
    with _explained(to, agent):
        if to.is_folder:
            to.path.mkdir(exist_ok=True)  # plain: where the person wants it
            files = deliverables(client, agent, run)
            autorun |= dict.fromkeys(_bare_repositories(files))
            for name, path in files.items():
                place = _place(to.path, name)
                found, program = _autorun_in(PurePosixPath(name))
                if program:
                    (left_out if program == GIT else autorun)[found] = None
                if program == GIT:
                    continue
                try:
                    _write(place, partial(_pieces, client, agent, run, path), to)
                    written.append(place)
                except ApiError:
                    missing.append(path)
        if answer is not None:
            place = to.path / ANSWER if to.is_folder else to.path
            _write(place, lambda: iter((f"{answer.rstrip()}\n".encode(),)), to)
            written.append(place)
    return Delivered(written, missing, list(left_out), list(autorun))


def _autorun_in(name: PurePosixPath) -> tuple[PurePosixPath, str]:
    """Return the part of a path because of which a program runs commands, and that program.

    Both are empty if no part is such. Git's part is preferred.
    """
    pairs = zip(name.parts, ("", *name.parts), strict=False)
    parts = [(at, program_of(part, above)) for at, (part, above) in enumerate(pairs, start=1)]
    found = [one for one in parts if one[1]]
    git = [one for one in found if one[1] == GIT]
    at, program = next(iter((*git, *found)), (0, ""))
    return PurePosixPath(*name.parts[:at]), program


def _bare_repositories(names: Iterable[str]) -> list[PurePosixPath]:
    """Return the folders that git treats as repositories without any `.git`."""
    inner: dict[PurePosixPath, set[str]] = {}
    for name in names:
        path = PurePosixPath(name)
        for place in (path, *path.parents[:-1]):
            inner.setdefault(place.parent, set()).add(place.name)
    return [folder for folder, found in inner.items() if is_git_folder(found)]


def _named(paths: list[PurePosixPath]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(spelled(path.as_posix()) for path in paths[:MOST_NAMED]) + more


def _place(folder: Path, name: str) -> Path:
    """Return the path of a deliverable in `folder`. Raises InvalidInput for a path outside."""
    parts = PurePosixPath(name).parts
    if ".." in parts or name.startswith("/") or "\0" in name:
        raise InvalidInput(f"{name!r} is no name of a file")
    return folder.joinpath(*parts)


def read_whole(
    client: "Client", agent: str, first: "FileContentView", run: str | None = None
) -> bytes:
    """Return the content of a file whose `first` piece was read."""
    read, piece = _bytes_of(first), first
    while piece.is_truncated and piece.returned:
        piece = client.read_file(agent, first.path, offset=piece.offset + piece.returned, run=run)
        read += _bytes_of(piece)
    return read


def _bytes_of(piece: "FileContentView") -> bytes:
    if piece.encoding == "base64":
        return base64.b64decode(piece.content)
    return piece.content.encode()


def _pieces(client: "Client", agent: str, run: str | None, path: str) -> Iterator[bytes]:
    """Yield the content of a file of a run."""
    start, size = 0, 1
    while start < size:
        try:
            piece = client.raw_file(agent, path, run=run, start=start, end=start + PIECE)
        except ApiError as error:
            if error.status != NO_SUCH_RANGE:
                raise
            yield b""  # the file is empty
            return
        assert piece is not None  # no etag was sent
        yield piece.content
        start, size = start + PIECE, piece.size


def _write(place: Path, pieces: Callable[[], Iterator[bytes]], to: Destination) -> None:
    """Write a file completely or not at all; replace an existing one only if permitted."""
    content = pieces()
    first = next(content)  # before any file is made: it may be missing
    place.parent.mkdir(parents=True, exist_ok=True)  # plain: where the person wants it
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if to.may_replace else os.O_EXCL)
    descriptor = os.open(place, flags, 0o666)  # plain: where the person wants it
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(first)
            file.writelines(content)
    except BaseException:
        place.unlink(missing_ok=True)  # plain: made above
        raise


@contextlib.contextmanager
def _explained(to: Destination, agent: str) -> Iterator[None]:
    kept = f"the result is kept: agiraph result {agent}"
    try:
        yield
    except FileExistsError as error:
        raise InvalidInput(f"{_is_there(Path(error.filename))}; {kept}") from None
    except OSError as error:
        place = spelled(str(error.filename or to.path))
        raise InvalidInput(f"{place}: cannot be written ({error.strerror}); {kept}") from None


def _is_there(path: Path) -> InvalidInput:
    possible = "another name, or --force, which replaces it"
    return InvalidInput(f"{spelled(path)} exists (possible: {possible})")

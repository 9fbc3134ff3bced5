"""The deliverables of a run: its answer, files of completed nodes and of the coordinator.

The answer is `_output.md` in the run's folder. Other names there that begin with `_` or `.`, and
the folders of nodes and workers, are internal.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from starlette.responses import Response

from agiraph.api.zipped import MOST_FILES, is_sent, zip_response
from agiraph.board.board import Board
from agiraph.http.api import ApiError, DeliveredFileView, DeliveredView, NodeChecksView
from agiraph.readmodel.files import opened, path_below
from agiraph.storage.file_names import spelled, unspelled
from agiraph.storage.files import entries_below
from agiraph.storage.home import RunHome

ANSWER: Final = "_output.md"
OF_THE_RUN: Final = frozenset(
    {"nodes", "workers", "shared", "journal.jsonl", "shared_values.jsonl"}
)


def delivered(run: RunHome, board: Board) -> DeliveredView:
    """Return the files that a run has delivered and the checks that its nodes have passed."""
    completed = [node for node in board.nodes.values() if node.status == "completed"]
    published = {node.folder: node for node in completed}
    files = [*_own_files(run)]
    for folder, node in published.items():
        place = f"nodes/{folder}/published"
        sizes = _sizes(run.path, place)
        for path in node.published:
            name, size = f"{node.name}/{path}", sizes.get(path)
            files.append(_view(run, name, f"{place}/{path}", size, node.name))
    checks = [
        NodeChecksView(node=node.name, id=node.id, checks=node.evidence.checks)
        for node in completed
        if node.evidence is not None and node.evidence.checks
    ]
    return DeliveredView(files=tuple(files), checks=tuple(checks))


def zipped_result(
    run: RunHome, board: Board, name: str, most_bytes: int, *, is_head: bool = False
) -> Response:
    """Return all deliverables of a run as a zip file. Raises ApiError 413 if they are too large."""
    found = [one for one in delivered(run, board).files if one.size is not None]
    places = {
        Path(unspelled(one.name) if one.is_spelled else one.name): path_below(run.path, one.path)[1]
        for one in found
    }
    files = {name: place.relative_to(run.path) for name, place in places.items() if is_sent(name)}
    size = sum(one.size or 0 for one in found)
    if len(files) > MOST_FILES or size > most_bytes:
        raise ApiError(
            413,
            f"the result has {len(files)} files of {size} bytes, more than a zip file may hold"
            f" ({MOST_FILES} names, {most_bytes} bytes): download its folders one by one",
        )
    return zip_response(run.path, files, name, is_head=is_head)


def _own_files(run: RunHome) -> Iterator[DeliveredFileView]:
    """Yield the answer and the files that the coordinator wrote into the run's folder."""
    with opened(run.path, "") as (fd, _):
        found = entries_below(fd, MOST_FILES, 0)
    for path, entry in sorted(found, key=lambda one: (one[0].name != ANSWER, one[0])):
        name = spelled(path)
        if name != ANSWER and (name in OF_THE_RUN or name.startswith(("_", "."))):
            continue
        if entry.kind == "file":
            yield _view(run, name, name, entry.size)
        elif entry.kind == "folder":
            for inner, size in sorted(_sizes(run.path, name).items()):
                whole = f"{name}/{inner}"
                yield _view(run, whole, whole, size)


def _view(
    run: RunHome, name: str, path: str, size: int | None, node: str | None = None
) -> DeliveredFileView:
    place = path_below(run.path, path)[1]
    is_spelled = place != run.path / path
    return DeliveredFileView(name=name, path=path, node=node, size=size, is_spelled=is_spelled)


def _sizes(root: Path, folder: str) -> dict[str, int]:
    """Return file sizes in bytes by path (`spelled`) in a folder.

    {} without the folder.
    """
    with suppress(ApiError), opened(root, folder) as (fd, _):
        below = entries_below(fd, MOST_FILES)
        return {spelled(path): entry.size for path, entry in below if entry.kind == "file"}
    return {}

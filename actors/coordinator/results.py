"""Results: the files that the coordinator delivers at the end, and those of a cancelled node."""

from collections.abc import Sequence
from pathlib import Path

from agiraph.board.board import Board
from agiraph.board.rules.nodes import normal_refs
from agiraph.core.errors import InvalidInput
from agiraph.core.models import WorkNode
from agiraph.core.turns import JsonObject
from agiraph.storage.copies import copy_file, digest_of
from agiraph.storage.files import files_below, is_file, is_folder
from agiraph.storage.home import RunHome
from agiraph.tools.scopes.publishing import files_left

READ_ONLY = 0o444
SHOWN_FILES = 12


def deliver(run: RunHome, board: Board, names: Sequence[str]) -> list[str]:
    """Copy published files to `results/` of the run; return the path and digest of each copy.

    A name is that of a node, or the path of one of its published files. A copy has the path that
    the file has in its node; if several nodes have this path, it is below the name of the node.
    Safe to call again. Raises InvalidInput, OSError.
    """
    found = [one for name in names for one in _published(run, board, name)]
    wanted = {(node.id, path): node for node, path in found}
    paths = [path for _, path in wanted]
    lines = []
    for (_, path), node in wanted.items():
        inner = path if paths.count(path) == 1 else Path(node.name) / path
        target = run.results / inner
        copy_file(run.node(node.folder).published / path, target, READ_ONLY)
        lines.append(f"results/{inner.as_posix()} (SHA-256 {digest_of(target)})")
    return lines


def kept_work(run: RunHome, node: WorkNode) -> JsonObject:
    """Return {"kept": [file, ...], "notes"}: the files of a node without a result.

    `notes` is the notebook of its worker. An empty one of the two is left out.
    """
    folder = f"nodes/{node.folder}/scratch/"
    files = files_left(run.node(node.folder))
    more = [f"and {len(files) - SHOWN_FILES} more in {folder}"] if files[SHOWN_FILES:] else []
    kept: JsonObject = {}
    if files:
        kept["kept"] = [*(f"{folder}{file}" for file in files[:SHOWN_FILES]), *more]
    if node.assigned_worker and is_file(run.worker(node.assigned_worker).notebook):
        kept["notes"] = f"workers/{node.assigned_worker}/notebook.md"
    return kept


def _published(run: RunHome, board: Board, name: str) -> list[tuple[WorkNode, Path]]:
    """Return the published files of the node `name`, or those at the path `name` of a node.

    Each is a pair of the node and the path below its `published/`. Raises InvalidInput.
    """
    refs, nodes = normal_refs(board, {"files": name})
    found: list[tuple[WorkNode, Path]] = []
    for path, node in zip(refs.values(), nodes, strict=True):
        published = run.node(node.folder).published
        inner = (run.path / path).relative_to(published)
        place = published / inner
        if node.status == "completed" and is_file(place):
            found.append((node, inner))
        elif node.status == "completed" and is_folder(place):
            found += [(node, inner / file) for file, _ in files_below(place)]
        else:
            known = ", ".join(node.published) or "none"
            raise InvalidInput(
                f"files: '{name}' is not a published file (published by '{node.name}': {known})"
            )
    return found

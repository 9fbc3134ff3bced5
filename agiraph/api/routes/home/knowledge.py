"""Endpoints that search, show and change the knowledge database, scan projects, export notes."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse
from starlette.background import BackgroundTask

from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import CallerDep, CauseDep, GatewayDep, Limit
from agiraph.api.strict_json import StrictRoute
from agiraph.api.zipped import MOST_FILES, zip_response
from agiraph.core.errors import InvalidInput, Unavailable, listed
from agiraph.core.ids import HUMAN_NAME
from agiraph.http.api import (
    AddKnowledgeRequest,
    ForgetKnowledgeRequest,
    ForgottenView,
    KnowledgeHitView,
    KnowledgeNodeView,
    KnowledgePageView,
    KnowledgePrunedView,
    KnowledgeStatsView,
    ProjectScanView,
    PruneKnowledgeRequest,
    ScanProjectRequest,
    SearchKnowledgeRequest,
)
from agiraph.http.errors import AMBIGUOUS, ApiError
from agiraph.knowledge.database import KnowledgeUnavailable
from agiraph.knowledge.obsidian.vault import export_vault
from agiraph.knowledge.records import (
    KnowledgeEdge,
    KnowledgeKind,
    KnowledgeNode,
    project_id,
    project_node_id,
    repository_of,
)
from agiraph.knowledge.remembered import remembered_node
from agiraph.knowledge.store import KnowledgeStore
from agiraph.storage.files import entries_below, open_folder
from agiraph.storage.walk import closing

LINES_AT_ONCE = 500
NDJSON = "application/x-ndjson"
UNUSABLE = 500
VAULT = "agiraph-knowledge"
"""The name of a zip file with an Obsidian vault."""

T = TypeVar("T")
Kinds = Annotated[tuple[KnowledgeKind, ...], Query(alias="kind", description="Only these kinds.")]
Project = Annotated[
    str, Query(max_length=4096, description="Only of this project: its id, or its folder's path.")
]
router = APIRouter(route_class=StrictRoute, tags=["knowledge"])


@router.get("/knowledge", dependencies=[READ])
async def nodes(
    gateway: GatewayDep,
    kind: Kinds = (),
    project: Project = "",
    agent: str = "",
    after: str = "",
    limit: Limit = 50,
) -> KnowledgePageView:
    """List the nodes of the knowledge database, the most recently changed first."""
    named = _run_project(project)
    page = await _use(
        gateway, lambda store: store.page(kind, named, after or None, limit, agent=agent or None)
    )
    return KnowledgePageView.model_validate(dict(page))


@router.post("/knowledge/search", dependencies=[READ])
async def find(asked: SearchKnowledgeRequest, gateway: GatewayDep) -> list[KnowledgeHitView]:
    """Return the nodes of the knowledge database that match a query, the best first."""
    project, now = _run_project(asked.project), gateway.clock.now()

    def search(store: KnowledgeStore) -> list[KnowledgeHitView]:
        found = store.search(asked.query, asked.kinds, project, asked.limit, now=now)
        return [KnowledgeHitView.model_validate(dict(hit)) for hit in found]

    return await _use(gateway, search)


@router.get("/knowledge/stats", dependencies=[READ])
async def stats(gateway: GatewayDep) -> KnowledgeStatsView:
    """Show the size of the knowledge database and how much of it is used."""
    return KnowledgeStatsView.model_validate(dict(await _use(gateway, KnowledgeStore.stats)))


@router.get("/knowledge/export", dependencies=[READ], response_class=StreamingResponse)
async def export(gateway: GatewayDep, kind: Kinds = (), project: Project = "") -> StreamingResponse:
    """Return nodes and the edges between them, each as a line of JSON."""
    named = _project(project)
    lines = await _use(gateway, lambda store: store.export(kind, named))
    first = await _some(gateway, lines)  # a damaged database is reported before the response begins
    return StreamingResponse(_parts(gateway, first, lines), media_type=NDJSON)


@router.get("/knowledge/obsidian", dependencies=[READ], response_class=Response)
async def obsidian(gateway: GatewayDep, kind: Kinds = ()) -> Response:
    """Return nodes as a zip file with an Obsidian vault: a note for each, linked by the edges."""

    def read(store: KnowledgeStore) -> tuple[list[KnowledgeNode], list[KnowledgeEdge]]:
        counted = store.stats().by_kind
        notes = sum(counted.get(one, 0) for one in kind or counted)
        if notes > MOST_FILES:
            raise ApiError(
                413,
                f"{notes} notes are more than a zip file may hold ({MOST_FILES}): choose a kind,"
                " or use `agiraph knowledge export-obsidian`",
            )
        return list(store.every_node()), list(store.every_edge())

    nodes, edges = await _use(gateway, read)
    return await asyncio.to_thread(_zipped_vault, nodes, edges, kind)


def _zipped_vault(
    nodes: list[KnowledgeNode], edges: list[KnowledgeEdge], kinds: tuple[KnowledgeKind, ...]
) -> Response:
    folder = TemporaryDirectory(prefix="agiraph-vault-")
    root = Path(folder.name)
    export_vault(root, nodes, edges, kinds)
    with closing(open_folder(root)) as fd:
        found = entries_below(fd, MOST_FILES * 2)
    names = {path: path for path, entry in found if entry.kind == "file"}
    response = zip_response(root, names, VAULT)
    response.background = BackgroundTask(folder.cleanup)
    return response


async def _parts(gateway: Gateway, part: str, lines: Iterator[str]) -> AsyncIterator[str]:
    while part:
        yield part
        part = await _some(gateway, lines)


async def _some(gateway: Gateway, lines: Iterator[str]) -> str:
    return await _use(gateway, lambda _store: "".join(islice(lines, LINES_AT_ONCE)))


@router.get("/knowledge/nodes/{node}", dependencies=[READ])
async def one(node: str, gateway: GatewayDep) -> KnowledgeNodeView:
    """Return one node of the knowledge database and its neighbors."""
    return await _use(gateway, lambda store: _shown(store, _meant(store, node)))


@router.post("/knowledge", dependencies=[CONTROL], status_code=201)
async def add(
    what: AddKnowledgeRequest, gateway: GatewayDep, caller: CallerDep, cause: CauseDep
) -> KnowledgeNodeView:
    """Add a node to the knowledge database for later runs."""
    made = remembered_node(
        what,
        cause=cause.message("knowledge").hex(),
        project=_run_project(what.project),
        by=HUMAN_NAME,
        now=gateway.clock.now(),
    )

    def write(store: KnowledgeStore) -> KnowledgeNodeView:
        store.add([made])
        return _shown(store, made.id)

    return await _use(gateway, write)


@router.delete("/knowledge/nodes/{node}", dependencies=[CONTROL])
async def remove(node: str, gateway: GatewayDep, cause: CauseDep) -> ForgottenView:
    """Remove a node of the knowledge database with its edges, for good."""

    def work(store: KnowledgeStore) -> int:
        if cause.is_again and not store.meant(node):
            return 1  # the gateway removed it and ended before it could answer
        return store.remove([_meant(store, node)])

    return ForgottenView(removed=await _use(gateway, work))


@router.post("/knowledge/forget", dependencies=[CONTROL])
async def forget(what: ForgetKnowledgeRequest, gateway: GatewayDep) -> ForgottenView:
    """Remove nodes of the knowledge database by ids, agent or project, for good."""
    project = _project(what.project)
    if not what.ids and what.agent is None and project is None:
        raise ApiError(422, "name the notes to forget: ids, an agent or a project")

    def work(store: KnowledgeStore) -> int:
        ids = [_meant(store, id) for id in what.ids]
        ids += store.ids(agent=what.agent) if what.agent is not None else ()
        ids += store.ids(project=project) if project is not None else ()
        return store.remove(dict.fromkeys(ids))

    return ForgottenView(removed=await _use(gateway, work))


@router.post("/knowledge/prune", dependencies=[CONTROL])
async def prune(asked: PruneKnowledgeRequest, gateway: GatewayDep) -> KnowledgePrunedView:
    """Remove old nodes of little value, or show which would be removed."""
    now = gateway.clock.now()
    pruned = await _use(
        gateway,
        lambda store: store.prune(
            asked.older_than_seconds, asked.below, asked.keep, is_trial=asked.dry_run, now=now
        ),
    )
    more = {"nodes_pruned": pruned.nodes, "is_dry_run": asked.dry_run}
    return KnowledgePrunedView.model_validate({**dict(pruned), **more})


@router.post("/knowledge/scan", dependencies=[CONTROL])
async def scan(project: ScanProjectRequest, gateway: GatewayDep) -> ProjectScanView:
    """Scan a project's folder and record the result in the knowledge database."""
    try:
        done = await gateway.scans.scan(project.path)
    except InvalidInput as error:
        raise ApiError(422, str(error)) from None
    except (KnowledgeUnavailable, Unavailable) as error:
        raise ApiError(UNUSABLE, str(error)) from error
    id = project_node_id(done.project_id)
    found = await _use(gateway, lambda store: store.get(id))
    stack = tuple(map(str, found.data.get("stack", ()))) if found is not None else ()
    return ProjectScanView.model_validate({**dict(done), "stack": stack})


async def _use(gateway: Gateway, work: Callable[[KnowledgeStore], T]) -> T:
    """Return the result of `work` on the database; raises ApiError."""
    try:
        return await gateway.knowledge.use(work)
    except KnowledgeUnavailable as error:
        raise ApiError(UNUSABLE, f"the knowledge database cannot be used: {error}") from error
    except InvalidInput as error:
        raise ApiError(422, str(error)) from None


def _shown(store: KnowledgeStore, id: str) -> KnowledgeNodeView:
    node = store.get(id)
    assert node is not None
    return KnowledgeNodeView(node=node, neighbors=tuple(store.neighbors(id)))


def _meant(store: KnowledgeStore, text: str) -> str:
    """Return the id of the node that `text` identifies.

    Raises ApiError 404, or 409 with the candidates.
    """
    found = store.meant(text)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ApiError(
            404, f"unknown knowledge node '{text}' (`agiraph knowledge search` finds them)"
        )
    nodes = [f"{id}: {node.title}" for id in found if (node := store.get(id)) is not None]
    raise ApiError(409, f"several knowledge nodes begin with '{text}': {listed(nodes)}", AMBIGUOUS)


def _project(named: str) -> str | None:
    """Return the id of a project, given by its id or its folder's path; None for ''."""
    if not named:
        return None
    return project_id(named) if os.path.isabs(named) else named


def _run_project(named: str) -> str | None:
    """Like `_project`; a folder inside a repository gives the id of the repository's project."""
    return _project(repository_of(named) if os.path.isabs(named) else named)

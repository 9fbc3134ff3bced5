"""Calls for the work of a run (board, workers, events, files) and for the agent's memory.

The run is the named run, by default the agent's current run; 404 lists the known runs. Paths have
`/` between their segments.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter

from agiraph.core.event_types import Audience
from agiraph.http import api
from agiraph.http.client.call import (
    LONG_SECONDS,
    ApiCall,
    ApiMethod,
    QueryValue,
    agent_path,
    call,
    given,
    new_key,
    path_under,
    reader,
)

if TYPE_CHECKING:
    import httpx

CONFLICT = 409
NOT_MODIFIED = 304
AS_HTML = {"as": "html"}
AS_ZIP = {"as": "zip"}

FileOrFolder = api.FolderView | api.FileContentView
FILE_OR_FOLDER: TypeAdapter[FileOrFolder] = TypeAdapter(FileOrFolder)

Part = Literal["scratch", "published"]


def _read_folder(response: "httpx.Response") -> api.FolderView:
    found = FILE_OR_FOLDER.validate_json(response.content)
    if not isinstance(found, api.FolderView):
        raise api.ApiError(CONFLICT, f"'{found.path}' is a file")
    return found


def _read_file(response: "httpx.Response") -> api.FileContentView:
    found = FILE_OR_FOLDER.validate_json(response.content)
    if not isinstance(found, api.FileContentView):
        raise api.ApiError(CONFLICT, f"'{found.path}' is a folder")
    return found


def _read_bytes(response: "httpx.Response") -> bytes:
    return response.content


def _read_text(response: "httpx.Response") -> str:
    return response.text


class WorkCalls:
    """The work of a run and the files that it wrote."""

    @call("GET /agents/{agent}/board")
    def board(self, agent: str, *, at: int | None = None, run: str | None = None) -> api.BoardView:
        """Return the nodes and stages of a run, as they are or as they were at an earlier `seq`."""

    @call("GET /agents/{agent}/plan")
    def plan(self, agent: str, *, run: str | None = None) -> dict[str, Any]:
        """Return the work of a run as a plan file that can be run again, as plain values."""

    @call("POST /plans/check", is_repeatable=True)
    def check_plan(self, plan: api.CheckPlanRequest) -> api.PlanCheckView:
        """Return a valid plan in another form; 422 lists each mistake."""

    @call("GET /plans/schema")
    def plan_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of plan files."""

    @call("GET /roles")
    def roles(self, *, offline: bool = False) -> api.RoleTeamView:
        """Return the team of agents.yaml, the agent of each role, and the problems found."""

    @call("POST /roles/check", is_repeatable=True)
    def check_roles(self, asked: api.CheckRolesRequest) -> api.RoleTeamView:
        """Check a team before a run; `problems` name each role that could not work."""

    @ApiMethod
    def save_roles(
        self, asked: api.SaveRolesRequest, *, etag: str = ""
    ) -> ApiCall[api.RoleTeamView]:
        """Write the team into agents.yaml; `etag` is that of the file as it was read.

        Raises ApiError 412 if the file has changed, 422 with the problems: then nothing is written.
        """
        return ApiCall(
            "PUT",
            "/roles",
            reader(api.RoleTeamView),
            body=asked,
            headers={"If-Match": f'"{etag}"'},
        )

    @call("GET /agents/{agent}/roles")
    def role_turns(
        self, agent: str, *, after: int = 0, run: str | None = None
    ) -> api.RoleTeamRunView:
        """Return the turns of the team in a run, those after the turn `after`."""

    @call("GET /agents/{agent}/board/{node}")
    def node(self, agent: str, node: str, *, run: str | None = None) -> api.NodeDetailView:
        """Return one node, by id or name."""

    @call(
        "POST /agents/{agent}/board/{node}/retry", body=api.RetryNodeRequest, seconds=LONG_SECONDS
    )
    def retry_node(
        self, agent: str, node: str, because: str = "", *, key: str | None = None
    ) -> api.NodeDetailView:
        """Retry a node: a failed node, or a completed node whose result no node has used yet.

        A failed run continues. 409 with the reason if that is not possible.
        """

    @call(
        "POST /agents/{agent}/board/{node}/cancel", body=api.CancelNodeRequest, seconds=LONG_SECONDS
    )
    def cancel_node(
        self, agent: str, node: str, because: str = "", *, key: str | None = None
    ) -> api.NodeDetailView:
        """Cancel a node that has not ended; 409 if it has."""

    @call(
        "POST /agents/{agent}/board/{node}/assign", body=api.AssignNodeRequest, seconds=LONG_SECONDS
    )
    def assign_node(
        self,
        agent: str,
        node: str,
        *,
        worker: str | None = None,
        model: str | None = None,
        because: str = "",
        key: str | None = None,
    ) -> api.NodeDetailView:
        """Assign a node to a worker, or to any worker with a model; a held node once released.

        A failed node is retried there. 409 with the reason if that is not possible.
        """

    @call("GET /agents/{agent}/timeline")
    def timeline(
        self,
        agent: str,
        *,
        resolution_seconds: float = 0,
        since: float | None = None,
        until: float | None = None,
        run: str | None = None,
    ) -> api.TimelineView:
        """Return a run as timelines of its entities, with its critical path.

        Bars shorter than `resolution_seconds` are merged, longer bars too if there are too many.
        """

    @call("GET /agents/{agent}/communication")
    def communication(self, agent: str, *, run: str | None = None) -> list[api.TrafficView]:
        """Return the number of texts from each entity of a run to each other entity."""

    @call("GET /agents/{agent}/workers")
    def workers(self, agent: str, *, run: str | None = None) -> list[api.WorkerView]:
        """Return the workers of a run, with their current activity."""

    @call("GET /agents/{agent}/events", names={"types": "type"})
    def events(
        self,
        agent: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 1000,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
        audience: Audience | None = None,
    ) -> api.EventPageView:
        """Return the events after cursor `after`, at most `limit`; `.next` is the next cursor.

        With `before`, the last events before that cursor; `.previous` is the cursor for older
        events. `types` (such as `node.*`), `entity` (a name, an id or an address), `node` (a name
        or an id) and `audience` select events. `.next` equals `after` at the end of the log: a page
        of selected events may be empty before it.
        """

    @call("GET /agents/{agent}/workspace/{path:path}", reads=_read_folder)
    def list_files(
        self, agent: str, path: str = "", *, depth: int = 1, run: str | None = None
    ) -> api.FolderView:
        """Return a folder of a run, `depth` levels of it (409 if `path` is a file)."""

    @call("GET /agents/{agent}/result")
    def delivered(self, agent: str, *, run: str | None = None) -> api.DeliveredView:
        """Return the files that a run has delivered, and the checks that its nodes have passed."""

    @call("GET /agents/{agent}/result", fixed=AS_ZIP, reads=_read_bytes)
    def zipped_result(self, agent: str, *, run: str | None = None) -> bytes:
        """Return all deliverables of a run as a zip file."""

    @call("GET /agents/{agent}/workspace/{path:path}", fixed=AS_ZIP, reads=_read_bytes)
    def zipped_files(self, agent: str, path: str = "", *, run: str | None = None) -> bytes:
        """Return a folder of a run with all its files, as a zip file."""

    @call("GET /agents/{agent}/workspace/{path:path}", reads=_read_file)
    def read_file(
        self, agent: str, path: str, *, offset: int = 0, run: str | None = None
    ) -> api.FileContentView:
        """Return up to 1 MiB of a file of the run, from byte `offset` on (409 if a folder)."""

    @call("GET /agents/{agent}/workspace/{path:path}")
    def workspace(
        self, agent: str, path: str = "", *, offset: int = 0, run: str | None = None
    ) -> FileOrFolder:
        """Return the folder or the file at `path` under the run's folder."""

    @ApiMethod
    def raw_file(
        self,
        agent: str,
        path: str,
        *,
        start: int | None = None,
        end: int | None = None,
        etag: str | None = None,
        run: str | None = None,
    ) -> ApiCall[api.RawFileView | None]:
        """Return the bytes of a file of the run, or the bytes from `start` up to before `end`.

        With the `etag` of an earlier answer: None if the file has not changed since.
        """
        headers = {}
        if start is not None or end is not None:
            headers["Range"] = f"bytes={start or 0}-{'' if end is None else end - 1}"
        return _raw(agent, "workspace", path, etag, headers, run=run)

    @call("GET /agents/{agent}/workspace/{path:path}", fixed=AS_HTML, reads=_read_text)
    def rendered_file(self, agent: str, path: str, *, run: str | None = None) -> str:
        """Return a file of the run, Markdown or text, as HTML without scripts or references."""

    @call("GET /agents/{agent}/board/{node}/spec")
    def node_spec(self, agent: str, node: str, *, run: str | None = None) -> api.FileContentView:
        """Return the specification of a node, in the form that its worker reads."""

    @call("GET /agents/{agent}/board/{node}/refs")
    def node_refs(self, agent: str, node: str, *, run: str | None = None) -> list[api.RefView]:
        """Return the inputs of a node, and whether each exists yet."""

    @call("GET /agents/{agent}/board/{node}/log")
    def node_log(
        self, agent: str, node: str, *, after: int = 0, limit: int = 1000, run: str | None = None
    ) -> api.EventPageView:
        """Return the steps of a node's worker after the cursor `after`."""

    @call("GET /agents/{agent}/board/{node}/{part}/{path:path}")
    def node_files(
        self,
        agent: str,
        node: str,
        part: Part = "published",
        path: str = "",
        *,
        offset: int = 0,
        attempt: int | None = None,
        run: str | None = None,
    ) -> FileOrFolder:
        """Return a folder or a file of a node's result, or of its work in progress.

        `attempt` is the number of an earlier attempt whose result was kept (`earlier_attempts`).
        """

    @call("GET /agents/{agent}/memory")
    def memory(self, agent: str) -> list[api.MemoryEntryView]:
        """Return the files of an agent's memory, MEMORY.md first."""

    @call("GET /agents/{agent}/memory/{path:path}")
    def memory_file(self, agent: str, path: str) -> api.FileContentView:
        """Return one file of an agent's memory; 404 lists the known files."""

    @ApiMethod
    def edit_memory(
        self,
        agent: str,
        path: str,
        content: str,
        *,
        etag: str | None = None,
        tell: bool = True,
    ) -> ApiCall[api.FileContentView]:
        """Write a file of an agent's memory.

        With the `etag` of the text that was read ("" if there was none), 412 names the author of a
        later change. `tell`: send a message about the edit to a working coordinator.
        """
        body = api.EditMemoryRequest(content=content, tell=tell)
        return _change("PUT", agent, path, etag, None, body)

    @ApiMethod
    def remove_memory(
        self, agent: str, path: str, *, etag: str | None = None, key: str | None = None
    ) -> ApiCall[api.FileContentView]:
        """Remove a file of an agent's memory; with its `etag` as in `edit_memory`."""
        return _change("DELETE", agent, path, etag, key or new_key(), None)

    @call("GET /agents/{agent}/memory/{path:path}/history")
    def memory_history(self, agent: str, path: str) -> list[api.MemoryVersionView]:
        """Return the earlier versions of a memory file, the oldest first."""

    @call("GET /agents/{agent}/memory/{path:path}/history/{number}")
    def memory_version(self, agent: str, path: str, number: str) -> api.MemoryVersionView:
        """Return an earlier version of a memory file, by its `number`."""

    @ApiMethod
    def raw_memory_file(
        self, agent: str, path: str, *, etag: str | None = None
    ) -> ApiCall[api.RawFileView | None]:
        """Return the bytes of a memory file; None if its etag is still `etag`."""
        return _raw(agent, "memory", path, etag, {})

    @call("GET /agents/{agent}/memory/{path:path}", fixed=AS_HTML, reads=_read_text)
    def rendered_memory_file(self, agent: str, path: str) -> str:
        """Return a memory file as HTML without scripts or references."""

    @call("POST /agents/{agent}/memory/search", body=api.SearchMemoryRequest, is_repeatable=True)
    def search_memory(self, agent: str, query: str) -> list[api.MemoryHitView]:
        """Return the sections of an agent's memory that match a query, the best first."""


def _change(
    method: str,
    agent: str,
    path: str,
    etag: str | None,
    key: str | None,
    body: api.EditMemoryRequest | None,
) -> ApiCall[api.FileContentView]:
    headers = {} if etag is None else {"If-Match": etag} if etag else {"If-None-Match": "*"}
    where = path_under(agent_path(agent, "memory"), path)
    read = reader(api.FileContentView)
    return ApiCall(method, where, read, body=body, key=key, headers=headers)


def _raw(
    agent: str,
    folder: str,
    path: str,
    etag: str | None,
    headers: dict[str, str],
    **query: QueryValue,
) -> ApiCall[api.RawFileView | None]:
    if etag is not None:
        headers["If-None-Match"] = etag
    where = path_under(agent_path(agent, folder), path)
    return ApiCall("GET", where, _read_raw, {**given(**query), "as": "raw"}, headers=headers)


def _read_raw(response: "httpx.Response") -> api.RawFileView | None:
    if response.status_code == NOT_MODIFIED:
        return None
    size = response.headers.get("content-range", "").rpartition("/")[2]
    return api.RawFileView(
        content=response.content,
        media_type=response.headers.get("content-type", ""),
        etag=response.headers.get("etag", ""),
        size=int(size) if size else len(response.content),
    )

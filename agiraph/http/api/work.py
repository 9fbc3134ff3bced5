"""The work of a run: nodes, stages and workers; its files, memory and events."""

from collections.abc import Callable
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from agiraph.board.failure_class import FailureClass
from agiraph.core.event_types import Audience, Tone
from agiraph.core.ids import NodeId, RunId, WorkerId
from agiraph.core.models import Event
from agiraph.core.node_changes import NodeMove
from agiraph.core.results import CheckResult, Evidence
from agiraph.core.specs import ForEach, PlannedTerms
from agiraph.http.api.base import ApiRequest, ApiView
from agiraph.logs.event_text import detail_of, look_of, sentence_of, who_of


class NodeView(PlannedTerms, ApiView):
    """A node of the board. `assigned_worker` is a name; `result_preview` at most 200 characters.

    `failure_class` is the machine-readable cause of a failure, `reason` its text. `checks` are
    commands that must succeed before its result is published, `refs` its inputs: paths under the
    run by the names that the node uses. `optional`: its plan can complete without it. `when` has
    the conditions of its dependencies. A node with `for_each` is done for each item of a list by
    nodes whose `copy_of` is its id.
    """

    id: NodeId
    name: str
    role: str
    status: str
    assigned_worker: str | None = None
    dependencies: tuple[str, ...] = ()
    refs: dict[str, str] = Field(default_factory=dict)
    parent_node: str | None = None
    children: tuple[str, ...] = ()
    stage: int = 0
    attempt: int = 0
    summary: str | None = None
    reason: str | None = None
    failure_class: FailureClass | None = None
    published: tuple[str, ...] = ()
    result_preview: str | None = None
    created_at: float = 0.0
    started_at: float | None = None
    ended_at: float | None = None
    when: dict[str, str] = Field(default_factory=dict)
    for_each: ForEach | None = None
    copy_of: str | None = None


class NodeDetailView(NodeView):
    """A node with the path of its folder under the run, for `workspace`.

    `details` are the last lines of the worker's process or of its error, if the node failed;
    `failed_before` is why the previous attempt ended, if it is retried; `move` is its next worker
    or model once the current worker has released it; `earlier_attempts` are the numbers of attempts
    whose published files were kept, to be read with `attempt`; `evidence` has the results of its
    checks and the SHA-256 of its published files.
    """

    path: str = ""
    details: str = ""
    failed_before: str = ""
    move: NodeMove | None = None
    earlier_attempts: tuple[int, ...] = ()
    evidence: Evidence | None = None


class RetryNodeRequest(ApiRequest):
    """POST /agents/{a}/board/{node}/retry: `because` says what has changed."""

    because: str = Field(default="", max_length=4000)


class CancelNodeRequest(ApiRequest):
    """POST /agents/{a}/board/{node}/cancel: `because` is a text for the coordinator."""

    because: str = Field(default="", max_length=4000)


class AssignNodeRequest(ApiRequest):
    """POST /agents/{a}/board/{node}/assign: to this worker, or to any worker with this model.

    `worker` is a name or id; `because` is a text for the coordinator and the next worker.
    """

    worker: str | None = Field(default=None, min_length=1)
    model: str | None = Field(default=None, min_length=1)
    because: str = Field(default="", max_length=4000)


class RefView(ApiView):
    """An input of a node: a file or folder under the run, and whether it exists yet."""

    name: str
    path: str
    is_there: bool = False
    size: int | None = None


class DeliveredFileView(ApiView):
    """A file that a run has delivered: its `name` in the result, and its `path` under the run.

    `node` published it (null: the coordinator wrote it); `size` is in bytes (null: the file is
    missing). `is_spelled`: the name on disk has control characters or bytes that are not UTF-8,
    which `name` and `path` show as escapes, such as `caf\\xe9.txt`.
    """

    name: str
    path: str
    node: str | None = None
    size: int | None = None
    is_spelled: bool = False


class NodeChecksView(ApiView):
    """The checks that the result of a completed node has passed."""

    node: str
    id: NodeId
    checks: tuple[CheckResult, ...]


class DeliveredView(ApiView):
    """GET /agents/{a}/result: the files delivered by a run so far; the answer is `_output.md`."""

    files: tuple[DeliveredFileView, ...] = ()
    checks: tuple[NodeChecksView, ...] = ()


PlanForm = Literal["tree", "mermaid", "dot", "svg", "html", "json", "yaml"]


class CheckPlanRequest(ApiRequest):
    """POST /plans/check: the text of a plan file and the requested `form`.

    `tree`, `mermaid`, `dot` (Graphviz), `svg` and `html` are drawings of its nodes; `json` is its
    graph, `yaml` the file itself, written as YAML.
    """

    plan: str = Field(min_length=1)
    form: PlanForm = "tree"


class PlanCheckView(ApiView):
    """A valid plan: the number of its nodes and workers, and its `text` in the requested form."""

    nodes: int
    workers: int
    form: PlanForm
    text: str


class StageView(ApiView):
    """A stage of the run."""

    name: str
    nodes: tuple[str, ...]
    status: str
    assessment: str | None = None


class BoardView(ApiView):
    """All nodes and stages of a run; `current_stage` is an index, -1 before the first.

    `seq` counts the changes of the board so far: pass it as `at` to see this state again.
    `max_concurrent` is the number of nodes that may run at once (the setting `run.max_concurrent`),
    null for an earlier state of the board.
    """

    run: RunId | None = None
    seq: int = 0
    nodes: tuple[NodeView, ...] = ()
    stages: tuple[StageView, ...] = ()
    current_stage: int = -1
    max_concurrent: int | None = None


class WorkerView(ApiView):
    """A worker. `node` is the name of the node it holds; `step` its current activity.

    `status`: idle, busy, paused, waiting_for_human or stopped. `unread` counts its messages that
    the person has not read. `doing` is `step` in words for people, `doing_since` its beginning, as
    in an `EntityView`; `process` is the state of its process, null if there is none, and `host` the
    host of the process, as in an `EntityView`. `tokens` and `cost_usd` are its spending, null while
    the broker is away; `is_estimate`: the service has not counted all of it.
    """

    id: WorkerId
    name: str
    type: str
    role: str
    model: str | None = None
    status: str
    node: str | None = None
    node_id: NodeId | None = None
    address: str
    step: str = ""
    unread: int = 0
    doing: str = ""
    doing_since: float | None = None
    process: str | None = None
    host: str = ""
    tokens: int | None = None
    cost_usd: float | None = None
    is_estimate: bool = False


class FileEntryView(ApiView):
    """One row of a folder; `path` is under the run's folder. Links are shown, never followed.

    `media_type` follows from a file's name.
    """

    path: str
    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0
    modified_at: float = 0.0
    media_type: str = ""


class FolderView(ApiView):
    """GET workspace on a folder: its entries, folders first, by name.

    With `depth` each folder is followed by its entries.
    """

    path: str
    entries: tuple[FileEntryView, ...]
    is_truncated: bool = False


class FileContentView(ApiView):
    """GET workspace on a file: the bytes from `offset`, as text, or base64 if not valid UTF-8.

    `is_truncated` says that the file continues; continue reading at `offset + returned`.
    `media_type` follows from its name, `etag` changes when the file does.
    """

    path: str
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    size: int
    offset: int = 0
    returned: int
    is_truncated: bool = False
    media_type: str = ""
    etag: str = ""


class AttachmentView(ApiView):
    """An attached file; entities of the run read it at `path`."""

    path: str
    name: str
    size: int
    media_type: str = ""


class RawFileView(ApiView):
    """Bytes of a file or of a range of it; `size` is the whole file's, `etag` its version."""

    content: bytes
    media_type: str
    etag: str
    size: int


class SearchMemoryRequest(ApiRequest):
    """POST /agents/{a}/memory/search: words to find in the notes."""

    query: str = Field(min_length=1, max_length=2000)


class MemoryEntryView(ApiView):
    """A file of an agent's memory; `path` is `MEMORY.md` or like `knowledge/x.md`.

    `etag` changes when the file does.
    """

    path: str
    size: int
    modified_at: float
    etag: str = ""


class EditMemoryRequest(ApiRequest):
    """PUT /agents/{a}/memory/{path}: the whole text of the file.

    `tell`: send a message about the edit to a working coordinator.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(str_strip_whitespace=False)

    content: str = Field(pattern=r"\S", max_length=2_000_000)
    tell: bool = True


class MemoryVersionView(ApiView):
    """One version of a memory file; `by` is an entity or `human`, '' if unknown.

    `change`: written, added to, removed, or found (written by a command or an editor). `via` is the
    token of the person who wrote it, `size` is in characters. `content` is set for a single
    version.
    """

    number: int
    at: float
    by: str = ""
    via: str = ""
    change: Literal["written", "added to", "removed", "found"]
    size: int
    content: str | None = None


class MemoryHitView(ApiView):
    """A section of a memory that matches a query; a higher `score` is a better match."""

    path: str
    heading: str
    score: float
    text: str


class EventView(Event):
    """An event with its sentence in English, rendered from the table of event types.

    `who` names the acting entity, `text` is the sentence without it, `detail` the key in `data` of
    a longer text that belongs to it ('' if there is none).
    """

    who: str
    text: str
    detail: str
    tone: Tone
    audience: Audience

    @staticmethod
    def of(event: Event, node_name: Callable[[str], str] = str) -> "EventView":
        """Return an event of the log with its sentence; `node_name` names a node by its id."""
        tone, audience = look_of(event)
        text = sentence_of(event, node_name)
        said = {"who": who_of(event), "text": text, "detail": detail_of(event)}
        return EventView.model_validate(dict(event) | said | {"tone": tone, "audience": audience})


class EventPageView(ApiView):
    """A page of the event log, oldest first; `next` is the `seq` to pass as `after`.

    `previous` is the `seq` to pass as `before` for older events, if the request had `before`; None
    at the start.
    """

    events: tuple[EventView, ...]
    next: int
    previous: int | None = None

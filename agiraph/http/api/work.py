"""The work of a run: nodes, stages and workers; its files, its memory, its events."""

from collections.abc import Callable
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from agiraph.board.failure_class import FailureClass
from agiraph.core.event_types import Audience, Tone
from agiraph.core.ids import NodeId, RunId, WorkerId
from agiraph.core.models import Event, NodeMove
from agiraph.core.results import CheckResult, Evidence
from agiraph.core.specs import ForEach, PlannedTerms
from agiraph.http.api.base import ApiRequest, ApiView
from agiraph.logs.event_text import detail_of, look_of, sentence_of, who_of


class NodeView(PlannedTerms, ApiView):
    """A node of the board. `assigned_worker` is a name; `result_preview` 200 characters at most;
    `failure_class` is the machine-readable cause of a failure, whose text is the `reason`.

    `checks` are the commands that its result must pass before it is published, `refs` what it is
    given to read: paths under the run by the names that it knows them by. `optional`: its plan is
    carried out without it, too. `when` has the conditions of its dependencies. One with `for_each`
    was done for each item of a list by the nodes that are a `copy_of` it.
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
    folder: str = ""
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
    `failed_before` is why the attempt before ended, if it is tried again; `move` is where it goes
    once its worker has let go of it; `earlier_attempts` are those whose published files were put
    aside, to be read with `attempt`;
    `evidence` are its checks as they ended, and the SHA-256 of what it has published.
    """

    path: str = ""
    details: str = ""
    failed_before: str = ""
    move: NodeMove | None = None
    earlier_attempts: tuple[int, ...] = ()
    evidence: Evidence | None = None


class RetryNodeRequest(ApiRequest):
    """POST /agents/{a}/board/{node}/retry: `because` says what is different now."""

    because: str = Field(default="", max_length=4000)


class CancelNodeRequest(ApiRequest):
    """POST /agents/{a}/board/{node}/cancel: `because` is what the coordinator reads."""

    because: str = Field(default="", max_length=4000)


class AssignNodeRequest(ApiRequest):
    """POST /agents/{a}/board/{node}/assign: to this worker (by name or id), or to any with this
    model; `because` is what the coordinator and its next worker read."""

    worker: str | None = Field(default=None, min_length=1)
    model: str | None = Field(default=None, min_length=1)
    because: str = Field(default="", max_length=4000)


class RefView(ApiView):
    """What a node is given to read: a file or folder under the run, and whether it is there yet."""

    name: str
    path: str
    is_there: bool = False
    size: int | None = None


class DeliveredFileView(ApiView):
    """A file that a run has delivered: its `name` in a folder of the whole result, its `path` under
    the run, the `node` that published it (null: the coordinator wrote it), and its size in bytes
    (null: the file cannot be found any more). `is_spelled`: the name on disk has control characters
    or bytes that are not UTF-8, which `name` and `path` have as escapes, such as `caf\\xe9.txt`."""

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
    """GET /agents/{a}/result: what a run has delivered so far; the answer is `_output.md`."""

    files: tuple[DeliveredFileView, ...] = ()
    checks: tuple[NodeChecksView, ...] = ()


PlanForm = Literal["tree", "mermaid", "dot", "svg", "html", "json", "yaml"]


class CheckPlanRequest(ApiRequest):
    """POST /plans/check: the text of a plan file, and in which `form` it is wanted.

    `tree`, `mermaid`, `dot` (Graphviz), `svg` and `html` are drawings of its nodes; `json` is its
    graph, `yaml` the file itself, written as YAML.
    """

    plan: str = Field(min_length=1)
    form: PlanForm = "tree"


class PlanCheckView(ApiView):
    """A plan that can be followed: how many nodes and workers it has, and its `text` in a form."""

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

    `seq` counts what has happened on the board so far: pass it as `at` to see it so again.
    `max_concurrent` is how many nodes may run at once (the setting `run.max_concurrent`), null for
    an earlier state of the board.
    """

    run: RunId | None = None
    seq: int = 0
    nodes: tuple[NodeView, ...] = ()
    stages: tuple[StageView, ...] = ()
    current_stage: int = -1
    max_concurrent: int | None = None


class WorkerView(ApiView):
    """A worker. `node` is the name of the node it holds; `step` what it does right now.

    `status`: idle, busy, paused, waiting_for_human or stopped. `unread` counts its messages that
    the person has not read. `doing` is `step` told to people, `doing_since` when that began, as in
    an `EntityView`; `process` is the state of its process, null if there is none, and `host`
    the machine that this is on, as in an `EntityView`. `tokens` and `cost_usd` are what it has
    spent, null while the broker is away; `is_estimate`: some of it was not counted by the service.
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

    With `depth` each folder is followed by what is in it.
    """

    path: str
    entries: tuple[FileEntryView, ...]
    is_truncated: bool = False


class FileContentView(ApiView):
    """GET workspace on a file: the bytes from `offset`, as text, or base64 if they are no UTF-8.

    `is_truncated` says that the file continues; read on at `offset + returned`. `media_type`
    follows from its name, `etag` changes when the file does.
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
    """A file that was attached; entities of the run read it at `path`."""

    path: str
    name: str
    size: int
    media_type: str = ""


class RawFileView(ApiView):
    """Bytes of a file or a stretch of it; `size` is the whole file's, `etag` names its state."""

    content: bytes
    media_type: str
    etag: str
    size: int


class SearchMemoryRequest(ApiRequest):
    """POST /agents/{a}/memory/search: words that the notes may hold."""

    query: str = Field(min_length=1, max_length=2000)


class MemoryEntryView(ApiView):
    """A file of an agent's memory; `path` as the agent names it: `MEMORY.md`, `knowledge/x.md`.

    `etag` changes when the file does.
    """

    path: str
    size: int
    modified_at: float
    etag: str = ""


class EditMemoryRequest(ApiRequest):
    """PUT /agents/{a}/memory/{path}: the whole text of the file.

    `tell`: a coordinator that is at work is sent a message that the file was edited.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(str_strip_whitespace=False)

    content: str = Field(pattern=r"\S", max_length=2_000_000)
    tell: bool = True


class MemoryVersionView(ApiView):
    """One text that a memory file had; `by` an entity or `human`, '' if nobody knows.

    `change`: written, added to, removed, or found (written by a command or an editor). `via` is
    the token by which a person wrote, `size` in characters. `content` is given with one version.
    """

    number: int
    at: float
    by: str = ""
    via: str = ""
    change: Literal["written", "added to", "removed", "found"]
    size: int
    content: str | None = None


class MemoryHitView(ApiView):
    """A section of a memory that fits a query; a higher `score` fits better."""

    path: str
    heading: str
    score: float
    text: str


class EventView(Event):
    """An event with its sentence in English, rendered from the table of event types.

    `who` names the acting entity, `text` is the sentence without it, `detail` the key of the longer
    text in `data` that belongs to it ('' if there is none).
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
    """A stretch of the event log, oldest first; `next` is the `seq` to pass as `after`.

    `previous` is the one to pass as `before` for older ones, where `before` was; None at the start.
    """

    events: tuple[EventView, ...]
    next: int
    previous: int | None = None

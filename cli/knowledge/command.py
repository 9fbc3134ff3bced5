"""`agiraph knowledge`: the knowledge from earlier work: search, show, add, remove, export."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from agiraph.core.ids import abbreviated
from agiraph.http.api import (
    AddKnowledgeRequest,
    EventView,
    ForgetKnowledgeRequest,
    KnowledgeNodeView,
    PruneKnowledgeRequest,
    ScanProjectRequest,
    SearchKnowledgeRequest,
)
from agiraph.knowledge.records import KnowledgeKind
from agiraph.knowledge.remembered import RememberedKind
from cli.api_command import api_command, api_group
from cli.knowledge.export import (
    KINDS,
    export,
    export_obsidian,
    kinds_option,
    project_option,
)
from cli.options.remote import is_elsewhere
from cli.options.shared import duration, examples, home_option, json_option, text_argument
from cli.output.formats import format_size, format_time
from cli.output.listing import Column, Details, Done, JsonObject, Listing, Shown
from cli.run.supervisor_share import connect_or_start
from cli.sanitize import printable

if TYPE_CHECKING:
    from agiraph.http.client import Client

FIELDS = "id, kind, title, text, project_id, tags, importance, created, updated, used ..."
USED_EVENT = "knowledge.used"
ADDED = get_args(RememberedKind)


def _short(value: Any) -> str:
    return abbreviated(str(value))


def _score(value: Any) -> str:
    return f"{value:.2f}"


NODES = (
    Column("ID", "id", _short),
    Column("KIND", "kind"),
    Column("CHANGED", "updated", format_time, spare=1),
    Column("USED", "used", align="right", spare=2),
    Column("PROJECT", "project_id", spare=3),
    Column("TITLE", "title", wide=True),
)
HITS = (
    Column("SCORE", "score", _score, align="right"),
    Column("ID", "id", _short),
    Column("KIND", "kind"),
    Column("TITLE", "title", wide=True),
    Column("TEXT", "snippet", spare=1),
)
WHY = (
    Column("RUN", "run", spare=3),
    Column("CYCLE", "cycle", align="right", spare=2),
    Column("SCORE", "score", _score, align="right"),
    Column("ID", "id", _short),
    Column("KIND", "kind"),
    Column("TITLE", "title", wide=True),
    Column("WHY", "why"),
)


@api_group(
    "agiraph knowledge",
    "agiraph knowledge search 'database migration'",
    "agiraph knowledge why my-agent",
    "agiraph knowledge scan ~/src/shop",
    "agiraph knowledge export-obsidian ~/vault --types task,decision",
    json=f"a JSON array: {FIELDS}",
)
def knowledge(client: "Client") -> Shown:
    """Notes of earlier work: list the newest, or use one of the subcommands."""
    return Listing(client.knowledge().nodes, NODES, "nothing has been learned yet")


@api_command(
    "agiraph knowledge search 'timeouts in tests'",
    "agiraph knowledge search deploy --types decision,mistake --project .",
    json="a JSON array: node, score, words, snippet, is_same_project",
    group=knowledge,
)
@click.argument("words", nargs=-1, required=True)
@kinds_option
@project_option
@click.option("--limit", default=20, type=click.IntRange(1, 200), help="At most this many [20].")
def search(
    client: "Client",
    words: tuple[str, ...],
    kinds: tuple[KnowledgeKind, ...],
    project: str,
    limit: int,
) -> Shown:
    """Find notes with WORDS, the best first; notes of --project come before others."""
    query = text_argument(" ".join(words), "WORDS")
    asked = SearchKnowledgeRequest(query=query, kinds=kinds, project=project, limit=limit)
    found = client.search_knowledge(asked)
    rows = [hit.node.model_dump(mode="json") | hit.model_dump(exclude={"node"}) for hit in found]
    return Listing(found, HITS, "nothing fits these words", rows=rows)


@api_command(
    "agiraph knowledge show c-3fa9c1d0",
    json="one JSON object: node, neighbors (node, kind, is_outgoing, weight)",
    group=knowledge,
)
@click.argument("node")
def show(client: "Client", node: str) -> Shown:
    """Show NODE, an id or its beginning, with its whole text and connections."""
    found = client.knowledge_node(node)
    return Details(found, _in_full(found))


def _in_full(found: KnowledgeNodeView) -> JsonObject:
    fields = found.node.model_dump(mode="json", exclude={"data", "text", "created", "updated"})
    times = {"created_at": found.node.created, "changed_at": found.node.updated}
    facts = {
        key: value for key, value in found.node.data.items() if value not in (None, "", [], {})
    }
    last = {"last_used_at": fields.pop("last_used")}
    fields["tags"] = ", ".join(found.node.tags)
    rows = [
        f"{one.kind} {'→' if one.is_outgoing else '←'} {_short(one.node.id)} {one.node.kind}: "
        f"{one.node.title}"
        for one in found.neighbors
    ]
    told = {key: _fact(value) for key, value in facts.items()}
    more = {"text": found.node.text, "connected_with": "\n".join(rows)}
    return {**fields, **times, **last, **told, **more}


def _fact(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@api_command(
    "agiraph knowledge why my-agent",
    json="a JSON array: run, cycle, id, kind, title, score, why",
    group=knowledge,
)
@click.argument("agent")
def why(client: "Client", agent: str) -> Shown:
    """Show the notes that entered the prompts of AGENT, run by run, and why."""
    rows = [row for event in _used(client, agent) for row in _rows_of(event)]
    return Listing(rows, WHY, "nothing of earlier work entered its prompts")


def _used(client: "Client", agent: str) -> list[EventView]:
    found: list[EventView] = []
    after = 0
    while (page := client.events(agent, after=after, types=(USED_EVENT,))).next > after:
        found += page.events
        after = page.next
    return found


def _rows_of(event: EventView) -> list[JsonObject]:
    of = {"run": event.run_id, "cycle": event.data.get("cycle")}
    return [of | note for note in event.data.get("notes", ()) if isinstance(note, dict)]


@api_command(
    "agiraph knowledge add preference 'Short reports' 'At most one page.'",
    "agiraph knowledge add decision 'PostgreSQL' - --project . < why.md",
    json="one JSON object: node, neighbors",
    group=knowledge,
    connects=connect_or_start,
)
@click.argument("kind", type=click.Choice(ADDED))
@click.argument("title")
@click.argument("text")
@project_option
@click.option("--tag", "tags", multiple=True, help="A word to find it by; repeatable.")
def add(
    client: "Client",
    kind: RememberedKind,
    title: str,
    text: str,
    project: str,
    tags: tuple[str, ...],
) -> Shown:
    """Keep TEXT (- for stdin) under TITLE for all later runs, or for runs of --project."""
    body = text_argument(text, "TEXT")
    what = AddKnowledgeRequest(kind=kind, title=title, text=body, tags=tags, project=project)
    added = client.add_knowledge(what)
    return Done(
        added, f"{_short(added.node.id)}: {added.node.kind} '{printable(added.node.title)}'"
    )


@knowledge.command(
    epilog=examples(
        "agiraph knowledge rm c-3fa9c1d0",
        "agiraph knowledge rm --agent my-agent-3fa9c1 --yes",
        "agiraph knowledge rm --project ~/src/shop",
    )
)
@click.argument("nodes", metavar="[NODE]...", nargs=-1)
@click.option("--agent", default=None, help="All that came from this agent (its id).")
@project_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@home_option
@json_option("one JSON object: removed")
@click.pass_context
def rm(
    ctx: click.Context,
    nodes: tuple[str, ...],
    agent: str | None,
    project: str,
    yes: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Remove each NODE, or all of an agent or a project, for good; nothing of it stays on disk."""
    if not nodes and agent is None and not project:
        raise click.UsageError("name a NODE, --agent or --project")
    if not yes and (agent is not None or project):
        whom = " and ".join(filter(None, (agent, project)))
        if not click.confirm(f"Remove all that was learned from {whom}?", err=True):
            raise click.ClickException("nothing was removed")
    what = ForgetKnowledgeRequest.model_validate({"ids": nodes, "agent": agent, "project": project})
    with connect_or_start(home) as client:
        forgotten = client.forget_knowledge(what)
    done = Done(forgotten, f"{_count(forgotten.removed)} removed")
    ctx.exit(done.print(as_json=as_json))


def _count(number: int) -> str:
    return f"{number:,} node{'' if number == 1 else 's'}"


@knowledge.command(epilog=examples("agiraph knowledge scan .", "agiraph knowledge scan ~/src/shop"))
@click.argument("folder")
@home_option
@json_option("one JSON object: project_id, files, stack, new, changed, gone, skipped, seconds ...")
@click.pass_context
def scan(ctx: click.Context, folder: str, home: Path, as_json: bool) -> None:
    """Scan the project in FOLDER: its tools, files and patterns.

    With --url it is a folder of that machine.
    """
    path = folder if is_elsewhere() else _existing(folder)
    with connect_or_start(home) as client:
        done = client.scan_project(ScanProjectRequest(path=path))
    text = (
        f"{done.project_id}: {done.files:,} files; {done.new:,} nodes new,"
        f" {done.changed:,} changed, {done.gone:,} gone ({done.seconds:.1f} s)"
    )
    stack = f"built with: {', '.join(done.stack)}" if done.stack else ""
    ctx.exit(Done(done, text, remark=stack).print(as_json=as_json))


def _existing(folder: str) -> str:
    """Return the path of a folder on this machine. Raises UsageError if there is none."""
    path = os.path.realpath(os.path.expanduser(folder))
    if not os.path.isdir(path):  # plain: named by the person
        raise click.UsageError(f"'{folder}' is not an existing folder")
    return path


@api_command(
    "agiraph knowledge stats",
    json="one JSON object: nodes, edges, by_kind, by_project, by_month, most_used, size_bytes ...",
    group=knowledge,
)
def stats(client: "Client") -> Shown:
    """Count the notes in the knowledge database, and their uses."""
    found = client.knowledge_stats()
    counts = {
        "nodes": f"{found.nodes:,}",
        "edges": f"{found.edges:,}",
        "size": format_size(found.size_bytes),
        "never_used": f"{found.never_used:,}",
        "kinds": _counted(found.by_kind),
        "connections": _counted(found.by_edge),
        "months": _counted(found.by_month),
        "projects": "\n".join(
            f"{one.project_id} {one.nodes:,} {one.title}".rstrip() for one in found.by_project
        ),
        "most_used": "\n".join(
            f"{one.used:,} × {_short(one.id)} {one.kind}: {one.title}" for one in found.most_used
        ),
    }
    return Details(found, counts)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items())


@api_command(
    "agiraph knowledge prune --older-than 180d",
    "agiraph knowledge prune --older-than 90d --below 0.3 --keep decision,task",
    "agiraph knowledge prune --older-than 90d --yes",
    json="one JSON object: by_kind, examples, nodes_pruned, is_dry_run; without --yes a dry run",
    group=knowledge,
    connects=connect_or_start,
)
@click.option(
    "--older-than",
    "seconds",
    type=duration(least=0),
    required=True,
    help="Only notes that were neither changed nor used for this time, such as 90d.",
)
@click.option(
    "--below", default=0.3, type=click.FloatRange(0, 1), help="Only notes of less worth [0.3]."
)
@click.option(
    "--keep", type=KINDS, default="preference,project", help="Kinds that stay [preference,project]."
)
@click.option("--dry-run", is_flag=True, help="Show the notes that would be removed; remove none.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def prune(
    client: "Client",
    seconds: float,
    below: float,
    keep: tuple[KnowledgeKind, ...],
    dry_run: bool,
    yes: bool,
) -> Shown:
    """Show old notes of little worth, and remove them after confirmation."""
    asked = PruneKnowledgeRequest(older_than_seconds=seconds, below=below, keep=keep)
    found = client.prune_knowledge(asked)
    told = f"{_count(found.nodes_pruned)} ({_counted(found.by_kind)})".replace(" ()", "")
    is_json = bool(click.get_current_context().params.get("as_json"))
    if not found.nodes_pruned or dry_run or (is_json and not yes):
        return Done(found, f"{told} would be removed")
    if not yes and not click.confirm(f"Remove {told}?", err=True):
        raise click.ClickException("nothing was removed")
    done = client.prune_knowledge(asked.model_copy(update={"dry_run": False}))
    return Done(done, f"{_count(done.nodes_pruned)} removed")


knowledge.add_command(export)
knowledge.add_command(export_obsidian)

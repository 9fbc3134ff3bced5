"""`agiraph knowledge export` and `export-obsidian`: the notes, as lines or as a vault."""

import os
from pathlib import Path

import click

from agiraph.core.json_text import parse_json
from agiraph.knowledge.records import (
    KNOWLEDGE_KINDS,
    KnowledgeEdge,
    KnowledgeKind,
    KnowledgeNode,
    kinds_named,
)
from cli.options.remote import is_elsewhere
from cli.options.shared import Parsed, connect_to_read, examples, home_option, json_option
from cli.output.listing import Done


def _kinds(text: str) -> tuple[KnowledgeKind, ...]:
    return kinds_named(name.strip() for name in text.split(",") if name.strip())


def _folder(text: str) -> str:
    """Return a project as the API expects it: its id, or the absolute path of its folder."""
    if is_elsewhere() or not (os.sep in text or os.path.isdir(text)):  # plain: the person's own
        return text
    return os.path.realpath(os.path.expanduser(text))


KINDS = Parsed("KINDS", _kinds)
kinds_option = click.option(
    "--types",
    "kinds",
    type=KINDS,
    default="",
    help=f"Only these kinds, with commas: {', '.join(KNOWLEDGE_KINDS)}.",
)
project_option = click.option(
    "--project", type=Parsed("PROJECT", _folder), default="", help="The folder or id of a project."
)


@click.command(
    epilog=examples(
        "agiraph knowledge export > knowledge.jsonl",
        "agiraph knowledge export --types decision,mistake --project .",
    )
)
@kinds_option
@project_option
@home_option
def export(kinds: tuple[KnowledgeKind, ...], project: str, home: Path) -> None:
    """Print nodes, and the edges between them, as lines of JSON: {"node": ...}, {"edge": ...}."""
    with connect_to_read(home) as client:
        for line in client.export_knowledge(kinds=kinds, project=project):
            click.echo(line)


@click.command(
    "export-obsidian",
    epilog=examples(
        "agiraph knowledge export-obsidian ~/vault",
        "agiraph knowledge export-obsidian ~/vault --types task,decision",
    ),
)
@click.argument("vault", type=click.Path(path_type=Path, file_okay=False))
@kinds_option
@home_option
@json_option("one JSON object: notes_written, edges_linked, folders, notes_unchanged ...")
@click.pass_context
def export_obsidian(
    ctx: click.Context, vault: Path, kinds: tuple[KnowledgeKind, ...], home: Path, as_json: bool
) -> None:
    """Write the notes into the folder VAULT, for Obsidian, which shows them as a graph.

    A second export updates changed notes. Notes that you have edited stay as they are.
    """
    from agiraph.knowledge.obsidian.vault import export_vault

    nodes, edges = [], []
    with connect_to_read(home) as client:
        for line in client.export_knowledge():
            record = parse_json(line)
            if "node" in record:
                nodes.append(KnowledgeNode.model_validate(record["node"]))
            else:
                edges.append(KnowledgeEdge.model_validate(record["edge"]))
    done = export_vault(vault, nodes, edges, kinds)
    text = (
        f"{vault}: {done.notes_written:,} notes written, {done.notes_unchanged:,} unchanged,"
        f" {done.notes_removed:,} removed; {done.edges_linked:,} links"
    )
    kept = f"{done.notes_kept:,} that you have changed stay as they are" if done.notes_kept else ""
    ctx.exit(Done(done, text, remark=kept).print(as_json=as_json))

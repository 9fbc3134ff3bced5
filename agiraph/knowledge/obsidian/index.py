"""Index: the map of content of a vault, and the settings for Obsidian."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agiraph.knowledge.obsidian.notes import FOLDERS, link_to
from agiraph.knowledge.records import KnowledgeKind

MOST_LISTED: Final = 100
COLORS: Final[dict[KnowledgeKind, int]] = {
    "task": 0x4FC3F7,
    "decision": 0xFFC107,
    "pattern": 0x66BB6A,
    "mistake": 0xEF5350,
    "conversation": 0xAB47BC,
    "code_snippet": 0x26A69A,
    "preference": 0xEC407A,
    "file": 0x90A4AE,
    "project": 0x7C3AED,
}
SETTINGS: Final = ".obsidian"


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A note as a row of the index."""

    path: str
    title: str
    importance: float


def index_text(
    entries: Mapping[KnowledgeKind, Sequence[IndexEntry]], links: Mapping[KnowledgeKind, int]
) -> str:
    """Return the map of content: the numbers of notes and links of each kind, and the notes.

    It contains no time, so that it changes only when the notes do.
    """
    kinds = [kind for kind in FOLDERS if entries.get(kind)]
    lines = ["# Context", "", "| kind | notes | links |", "| --- | ---: | ---: |"]
    for kind in kinds:
        lines.append(f"| [[#{FOLDERS[kind]}]] | {len(entries[kind])} | {links.get(kind, 0)} |")
    notes = sum(len(entries[kind]) for kind in kinds)
    lines.append(f"| all | {notes} | {sum(links.get(kind, 0) for kind in kinds)} |")
    for kind in kinds:
        best = sorted(
            entries[kind], key=lambda one: (-one.importance, one.title.casefold(), one.path)
        )
        lines += ["", f"## {FOLDERS[kind]}", ""]
        lines += [f"- {link_to(one.path, one.title)}" for one in best[:MOST_LISTED]]
        if len(best) > MOST_LISTED:
            lines.append(f"- and {len(best) - MOST_LISTED} more in `{FOLDERS[kind]}/`")
    return "\n".join(lines) + "\n"


def settings_files() -> dict[str, str]:
    """Return Obsidian's settings by path: a colour for each kind in the graph, a dark theme."""
    groups = [
        {"query": f'path:"{FOLDERS[kind]}/"', "color": {"a": 1, "rgb": COLORS[kind]}}
        for kind in FOLDERS
    ]
    graph = {"collapse-color-groups": False, "colorGroups": groups, "showTags": False}
    theme = {"theme": "obsidian", "baseFontSize": 16}
    return {
        f"{SETTINGS}/graph.json": json.dumps(graph, indent=2) + "\n",
        f"{SETTINGS}/appearance.json": json.dumps(theme, indent=2) + "\n",
    }

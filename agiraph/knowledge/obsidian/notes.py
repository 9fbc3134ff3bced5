"""Notes: a node as a note of a vault: frontmatter, its text made harmless, and its links.

Notes contain texts of models, and plug-ins of Obsidian read them: no part of them may be run (by
Templater, Dataview), be loaded from the network when the note is opened, or look like a link or a
tag of ours.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from agiraph.knowledge.records import EDGE_KINDS, EdgeKind, KnowledgeKind, KnowledgeNode

FOLDERS: Final[dict[KnowledgeKind, str]] = {
    "task": "Tasks",
    "decision": "Decisions",
    "pattern": "Patterns",
    "mistake": "Mistakes",
    "conversation": "Conversations",
    "code_snippet": "Code Snippets",
    "preference": "Preferences",
    "file": "Files",
    "project": "Projects",
}
EDGE_TITLES: Final[dict[EdgeKind, tuple[str, str]]] = {
    "part_of": ("Part of", "Has parts"),
    "made_in": ("Made in", "Made here"),
    "led_to": ("Led to", "Comes from"),
    "corrects": ("Corrects", "Corrected by"),
    "uses": ("Uses", "Used by"),
    "about": ("About", "Described by"),
    "related": ("Related to", "Related from"),
}
MOST_LINKS: Final = 200
"""Limit for one kind of edge in one note: a project has thousands of files."""

FENCE: Final = re.compile(
    r"^(?P<indent>[ \t>]*)(?P<fence>```+|~~~+)[ \t]*(?P<language>[^\s`{]*).*$"
)
LANGUAGE_NAMES: Final = """
    python py javascript js typescript ts tsx jsx java kotlin scala go rust c cpp c++ csharp cs
    swift ruby php elixir erlang haskell ocaml lua r julia dart perl bash sh shell zsh console
    powershell sql html css scss vue svelte json yaml toml xml ini diff dockerfile makefile graphql
    proto text txt markdown md"""
KNOWN_LANGUAGES: Final = frozenset(LANGUAGE_NAMES.split())
MARKUP: Final = re.compile(r"([\\`*_<\[\]#%=$!~])")
HTML: Final = re.compile(r"<(?=[A-Za-z/!?])")
COMPUTED: Final = re.compile(r"`(?=\$?=)")
HASH_TAG: Final = re.compile(r"(?<![\w&])#(?=[^\s#])")
NOT_IN_LINK: Final = re.compile(r"[\[\]|<>`%\\]+")
CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
ENCODER: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
TAG: Final = re.compile(r"[^\w/-]+")


@dataclass(frozen=True, slots=True)
class NoteLink:
    """An edge as a link in the note at one of its ends: path and title of the other note."""

    kind: EdgeKind
    is_outgoing: bool
    path: str
    title: str
    weight: float = 1.0


def note_text(node: KnowledgeNode, links: Sequence[NoteLink]) -> str:
    """Return the whole note of a node."""
    parts = [
        f"---\n{frontmatter(node)}---",
        f"# {one_line(node.title)}",
        harmless(node.text),
        _links("Outgoing", "→", [link for link in links if link.is_outgoing]),
        _links("Incoming", "←", [link for link in links if not link.is_outgoing]),
    ]
    return _no_template("\n\n".join(filter(None, parts)) + "\n")


def frontmatter(node: KnowledgeNode) -> str:
    """Return the properties of a note as YAML: each value is JSON, which YAML can read."""
    tags = [node.kind, *filter(None, map(tag_of, node.tags))]
    values: dict[str, Any] = {
        "id": node.id,
        "type": node.kind,
        "aliases": [node.title],
        "tags": list(dict.fromkeys(tags)),
        "importance": node.importance,
        "created": _time(node.created),
        "updated": _time(node.updated),
        "project_id": node.project_id,
        "agent": node.agent or None,
        "run": node.run or None,
        "used": node.used,
        "metadata": node.data,
    }
    return "".join(f"{key}: {_yaml(value)}\n" for key, value in values.items() if value is not None)


def tag_of(text: str) -> str:
    """Return a text as a tag of Obsidian, '' if no valid character is left."""
    tag = TAG.sub("-", text.strip().lstrip("#")).strip("-/")
    return f"n{tag}" if tag.isdigit() else tag


def link_to(path: str, title: str) -> str:
    """Return a link to a note by its path in the vault, shown as its title."""
    shown = " ".join(NOT_IN_LINK.sub(" ", _visible(title)).split())
    return f"[[{path}|{shown or path.rpartition('/')[2]}]]"


def one_line(text: str) -> str:
    """Return a title for use within a line: it contains no markup and no tag."""
    line = " ".join(_visible(text).split())
    return MARKUP.sub(r"\\\1", line) if line else "Untitled"


def harmless(text: str) -> str:
    """Return a node's text for a note, with links, embeds, tags and live code disabled."""
    lines: list[str] = []
    fence = ""
    for line in _visible(text).strip().splitlines():
        found = FENCE.match(line)
        if fence:
            lines.append(line)
            if found and found["fence"].startswith(fence) and not found["language"]:
                fence = ""
        elif found:
            fence = found["fence"]
            language = found["language"].lower()
            shown = language if language in KNOWN_LANGUAGES else "text" if language else ""
            lines.append(f"{found['indent']}{fence}{shown}")
        else:
            lines.append(_prose(line))
    if fence:
        lines.append(fence)
    return "\n".join(lines)


def _no_template(text: str) -> str:
    """Return a text in which no Templater command begins: Templater reads the whole file."""
    return text.replace("<%", "< %")


def _prose(line: str) -> str:
    """Return a line as Obsidian shows plain text: without links, embeds, tags, HTML and code."""
    line = HTML.sub(r"\\<", line)  # HTML
    line = line.replace("![", r"\![").replace("[[", r"\[\[")  # pictures and embeds, links
    line = COMPUTED.sub("` ", line)  # computed by Dataview
    line = HASH_TAG.sub(r"\\#", line)  # tags
    line = line.replace("%%", r"\%\%")  # comments would hide the text after them
    return "\\---" if line.strip() == "---" else line


def _visible(text: str) -> str:
    """Return a text without invisible characters and without characters that change direction."""
    if text.isascii():
        return CONTROL.sub("", text)
    return "".join(
        one for one in text if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cf", "Cs")
    )


def _links(title: str, arrow: str, links: Sequence[NoteLink]) -> str:
    """Return the links of one direction by kind of edge, '' if there are none."""
    if not links:
        return ""
    lines = [f"## {title}"]
    for kind in EDGE_KINDS:
        of_kind = [link for link in links if link.kind == kind]
        if not of_kind:
            continue
        of_kind.sort(key=lambda link: (-link.weight, link.title.casefold(), link.path))
        heading = EDGE_TITLES[kind][0 if title == "Outgoing" else 1]
        lines += ["", f"### {arrow} {heading}", ""]
        lines += [f"- {link_to(link.path, link.title)}" for link in of_kind[:MOST_LINKS]]
        if len(of_kind) > MOST_LINKS:
            lines.append(f"- and {len(of_kind) - MOST_LINKS} more")
    return "\n".join(lines)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _yaml(value: Any) -> str:
    """Return a value as JSON that is also YAML: characters that YAML cannot print are left out."""
    return ENCODER.encode(_printable(value))


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        if value.isascii():
            return CONTROL.sub("", value)
        return "".join(one for one in value if one in "\n\t" or _is_printable(one))
    if isinstance(value, Mapping):
        return {_printable(key): _printable(inner) for key, inner in value.items()}
    if isinstance(value, Iterable):
        return [_printable(inner) for inner in value]
    return value


def _is_printable(one: str) -> bool:
    return unicodedata.category(one) not in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")

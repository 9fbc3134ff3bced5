"""The export as a vault: notes and links, a second export, and the person's own changes."""

import json
import re
from pathlib import Path

import pytest
import yaml

from agiraph.core.errors import InvalidInput
from agiraph.knowledge.obsidian.notes import harmless, tag_of
from agiraph.knowledge.obsidian.vault import MANIFEST, VaultExport, export_vault
from agiraph.knowledge.records import KnowledgeEdge, KnowledgeKind, KnowledgeNode
from tests.unit.knowledge.knowledge_nodes import node

DECIDED = node("Use SQLite", text="It is **there**.", tags=("data base", "12"), project_id="p",
               importance=0.8, agent="shop-1", data={"rationale": "one file"})  # fmt: skip
TASK = node("Build the shop", "task")
MISTAKE = node("Port 8080: in use?", "mistake")
NODES = [DECIDED, TASK, MISTAKE]
EDGES = [
    KnowledgeEdge(source=DECIDED.id, target=TASK.id, kind="made_in"),
    KnowledgeEdge(source=MISTAKE.id, target=TASK.id, kind="made_in"),
    KnowledgeEdge(source=TASK.id, target=MISTAKE.id, kind="corrects"),
    KnowledgeEdge(source=TASK.id, target="c-nowhere", kind="about"),
]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "vault"


def snapshot(vault: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file with its content and inode: a rewritten file has another inode."""
    return {
        path.relative_to(vault).as_posix(): (path.read_bytes(), path.stat().st_ino)
        for path in vault.rglob("*")
        if path.is_file()
    }


def properties(note: str) -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load(note.split("---\n")[1])
    return found


def test_each_node_is_a_note_in_its_folder_with_properties_and_links(vault: Path) -> None:
    done = export_vault(vault, NODES, EDGES)
    assert done == VaultExport(
        notes_written=3, edges_linked=3, folders=("Tasks", "Decisions", "Mistakes")
    )
    note = (vault / "Decisions/Use SQLite.md").read_text()
    found = properties(note)
    assert found["type"] == "decision"
    assert found["tags"] == ["decision", "data-base", "n12"]
    assert (found["importance"], found["project_id"]) == (0.8, "p")
    assert found["created"] == found["updated"] == "2027-01-15T08:00:00Z"
    assert found["metadata"] == {"rationale": "one file"}
    assert "# Use SQLite\n\nIt is **there**.\n" in note
    assert note.endswith("### → Made in\n\n- [[Tasks/Build the shop|Build the shop]]\n")
    task = (vault / "Tasks/Build the shop.md").read_text()
    assert (
        "## Outgoing\n\n### → Corrects\n\n- [[Mistakes/Port 8080 in use|Port 8080: in use?]]"
        in task
    )
    assert "## Incoming\n\n### ← Made here\n\n- [[Mistakes/Port 8080 in use|" in task


def test_the_index_counts_and_lists_and_obsidian_finds_its_settings(vault: Path) -> None:
    export_vault(vault, NODES, EDGES)
    index = (vault / "_Index.md").read_text()
    assert "| [[#Tasks]] | 1 | 1 |" in index
    assert "| all | 3 | 3 |" in index
    assert "- [[Decisions/Use SQLite|Use SQLite]]" in index
    graph = json.loads((vault / ".obsidian/graph.json").read_text())
    queries = [group["query"] for group in graph["colorGroups"]]
    assert queries[:2] == ['path:"Tasks/"', 'path:"Decisions/"']
    assert json.loads((vault / ".obsidian/appearance.json").read_text())["theme"] == "obsidian"


def test_second_export_changes_only_changed_notes(vault: Path) -> None:
    export_vault(vault, NODES, EDGES)
    before = snapshot(vault)
    again = export_vault(vault, reversed(NODES), reversed(EDGES))
    assert (again.notes_written, again.notes_unchanged, again.edges_linked) == (0, 3, 3)
    assert snapshot(vault) == before

    changed = DECIDED.model_copy(update={"text": "It was."})
    third = export_vault(vault, [changed, TASK], EDGES)
    assert (third.notes_written, third.notes_unchanged, third.notes_removed) == (2, 0, 1)
    after = snapshot(vault)
    assert before.keys() - after.keys() == {"Mistakes/Port 8080 in use.md"}
    assert {path for path in after if after[path] != before[path]} == {
        "Decisions/Use SQLite.md", "Tasks/Build the shop.md", "_Index.md", MANIFEST,
    }  # fmt: skip


def test_files_of_the_person_are_never_changed(vault: Path) -> None:
    (vault / "Decisions").mkdir(parents=True)
    (vault / ".obsidian").mkdir()
    own = {"Decisions/use sqlite.md": "mine", "_Index.md": "my index", "Notes.md": "n",
           ".obsidian/graph.json": "{}"}  # fmt: skip
    for path, text in own.items():
        (vault / path).write_text(text)
    export_vault(vault, NODES, EDGES)
    marked = f"Decisions/Use SQLite (c-{DECIDED.id[2:10]}).md"
    assert (vault / marked).exists()
    assert "[[Tasks/Build the shop|" in (vault / "_Index (Agiraph).md").read_text()

    (vault / marked).write_text("changed by hand")
    (vault / "Mistakes/Port 8080 in use.md").write_text("changed, too")
    (vault / "Tasks/Build the shop.md").unlink()
    done = export_vault(vault, [DECIDED.model_copy(update={"text": "new"}), TASK], EDGES)
    assert (done.notes_kept, done.notes_written, done.notes_removed) == (2, 1, 0)
    assert (vault / marked).read_text() == "changed by hand"
    assert (vault / "Mistakes/Port 8080 in use.md").read_text() == "changed, too"
    assert {path: (vault / path).read_text() for path in own} == own


def test_note_is_renamed_with_its_title_and_keeps_its_name_beside_similar_titles(
    vault: Path,
) -> None:
    export_vault(vault, NODES, EDGES)
    older = node("use sqlite!", created=1.0).model_copy(update={"title": "use SQLITE"})
    export_vault(vault, [older, *NODES], EDGES)
    assert (vault / "Decisions/Use SQLite.md").exists(), "whatever comes, it keeps its name"
    assert (vault / f"Decisions/use SQLITE (c-{older.id[2:10]}).md").exists()
    renamed = DECIDED.model_copy(update={"title": "Use Postgres"})
    export_vault(vault, [renamed, TASK, MISTAKE], EDGES)
    assert [path.name for path in (vault / "Decisions").iterdir()] == ["Use Postgres.md"]
    assert "[[Decisions/Use Postgres|" in (vault / "Tasks/Build the shop.md").read_text()


def test_only_requested_kinds_are_exported_and_other_notes_are_kept(vault: Path) -> None:
    kinds: tuple[KnowledgeKind, ...] = ("task", "decision")
    done = export_vault(vault, NODES, EDGES, kinds)
    assert (done.notes_written, done.edges_linked, done.folders) == (2, 1, ("Tasks", "Decisions"))
    assert not (vault / "Mistakes").exists()
    export_vault(vault, NODES, EDGES)
    again = export_vault(vault, NODES, EDGES, kinds)
    assert (again.notes_written, again.notes_removed) == (0, 0)
    assert (vault / "Mistakes/Port 8080 in use.md").exists()


def test_interrupted_export_is_continued_without_duplicates(vault: Path) -> None:
    export_vault(vault, NODES, EDGES)
    before = snapshot(vault)
    (vault / MANIFEST).unlink()
    done = export_vault(vault, NODES, EDGES)
    assert (done.notes_written, done.notes_unchanged) == (0, 3)
    assert snapshot(vault).keys() == before.keys()


def test_a_vault_that_was_copied_is_still_known(vault: Path) -> None:
    export_vault(vault, NODES, EDGES)
    for path in vault.rglob("*.md"):
        path.write_bytes(path.read_bytes())  # another time of change
    changed = [DECIDED.model_copy(update={"text": "new"}), TASK, MISTAKE]
    done = export_vault(vault, changed, EDGES)
    assert (done.notes_written, done.notes_unchanged, done.notes_kept) == (1, 2, 0)


def test_folder_that_is_not_a_vault_is_named(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="file"):
        export_vault(tmp_path.resolve() / "file", NODES, EDGES)
    export_vault(vault, NODES, EDGES)
    (vault / MANIFEST).write_text("{}nonsense")
    with pytest.raises(InvalidInput, match="not as Agiraph wrote it"):
        export_vault(vault, NODES, EDGES)


def test_link_in_a_vault_is_refused(vault: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path.resolve() / "elsewhere"
    elsewhere.mkdir()
    vault.mkdir()
    (vault / "Decisions").symlink_to(elsewhere)
    with pytest.raises(InvalidInput, match="symbolic link"):
        export_vault(vault, NODES, EDGES)
    assert list(elsewhere.iterdir()) == []


def test_note_text_cannot_run_load_or_link() -> None:
    text = (
        "<%* tp.evil() %> ![x](http://a/b.png) ![[private]] [[Other]] <img src=x> #tag `$= dv`\n"
        "%% hidden\n"
        "```dataviewjs\nalert()\n```\n"
        "~~~python\n# kept <% as it is\n~~~\n"
        "```templater-thing {a}\nopen"
    )
    shown = harmless(text)
    for forbidden in (
        r"(?<!\\)!\[",
        r"\[\[",
        "(?<!\\\\)<img",
        " #tag",
        r"`\$=",
        "\n%%",
        "dataview",
        "templater",
    ):
        assert not re.search(forbidden, shown), forbidden
    assert "```text\nalert()\n```" in shown
    assert "~~~python\n# kept" in shown
    assert shown.endswith("\nopen\n```"), "an open block is closed"


def test_no_template_begins_anywhere_in_a_note(vault: Path) -> None:
    evil = node("<% title %>", text="```js\n<% code %>\n```", tags=("<%",), data={"a": "<% b %>"})
    export_vault(vault, [evil], [])
    (note,) = (vault / "Decisions").iterdir()
    assert "<%" not in note.read_text()


@pytest.mark.parametrize(
    ("text", "tag"),
    [("data base", "data-base"), ("#x", "x"), ("2024", "n2024"), ("a/b", "a/b"), ("!", ""),
     ("Ünïcode", "Ünïcode")],
)  # fmt: skip
def test_tags_are_valid_in_obsidian(text: str, tag: str) -> None:
    assert tag_of(text) == tag


def test_thousands_of_links_of_a_note_are_bounded(vault: Path) -> None:
    project = node("shop", "project")
    files = [node(f"f{number}.py", "file") for number in range(250)]
    edges = [KnowledgeEdge(source=one.id, target=project.id, kind="part_of") for one in files]
    done = export_vault(vault, [project, *files], edges)
    assert done.edges_linked == 250
    note = (vault / "Projects/shop.md").read_text()
    assert note.count("[[Files/") == 200
    assert "- and 50 more" in note


def test_a_node_of_the_largest_size_is_written(vault: Path) -> None:
    large = KnowledgeNode.model_validate(
        node("t" * 300, text="x" * 32_000).model_dump() | {"tags": ("é" * 100,)}
    )
    assert export_vault(vault, [large], []).notes_written == 1

"""Names and notes of a vault, for any title and any text."""

import json
import tempfile
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.knowledge.obsidian.names import DEVICES, folded, free_name, is_name_for, note_name
from agiraph.knowledge.obsidian.notes import frontmatter, note_text
from agiraph.knowledge.obsidian.vault import export_vault
from agiraph.knowledge.records import KNOWLEDGE_KINDS, KnowledgeEdge, KnowledgeNode
from tests.unit.knowledge.knowledge_nodes import node

ANYTHING = st.text(max_size=60) | st.sampled_from(
    ["CON", "con.md", "lpt1.x", "..", ".", " a ", "a.", "a/b\\c", "[[x|y]]", "# h", "ﬁ", "FI", "é",
     "e\u0301", "İ", "\u202ereversed", "🦊" * 80, "a" * 300, "COM¹", "nul .txt", "a\u2028b"]
)  # fmt: skip
TITLES = ANYTHING.filter(str.strip)
DATA = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | ANYTHING,
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=4,
    ),
    max_size=3,
)


@given(TITLES)
def test_note_name_is_valid_on_every_file_system_and_in_links(title: str) -> None:
    name = note_name(title)
    assert name
    assert len(name.encode()) <= 130
    assert not set(name) & set('\\/:*?"<>|#^[]\0\n\r\t')
    assert name.strip(" .") == name
    assert name.partition(".")[0].casefold().strip() not in DEVICES
    assert name.isprintable()


@given(st.lists(TITLES, min_size=1, max_size=20))
def test_names_of_a_folder_differ_for_every_file_system(titles: list[str]) -> None:
    taken: set[str] = set()
    for number, title in enumerate(titles):
        name = note_name(title)
        free = free_name(name, taken, f"c-{number:08x}")
        assert folded(free) not in taken
        assert is_name_for(free, name, f"c-{number:08x}")
        assert len(free.encode()) <= 140
        taken.add(folded(free))
    assert len(taken) == len(titles)


@given(TITLES, DATA, st.lists(ANYTHING, max_size=3))
def test_note_properties_are_yaml_with_the_fields_of_the_node(
    title: str, data: dict[str, object], tags: list[str]
) -> None:
    one = KnowledgeNode.model_validate(
        node("x").model_dump() | {"title": title[:300], "data": data, "tags": tuple(tags)}
    )
    found = yaml.safe_load(frontmatter(one))
    assert found["id"] == one.id
    assert found["type"] == "decision"
    if all(text.isascii() and text.isprintable() for text in (json.dumps(one.data), one.title)):
        assert found["aliases"] == [one.title]
        if json.dumps(one.data).replace("\\\\", "").count("\\") == 0:
            assert found["metadata"] == one.data
    assert note_text(one, []).startswith("---\nid: ")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(TITLES, st.sampled_from(KNOWLEDGE_KINDS)), max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=8),
    st.data(),
)
def test_vault_contains_the_last_export_and_each_link_has_its_note(
    made: list[tuple[str, str]], pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    nodes = [
        KnowledgeNode.model_validate(
            node(f"n{number}").model_dump() | {"title": title[:300], "kind": kind}
        )
        for number, (title, kind) in enumerate(made)
    ]
    edges = [
        KnowledgeEdge(source=nodes[a].id, target=nodes[b].id, kind="related")
        for a, b in pairs
        if max(a, b) < len(nodes)
    ]
    with tempfile.TemporaryDirectory() as name:
        vault = Path(name).resolve()
        export_vault(vault, nodes, edges)
        kept = data.draw(st.lists(st.sampled_from(nodes), unique_by=lambda one: one.id)
                         if nodes else st.just([]))  # fmt: skip
        export_vault(vault, kept, edges)
        notes = {path.relative_to(vault).as_posix() for path in vault.glob("*/*.md")}
        assert len(notes) == len(kept)
        again = export_vault(vault, kept, edges)
        assert (again.notes_written, again.notes_unchanged) == (0, len(kept))
        for path in notes:
            body = (vault / path).read_text().rpartition("## Outgoing")[2]
            for line in body.splitlines():
                if line.startswith("- [["):
                    assert f"{line[4:].partition('|')[0]}.md" in notes

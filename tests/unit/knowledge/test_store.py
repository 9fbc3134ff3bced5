"""The knowledge database: the effects of a write, pruning, counts, exports and refusals."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.errors import Corrupt, InvalidInput, Refused
from agiraph.knowledge import store as module
from agiraph.knowledge.records import KnowledgeEdge, KnowledgeNode, ScannedFile, node_id
from agiraph.knowledge.store import KnowledgeStore
from tests.unit.knowledge.knowledge_nodes import DAY, NOW, node


def test_repeated_add_changes_nothing(store: KnowledgeStore) -> None:
    nodes, edge = [node("one"), node("two")], KnowledgeEdge(
        source=node_id("decision", "one"), target=node_id("decision", "two"), kind="led_to"
    )  # fmt: skip
    first = store.add(nodes, [edge])
    again = store.add([one.model_copy(update={"updated": NOW + 1}) for one in nodes], [edge])
    assert (first.new, first.edges) == (2, 1)
    assert (again.new, again.changed, again.unchanged, again.edges) == (0, 0, 2, 0)
    found = store.get(nodes[0].id)
    assert found is not None
    assert found.updated == NOW, "it did not change"


def test_replaced_node_keeps_its_creation_time_and_use(
    store: KnowledgeStore,
) -> None:
    old = node("one", created=1.0)
    store.add([old])
    store.mark_used([old.id], 5.0)
    store.add([old.model_copy(update={"text": "more", "created": 9.0, "updated": 9.0})])
    found = store.get(old.id)
    assert found is not None
    assert (found.created, found.updated, found.used, found.text) == (1.0, 9.0, 1, "more")


def test_the_same_use_counts_once(store: KnowledgeStore) -> None:
    store.add([node("one")])
    id = node("one").id
    for at in (5.0, 5.0, 6.0):
        store.mark_used([id], at)
    found = store.get(id)
    assert found is not None
    assert (found.used, found.last_used) == (2, 6.0)


def test_edge_without_both_ends_is_omitted(store: KnowledgeStore) -> None:
    one = node("one")
    written = store.add([one], [KnowledgeEdge(source=one.id, target="c-nowhere", kind="about")])
    assert written.edges == 0
    assert list(store.every_edge()) == []


def test_text_that_looks_like_a_secret_is_not_written(
    store: KnowledgeStore, tmp_path: Path
) -> None:
    key = "sk-ant-api03-abcdef0123456789"
    store.add([node("one", text=f"the key is {key}", data={"said": key})])
    store.scrub()
    files = [file.read_bytes() for file in tmp_path.iterdir()]
    assert not any(key.encode() in data for data in files)
    assert [hit.node.title for hit in store.search("key")] == ["one"]


def test_id_is_found_by_its_first_digits(store: KnowledgeStore) -> None:
    id = node("one").id
    store.add([node("one"), node("two")])
    assert store.meant(id) == [id]
    assert store.meant(id[:8]) == [id]
    assert store.meant(id[:4]) == [], "too few digits"
    assert store.meant("c-zzzz") == []


def test_invalid_cursor_is_refused(store: KnowledgeStore) -> None:
    with pytest.raises(InvalidInput, match="'nonsense' is no cursor"):
        store.page(after="nonsense")


def test_old_unimportant_nodes_are_pruned_and_a_trial_only_lists_them(
    store: KnowledgeStore,
) -> None:
    old: dict[str, Any] = {"created": NOW - 400 * DAY, "updated": NOW - 400 * DAY}
    gone, used = node("gone", "task", importance=0.2, **old), node("used", "task", **old)
    worthy = node("worthy", importance=1.0, **old)
    kept = node("kept", "preference", importance=0.1, **old)
    store.add([gone, used, worthy, kept, node("fresh", "task", importance=0.1)])
    store.mark_used([used.id], NOW - DAY)
    trial = store.prune(90 * DAY, 0.3, is_trial=True, now=NOW)
    assert trial.by_kind == {"task": 1}
    assert [one.title for one in trial.examples] == ["gone"]
    assert store.stats().nodes == 5
    assert store.prune(90 * DAY, 0.3, now=NOW).nodes == 1
    assert store.get(gone.id) is None
    assert store.stats().by_kind == {"decision": 1, "preference": 1, "task": 2}


def test_statistics_count_nodes_edges_and_use(store: KnowledgeStore) -> None:
    project = node("shop", "project", project_id="shop-1")
    used = node("used", project_id="shop-1", created=1_700_000_000.0)
    store.add([project, used, node("not used")],
              [KnowledgeEdge(source=used.id, target=project.id, kind="part_of")])  # fmt: skip
    store.mark_used([used.id], NOW)
    stats = store.stats()
    assert (stats.nodes, stats.edges, stats.never_used) == (3, 1, 2)
    assert stats.by_month == {"2023-11": 1, "2027-01": 2}
    assert [(one.project_id, one.title, one.nodes) for one in stats.by_project] == [
        ("shop-1", "shop", 2)
    ]
    assert [one.title for one in stats.most_used] == ["used"]
    assert stats.by_edge == {"part_of": 1}
    assert stats.size_bytes > 0


def test_scanned_files_are_known_to_the_next_scan(store: KnowledgeStore) -> None:
    data = {"path": "a.py", "size": 3, "mtime_ns": 1_795_635_068_688_610_591}
    scanned = node("Tests", "pattern", project_id="p", data={"is_scanned": True})
    store.add([
        node("a.py", "file", project_id="p", data=data), scanned,
        node("learned", "pattern", project_id="p"), node("b.py", "file", project_id="q", data=data),
    ])  # fmt: skip
    known = store.known("p")
    assert known.files == (ScannedFile.model_validate(data),)
    assert known.patterns == (scanned.id,)


def test_export_has_every_node_and_the_edges_between_them(
    store: KnowledgeStore,
) -> None:
    one, two, three = node("one"), node("two", "task"), node("three", "task")
    edges = [KnowledgeEdge(source=one.id, target=two.id, kind="uses"),
             KnowledgeEdge(source=two.id, target=three.id, kind="uses")]  # fmt: skip
    store.add([one, two, three], edges)
    lines = [json.loads(line) for line in store.export()]
    assert [KnowledgeNode.model_validate(line["node"]) for line in lines[:3]] == [one, two, three]
    assert [KnowledgeEdge.model_validate(line["edge"]) for line in lines[3:]] == edges
    tasks = [json.loads(line) for line in store.export(kinds=("task",))]
    assert [next(iter(line)) for line in tasks] == ["node", "node", "edge"]


def test_preferences_of_the_project_and_global_ones_are_standing(store: KnowledgeStore) -> None:
    store.add([
        node("all", "preference", importance=0.5),
        node("ours", "preference", project_id="p", importance=0.9),
        node("theirs", "preference", project_id="q"), node("no preference"),
        node("of a run without a project", "preference", agent="shop-1"),
    ])  # fmt: skip
    assert [one.title for one in store.standing("p")] == ["ours", "all"]
    assert [one.title for one in store.standing(None)] == ["all"]


def test_removed_nodes_free_their_space(store: KnowledgeStore) -> None:
    nodes = [node(f"n{number}", text=f"word{number} " * 200) for number in range(300)]
    store.add(nodes)
    full = store.stats().size_bytes
    assert store.remove(one.id for one in nodes) == 300
    assert store.stats().size_bytes < full / 4


def test_file_that_is_not_a_database_is_named(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "knowledge.db"
    path.write_bytes(b"no database at all, " * 100)
    with pytest.raises(Corrupt, match=r"knowledge\.db is damaged"):
        KnowledgeStore(path)


def test_index_of_a_newer_sqlite_is_rebuilt(
    store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([node("one")])
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE words_config SET v = 5 WHERE k = 'version'")
    db.close()
    monkeypatch.setattr(module, "FORGETS", (99, 0, 0))
    again = KnowledgeStore(store.path)
    assert [hit.node.title for hit in again.search("one")] == ["one"]
    again.add([node("two")])
    assert again.remove([node("one").id]) == 1
    assert [hit.node.title for hit in again.search("one two")] == ["two"]
    again.close()


def test_python_without_fts5_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*_: object) -> None:
        raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(module, "Database", without)
    with pytest.raises(Refused, match="has no FTS5"):
        KnowledgeStore(tmp_path / "knowledge.db")

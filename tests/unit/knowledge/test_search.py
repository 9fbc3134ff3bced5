"""The search: results, their order, any question; bounded work."""

from typing import Any

import pytest

from agiraph.knowledge import search as module
from agiraph.knowledge.store import KnowledgeStore
from agiraph.knowledge.words import words_of
from tests.unit.knowledge.knowledge_nodes import DAY, NOW, node

HOSTILE = [
    *('"', '""', "'", "*", "a*", '"a', "NEAR(", "NEAR(a b, 2)", "a AND", "OR", "NOT a", "a NOT b"),
    *("title:a", "{title} : a", "- a", "^a", "a + b", "(", ")", "marks:kindtask", "\0", "a\0b"),
    *("'; DROP TABLE nodes; --", "%s", "\ud800", "‮", "²", "a_b-c", "é", "e\u0301", "漢字", "🦊"),
    *("x" * 100_000, "a " * 10_000, " ".join(f"w{n}" for n in range(1000))),
]


def titles(store: KnowledgeStore, question: str, **how: object) -> list[str]:
    return [hit.node.title for hit in store.search(question, now=NOW, **how)]  # type: ignore[arg-type]


def test_no_question_is_a_command_to_the_index(store: KnowledgeStore) -> None:
    store.add([node("one", text="plain"), node("two", "task", text="plain")])
    for question in HOSTILE:
        store.search(question, project="p", now=NOW)
        found = titles(store, f"{question} plain plain plain")
        assert set(found) == {"one", "two"}, question[:80]


def test_query_of_operators_is_searched_as_words(store: KnowledgeStore) -> None:
    store.add([node("one", text="near and not"), node("two", text="other")])
    assert titles(store, "NEAR(not)") == ["one"]


def test_rare_word_decides_and_a_title_counts_more(store: KnowledgeStore) -> None:
    filler = [node(f"filler {number}", text="server error log") for number in range(20)]
    store.add([*filler, node("in the text", text="a server zyzzyva"), node("zyzzyva of a server")])
    assert titles(store, "server zyzzyva")[:2] == ["zyzzyva of a server", "in the text"]


def test_project_important_or_recent_nodes_rank_higher(store: KnowledgeStore) -> None:
    text: dict[str, Any] = {"text": "retry the upload"}
    old = NOW - 700 * DAY
    store.add([
        node("old", **text, created=old, updated=old), node("usual", **text),
        node("important", **text, importance=1.0), node("of the project", **text, project_id="p"),
        node("filler"), node("more filler"), node("still more"), node("and more"), node("last one"),
    ])  # fmt: skip
    found = titles(store, "upload", project="p")
    assert found.index("of the project") < found.index("usual")
    assert found.index("important") < found.index("usual") < found.index("old")
    assert titles(store, "upload", project="p", is_only_project=True) == ["of the project"]


def test_words_are_found_by_stem_and_prefix(store: KnowledgeStore) -> None:
    store.add([node("one", text="running migrations of PostgreSQL Café")])
    for question in ("migration", "runs", "postg", "cafe", "POSTGRESQL"):
        assert titles(store, question) == ["one"], question
    assert titles(store, "gres") == []


def test_hit_names_its_words_and_shows_a_snippet(store: KnowledgeStore) -> None:
    text = f"{'before ' * 60}the deadlock came from two writers{' after' * 60}"
    store.add([node("locks", text=text)])
    (hit,) = store.search("why does the deadlock of writers happen", now=NOW)
    assert hit.words == ("deadlock", "writers")
    assert "deadlock came from two writers" in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) < 250


def test_kinds_narrow_a_search(store: KnowledgeStore) -> None:
    store.add([node("one", "task", text="x1y2"), node("two", "code_snippet", text="x1y2")])
    assert titles(store, "x1y2", kinds=("code_snippet",)) == ["two"]
    assert titles(store, "x1y2", kinds=("file",)) == []


def test_learned_nodes_are_found_among_many_files_with_common_words(
    store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BOUND", 5)
    monkeypatch.setattr(module, "NEWEST", 5)
    text: dict[str, Any] = {"text": "the parser reads tokens", "importance": 0.3}
    learned = node("learned", text="parser tokens", importance=0.9)
    ours = node("ours", "file", project_id="p", **text)
    files = [node(f"f{number}", "file", project_id="q", **text) for number in range(50)]
    store.add([learned, ours, *files])
    found = titles(store, "parser tokens", project="p")
    assert {"learned", "ours"} <= set(found)
    assert found[0] == "learned"
    assert titles(store, "parser tokens", project="p", is_only_project=True) == ["ours"]
    assert titles(store, "parser tokens", kinds=("decision",)) == ["learned"]


def test_rare_word_in_an_excluded_kind_hides_no_results(
    store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BOUND", 5)
    store.add(node(f"n{number}", text="common") for number in range(10))
    store.add([node("rare", "file", text="zyzzyva")])
    found = store.search("common zyzzyva", kinds=("decision",), now=NOW)
    assert len(found) == 10


def test_ranking_looks_at_no_more_nodes_in_a_larger_database(
    store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BOUND", 20)
    monkeypatch.setattr(module, "NEWEST", 20)
    ranked: list[int] = []
    real = module._ranked
    monkeypatch.setattr(module, "_ranked", lambda *given: ranked.append(1) or real(*given))  # type: ignore[func-returns-value]
    counts = []
    for start in (0, 200):
        store.add(node(f"n{number}", text="common words") for number in range(start, start + 200))
        ranked.clear()
        store.search("common words", now=NOW)
        counts.append(len(ranked))
    assert counts[0] == counts[1] <= 20


def test_the_same_question_has_the_same_answer(store: KnowledgeStore) -> None:
    store.add(node(f"n{number}", text="same text") for number in range(10))
    assert titles(store, "same") == titles(store, "same")


def test_distinctive_words_of_a_long_question_are_searched() -> None:
    assert words_of("What should we do about the SQLite lock?") == ("sqlite", "lock")
    assert words_of("what is it") == ("what", "is", "it"), "there are no others"
    long = " ".join(f"w{number}" for number in range(100)) + " database database"
    assert len(words_of(long)) == 16
    assert "database" in words_of(long)

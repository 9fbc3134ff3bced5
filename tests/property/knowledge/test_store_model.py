"""The store compared with a model of dictionaries: written, replaced, removed and found nodes."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.knowledge.records import (
    EDGE_KINDS,
    KNOWLEDGE_KINDS,
    KnowledgeEdge,
    KnowledgeKind,
    KnowledgeNode,
)
from agiraph.knowledge.store import KnowledgeStore

WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot")
IDS = st.sampled_from([f"c-{number}" for number in range(6)])
PROJECTS = st.sampled_from([None, "p", "q"])
KINDS: st.SearchStrategy[KnowledgeKind] = st.sampled_from(KNOWLEDGE_KINDS)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
NODES = st.builds(
    KnowledgeNode,
    id=IDS,
    kind=KINDS,
    title=TEXTS.map(lambda text: f"x {text}"),
    text=TEXTS,
    project_id=PROJECTS,
    tags=st.lists(st.sampled_from(WORDS), max_size=2, unique=True).map(tuple),
    created=st.integers(1, 9).map(float),
    updated=st.integers(1, 9).map(float),
    data=st.dictionaries(st.sampled_from("ab"), st.integers()),
)
EDGES = st.builds(
    KnowledgeEdge, source=IDS, target=IDS, kind=st.sampled_from(EDGE_KINDS[:3]),
    weight=st.sampled_from([1.0, 2.0]),
)  # fmt: skip
Act = Callable[["StoreAndModel"], None]


class StoreAndModel:
    """A store and its model."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = KnowledgeStore(path)
        self.nodes: dict[str, KnowledgeNode] = {}
        self.edges: dict[tuple[str, str, str], float] = {}

    def add(self, nodes: list[KnowledgeNode], edges: list[KnowledgeEdge]) -> None:
        self.store.add(nodes, edges)
        for node in nodes:
            old = self.nodes.get(node.id)
            if old is not None:
                kept = {name: getattr(old, name) for name in ("created", "used", "last_used")}
                is_same = node.model_copy(update=kept | {"updated": old.updated}) == old
                node = old if is_same else node.model_copy(update=kept)
            self.nodes[node.id] = node
        for edge in edges:
            if edge.source in self.nodes and edge.target in self.nodes:
                self.edges[edge.source, edge.kind, edge.target] = edge.weight

    def remove(self, ids: set[str]) -> None:
        assert self.store.drop(ids) == len(ids & self.nodes.keys())
        self.nodes = {id: node for id, node in self.nodes.items() if id not in ids}
        self.edges = {edge: weight for edge, weight in self.edges.items() if not ids & {*edge}}

    def use(self, ids: set[str], at: float) -> None:
        self.store.mark_used(sorted(ids), at)
        for id in ids & self.nodes.keys():
            node = self.nodes[id]
            if (node.last_used or 0.0) < at:
                update = {"used": node.used + 1, "last_used": at}
                self.nodes[id] = node.model_copy(update=update)

    def reopen(self) -> None:
        self.store.close()
        self.store = KnowledgeStore(self.path)

    def check(self) -> None:
        store = self.store
        assert {node.id: node for node in store.every_node()} == self.nodes
        edges = {(edge.source, edge.kind, edge.target): edge.weight for edge in store.every_edge()}
        assert edges == self.edges
        for word in WORDS:
            assert {hit.node.id for hit in store.search(word)} == self.holding(word, None)
            found = store.search(word, kinds=("task", "file"), project="p", is_only_project=True)
            assert {hit.node.id for hit in found} == self.holding(word, "p", ("task", "file"))
        for id in self.nodes:
            near = {(one.node.id, one.kind, one.is_outgoing) for one in store.neighbors(id)}
            out = {(target, kind, True) for source, kind, target in self.edges if source == id}
            into = {(source, kind, False) for source, kind, target in self.edges if target == id}
            assert near == out | into
        assert store.stats().nodes == len(self.nodes)

    def holding(
        self, word: str, project: str | None, kinds: tuple[KnowledgeKind, ...] = KNOWLEDGE_KINDS
    ) -> set[str]:
        return {
            node.id
            for node in self.nodes.values()
            if word in f"{node.title} {node.text} {' '.join(node.tags)}".split()
            and node.kind in kinds
            and (project is None or node.project_id == project)
        }


ACTS: st.SearchStrategy[Act] = st.one_of(
    st.tuples(st.lists(NODES, max_size=4), st.lists(EDGES, max_size=4)).map(
        lambda given: lambda pair: pair.add(*given)
    ),
    st.sets(IDS, max_size=3).map(lambda ids: lambda pair: pair.remove(ids)),
    st.tuples(st.sets(IDS), st.integers(1, 9).map(float)).map(
        lambda given: lambda pair: pair.use(*given)
    ),
    st.just(lambda pair: pair.store.scrub()),
    st.just(lambda pair: pair.reopen()),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(ACTS, min_size=1, max_size=8))
def test_store_finds_the_same_nodes_as_its_model(acts: list[Act]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pair = StoreAndModel(Path(folder).resolve() / "knowledge.db")
        for act in acts:
            act(pair)
        pair.check()
        pair.store.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeStore]:
    """A store for all examples: opening it waits for the disk."""
    store = KnowledgeStore(tmp_path_factory.mktemp("knowledge").resolve() / "knowledge.db")
    yield store
    store.close()


@settings(max_examples=30, deadline=None)
@given(st.lists(NODES, max_size=6, unique_by=lambda node: node.id), st.integers(1, 4))
def test_pages_together_are_every_node_once_the_last_changed_first(
    shared: KnowledgeStore, nodes: list[KnowledgeNode], size: int
) -> None:
    shared.drop(shared.ids())
    shared.add(nodes)
    seen: list[KnowledgeNode] = []
    after = None
    while True:
        page = shared.page(after=after, limit=size)
        seen += page.nodes
        after = page.next
        if after is None:
            break
    assert sorted(node.id for node in seen) == sorted(node.id for node in nodes)
    times = [node.updated for node in seen]
    assert times == sorted(times, reverse=True)

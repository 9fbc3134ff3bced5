"""Knowledge: searches among 100,000 nodes, a scan of 50,000 files, the export of notes.

The nodes' words are drawn as in a language: few are in most texts, most in few. The questions are
what people and runs ask: one rare word, some words, a whole goal, only common words. Forgetting one
node for good is measured too: where SQLite cannot (before 3.42), the index is rewritten.
"""

import itertools
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from agiraph.knowledge.obsidian.vault import export_vault
from agiraph.knowledge.records import (
    KNOWLEDGE_KINDS,
    KnowledgeEdge,
    KnowledgeKind,
    KnowledgeNode,
    KnownProject,
    ScanBatch,
    node_id,
    project_id,
)
from agiraph.knowledge.store import KnowledgeStore
from benchmarks.product import ROOT, Options, progress
from benchmarks.report import Figure, at_most

NODES, QUICK_NODES = 100_000, 20_000
FILES, QUICK_FILES = 50_000, 5_000
NOTES, QUICK_NOTES = 10_000, 2_000
IN_A_FOLDER = 50
SEARCHES = 40
SEARCH_MS, SCAN_SECONDS, FORGET_SECONDS = 20.0, 20.0, 5.0
SYLLABLES = ["".join(letters) for letters in itertools.product("bdgklmnprst", "aeiou", "nrstlkmd")]
VOCABULARY = [f"{first}{second}" for first in SYLLABLES[:70] for second in SYLLABLES]
WEIGHTS = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(VOCABULARY))))


def run(options: Options) -> list[Figure]:
    """Return the figures of searching, forgetting, scanning and exporting."""
    drawn = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="agiraph-knowledge-") as name:
        folder = Path(name).resolve()
        return [
            *_searching(folder, drawn, options.count(NODES, QUICK_NODES)),
            *_scanning(folder, drawn, options.count(FILES, QUICK_FILES)),
            *_exporting(folder, drawn, options.count(NOTES, QUICK_NOTES)),
        ]


def _words(drawn: random.Random, count: int) -> str:
    return " ".join(drawn.choices(VOCABULARY, cum_weights=WEIGHTS, k=count))


def _nodes(drawn: random.Random, count: int) -> Iterator[KnowledgeNode]:
    """Yield nodes, half of them files, of twenty projects."""
    others = [kind for kind in KNOWLEDGE_KINDS if kind != "file"]
    now = time.time()
    for number in range(count):
        kind: KnowledgeKind = "file" if number % 2 else drawn.choice(others)
        at = now - drawn.random() * 400 * 86400
        yield KnowledgeNode(
            id=node_id(kind, str(number)), kind=kind, title=_words(drawn, 7),
            text=_words(drawn, drawn.randrange(20, 140)), project_id=f"p{number % 20}",
            tags=(_words(drawn, 1),), importance=drawn.random(), created=at, updated=at,
        )  # fmt: skip


# --- searching -----------------------------------------------------------------------------------


def _searching(folder: Path, drawn: random.Random, count: int) -> list[Figure]:
    store = KnowledgeStore(folder / "searched.db")
    nodes = _nodes(drawn, count)
    while batch := list(itertools.islice(nodes, 1000)):
        store.add(batch)
    progress(f"{count} nodes, {store.stats().size_bytes / 1e6:.0f} MB")
    common, rare = VOCABULARY[:10], VOCABULARY[1000:]
    questions: dict[str, Callable[[], str]] = {
        "a rare word": lambda: drawn.choice(rare),
        "four words": lambda: _words(drawn, 4),
        "a goal of 40 words": lambda: _words(drawn, 40),
        "three words that are everywhere": lambda: " ".join(drawn.sample(common, 3)),
    }
    figures = []
    for what, question in questions.items():
        asked = [question() for _ in range(SEARCHES)]
        found = [_milliseconds(partial(store.search, one, project="p3")) for one in asked]
        figures.append(_search_figure(f"search among {count:,} nodes for {what}", found))
    began = time.perf_counter()
    store.remove([store.page(limit=1).nodes[0].id])
    seconds = time.perf_counter() - began
    store.close()
    forgetting = at_most(
        f"one of {count:,} nodes removed for good", f"{FORGET_SECONDS:g} s",
        seconds / FORGET_SECONDS, 1.0, f"{seconds:.2f} s",
    )  # fmt: skip
    return [*figures, forgetting]


def _milliseconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return how long something takes on the clock, and in processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - clock) * 1000, (time.process_time() - processor) * 1000


def _search_figure(what: str, times: list[tuple[float, float]]) -> Figure:
    clock, processor = sorted(one for one, _ in times), sorted(one for _, one in times)
    slow = int(len(times) * 0.95)
    median = statistics.median(clock)
    seen = (
        f"median {median:.1f} ms, p95 {clock[slow]:.1f} ms;"
        f" in processor time {statistics.median(processor):.1f} and {processor[slow]:.1f} ms"
    )
    progress(f"{what}: {seen}")
    return at_most(what, f"{SEARCH_MS:g} ms", median / SEARCH_MS, 1.0, seen)


# --- scanning ------------------------------------------------------------------------------------


def _scanning(folder: Path, drawn: random.Random, count: int) -> list[Figure]:
    project = folder / "project"
    texts = [_file(drawn) for _ in range(200)]
    for number in range(count):
        place = project / f"part{number // IN_A_FOLDER}"
        if number % IN_A_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"module_{number}.py").write_text(drawn.choice(texts))
    (project / ".gitignore").write_text("*.log\nbuild/\n__pycache__/\n!keep.log\n/dist\n")
    progress(f"{count} files")
    store = KnowledgeStore(folder / "scanned.db")
    first, files = _scan(project, store)
    second, again = _scan(project, store)
    store.close()
    assert files >= count, f"{files} of {count} files were scanned"
    assert again == 0, f"{again} files that had not changed were read again"
    bound = SCAN_SECONDS * count / FILES
    seen = f"{first:.1f} s ({count / first:,.0f} files/s)"
    return [
        at_most(f"scan of {count:,} files, into the database", f"{bound:g} s", first / bound, 1.0,
                seen),
        at_most("the same again, nothing changed", "the first", second / first, 0.4,
                f"{second:.1f} and {first:.1f} s"),
    ]  # fmt: skip


def _file(drawn: random.Random) -> str:
    """Return a module of a hundred lines."""
    lines = [f'"""{_words(drawn, 12).capitalize()}."""', ""]
    for _ in range(12):
        name = "_".join(drawn.choices(VOCABULARY, k=2))
        lines += ["", f"def {name}(value):", f'    """{_words(drawn, 8)}."""']
        lines += [f"    value = {_words(drawn, 1)}(value, {number})" for number in range(5)]
    return "\n".join(lines)


def _scan(project: Path, store: KnowledgeStore) -> tuple[float, int]:
    """Scan a project into a database as the gateway does; return the seconds, and files written."""
    known: KnownProject = store.known(project_id(project))
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "agiraph.knowledge.scan", str(project)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(known.model_dump_json().encode())
    process.stdin.close()
    written = 0
    for line in process.stdout:
        batch = ScanBatch.model_validate_json(line)
        store.add(batch.nodes, batch.edges)
        store.drop(batch.gone)
        written += sum(node.kind == "file" for node in batch.nodes)
    assert process.wait() == 0
    return time.perf_counter() - began, written


# --- exporting -----------------------------------------------------------------------------------


def _exporting(folder: Path, drawn: random.Random, count: int) -> list[Figure]:
    nodes = list(_nodes(drawn, count))
    edges = [
        KnowledgeEdge(source=one.id, target=drawn.choice(nodes).id, kind="related") for one in nodes
    ]
    times = []
    for _ in range(2):
        began = time.perf_counter()
        done = export_vault(folder / "vault", nodes, edges)
        times.append(time.perf_counter() - began)
    assert done.notes_written == 0, f"{done.notes_written} notes were written again"
    first, second = times
    milliseconds = first * 1000 / count
    return [
        at_most(f"export of {count:,} notes: time of a note", "one millisecond", milliseconds, 1.0,
                f"{milliseconds:.2f} ms, {first:.1f} s"),
        at_most("the same again, nothing changed", "the first export", second / first, 0.5,
                f"{second:.1f} and {first:.1f} s"),
    ]  # fmt: skip

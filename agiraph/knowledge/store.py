"""KnowledgeStore: the database `knowledge.db`, opened by the only process that writes it.

Nodes and edges are tables; the index (FTS5) reads its texts from the nodes, and triggers update it.
Deletion is permanent: SQLite overwrites freed pages (`secure_delete`), the index erases deleted
words at once if SQLite supports it (3.42), else it is rewritten, and the log is emptied.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import FEWEST_DIGITS
from agiraph.knowledge.records import (
    KnowledgeEdge,
    KnowledgeHit,
    KnowledgeKind,
    KnowledgeNeighbor,
    KnowledgeNode,
    KnowledgePage,
    KnowledgeProject,
    KnowledgePruned,
    KnowledgeStats,
    KnowledgeWritten,
    KnownProject,
    ScannedFile,
)
from agiraph.knowledge.search import SearchScope, search
from agiraph.knowledge.tables import (
    AT_BIRTH,
    AT_ONCE,
    COLUMNS,
    PRAGMAS,
    SCHEMA,
    WORDS,
    columns_of,
    delete,
    edge_of,
    node_of,
    row_of,
    write,
)
from agiraph.knowledge.worth import worth
from agiraph.storage.database import Database

FORGETFUL_FORMAT: Final = 5
FORGET: Final = "INSERT INTO words(words, rank) VALUES ('secure-delete', 1)"
FORGETS: Final = (3, 42, 0)
"""The first version of SQLite whose index can erase deleted words at once."""

MOST_EXAMPLES: Final = 10
MOST_PROJECTS: Final = 200


class KnowledgeStore:
    """The open database; used by one thread at a time. Raises Corrupt, OSError.

    Refused if this Python's SQLite has no FTS5.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._database = Database(path, SCHEMA, PRAGMAS, AT_BIRTH)
        except sqlite3.OperationalError as error:
            if "fts5" not in str(error):
                raise
            raise Refused(
                f"{path}: the SQLite {sqlite3.sqlite_version} of this Python has no FTS5, by which"
                " the knowledge database is searched (possible: a Python whose sqlite3 has it)"
            ) from error
        self.path = path
        self._forgets = sqlite3.sqlite_version_info >= FORGETS
        self._prepare_index()

    def _prepare_index(self) -> None:
        """Enable erasure in the index if possible; rebuild an index that this SQLite cannot read.

        After an erasure, a newer SQLite writes an index format that older versions do not know.
        """
        config: dict[str, int] = dict(self._database.rows("SELECT k, v FROM words_config"))
        if self._forgets and not config.get("secure-delete"):
            self._database.write((FORGET, ()))
        elif not self._forgets and config.get("version") == FORGETFUL_FORMAT:
            self.rebuild()

    def rebuild(self) -> None:
        """Rebuild the index from the nodes."""
        self._database.write(
            ("UPDATE words_config SET v = 4 WHERE k = 'version'", ()),  # else it cannot be dropped
            ("DROP TABLE words", ()),
            (WORDS, ()),
            ("INSERT INTO words(words) VALUES ('rebuild')", ()),
        )

    def add(
        self, nodes: Iterable[KnowledgeNode], edges: Iterable[KnowledgeEdge] = ()
    ) -> KnowledgeWritten:
        """Write nodes and edges in one transaction; existing ones are replaced.

        A node keeps its creation time and its use counts. An edge with a missing end is left out.
        Text that looks like a secret is redacted.
        """
        rows, links = [row_of(node) for node in nodes], list(edges)
        return self._database.transact(lambda db: write(db, rows, links))

    def get(self, id: str) -> KnowledgeNode | None:
        """Return a node, None if no node has this id."""
        found = self._nodes("WHERE id = ?", id)
        return found[0] if found else None

    def meant(self, text: str) -> list[str]:
        """Return the ids that match `text`: the id itself, else up to ten ids that begin with it.

        The beginning must have at least four digits.
        """
        if self._database.rows("SELECT 1 FROM nodes WHERE id = ?", text):
            return [text]
        if len(text.partition("-")[2]) < FEWEST_DIGITS:
            return []
        sql = "SELECT id FROM nodes WHERE id >= ? AND id < ? ORDER BY id LIMIT 10"
        return [row[0] for row in self._database.rows(sql, text, text + "\U0010ffff")]

    def neighbors(self, id: str, limit: int = 100) -> list[KnowledgeNeighbor]:
        """Return the nodes that edges connect with a node.

        The order is by the weight of the edge, then by the importance of the node.
        """
        sql = f"""
            SELECT e.kind, e.is_out, e.weight, {columns_of("n")} FROM (
                SELECT kind, 1 AS is_out, weight, target AS other FROM edges
                WHERE source = (SELECT seq FROM nodes WHERE id = ?1)
                UNION ALL
                SELECT kind, 0, weight, source FROM edges
                WHERE target = (SELECT seq FROM nodes WHERE id = ?1)
            ) AS e JOIN nodes AS n ON n.seq = e.other
            ORDER BY e.weight DESC, n.importance DESC, n.updated DESC, n.seq LIMIT ?2"""
        return [
            KnowledgeNeighbor(kind=kind, is_outgoing=bool(out), weight=weight, node=node_of(*rest))
            for kind, out, weight, *rest in self._database.rows(sql, id, limit)
        ]

    def edges_of(self, ids: Sequence[str]) -> list[KnowledgeEdge]:
        """Return the edges between any two of these nodes."""
        sql = """
            SELECT a.id, b.id, e.kind, e.weight FROM nodes AS a
            JOIN edges AS e ON e.source = a.seq JOIN nodes AS b ON b.seq = e.target
            WHERE a.id IN (SELECT value FROM json_each(?1))
              AND b.id IN (SELECT value FROM json_each(?1))"""
        return [edge_of(*row) for row in self._database.rows(sql, json.dumps(ids))]

    def search(
        self,
        question: str,
        kinds: Sequence[KnowledgeKind] = (),
        project: str | None = None,
        limit: int = 20,
        *,
        is_only_project: bool = False,
        now: float | None = None,
    ) -> list[KnowledgeHit]:
        """Return the nodes that match a question best, ranked: they contain words of it.

        The score is bm25 times the worth of the node; nodes of `project` score higher, or are the
        only results. No part of a question is a command to the index. Equal questions have equal
        results.
        """
        scope = SearchScope(tuple(kinds), project, is_only_project)
        found = search(self._database, question, scope, time.time() if now is None else now, limit)
        nodes = {node.id: node for node in self._nodes_of([one.id for one in found])}
        return [
            KnowledgeHit(
                node=nodes[one.id],
                score=one.score,
                words=one.words,
                snippet=one.snippet,
                is_same_project=project is not None and nodes[one.id].project_id == project,
            )
            for one in found
        ]

    def page(
        self,
        kinds: Sequence[KnowledgeKind] = (),
        project: str | None = None,
        after: str | None = None,
        limit: int = 50,
        *,
        agent: str | None = None,
    ) -> KnowledgePage:
        """Return the nodes of some kinds (none: all), a project, an agent, the last changed first.

        `after` is the cursor of the page before. Raises InvalidInput.
        """
        where, values = _filter(kinds, project, agent)
        if after is not None:
            where.append("(updated, seq) < (?, ?)")
            values += _cursor(after)
        sql = f"{_where(where)} ORDER BY updated DESC, seq DESC LIMIT ?"
        rows = self._database.rows(f"SELECT seq, {COLUMNS} FROM nodes {sql}", *values, limit + 1)
        nodes = tuple(node_of(*row[1:]) for row in rows[:limit])
        is_more = len(rows) > limit and limit > 0
        return KnowledgePage(
            nodes=nodes,
            next=f"{nodes[-1].updated!r}:{rows[limit - 1][0]}" if is_more else None,
        )

    def standing(self, project: str | None, limit: int = 20) -> list[KnowledgeNode]:
        """Return the preferences that enter every prompt, the most important first.

        They are those of the project, and the person's for all projects.
        """
        return self._nodes(
            "WHERE kind = 'preference' AND (project_id = ? OR project_id IS NULL AND agent = '')"
            " ORDER BY importance DESC, updated DESC, seq DESC LIMIT ?",
            project, limit,
        )  # fmt: skip

    def ids(self, *, project: str | None = None, agent: str | None = None) -> list[str]:
        """Return the ids of all nodes of a project or an agent, or of both."""
        where, values = _filter((), project, agent)
        return [
            id for (id,) in self._database.rows(f"SELECT id FROM nodes {_where(where)}", *values)
        ]

    def remove(self, ids: Iterable[str]) -> int:
        """Permanently remove nodes and their edges; return the number of removed nodes."""
        removed = self.drop(ids)
        if removed:
            self.scrub()
        return removed

    def drop(self, ids: Iterable[str]) -> int:
        """Remove nodes and their edges; return the number of removed nodes.

        Their texts may stay on disk until the next `scrub`.
        """
        wanted = list(ids)
        return self._database.transact(lambda db: delete(db, wanted))

    def scrub(self) -> None:
        """Erase all removed and replaced texts from the files."""
        if not self._forgets:
            self._database.write(("INSERT INTO words(words) VALUES ('optimize')", ()))
        self._database.compact()

    def prune(
        self,
        older_than: float,
        below_worth: float,
        keep: Sequence[KnowledgeKind] = ("preference", "project"),
        *,
        is_trial: bool = False,
        now: float | None = None,
    ) -> KnowledgePruned:
        """Remove nodes that are neither changed nor used for `older_than` seconds and worth little.

        `keep` are the kinds that stay. A trial only returns the nodes that would be removed.
        """
        at = time.time() if now is None else now
        sql = (
            "SELECT id, kind, importance, max(updated, coalesce(last_used, 0)) AS touched, used"
            " FROM nodes WHERE kind NOT IN (SELECT value FROM json_each(?)) AND touched < ?"
            " ORDER BY touched, seq"
        )
        rows = self._database.rows(sql, json.dumps(keep), at - older_than)
        gone = [
            (id, kind)
            for id, kind, importance, touched, used in rows
            if worth(kind, importance, touched, used, at) < below_worth
        ]
        by_kind: dict[str, int] = {}
        for _, kind in gone:
            by_kind[kind] = by_kind.get(kind, 0) + 1
        examples = [self.get(id) for id, _ in gone[:MOST_EXAMPLES]]
        if not is_trial:
            self.remove(id for id, _ in gone)
        return KnowledgePruned(by_kind=by_kind, examples=tuple(filter(None, examples)))

    def mark_used(self, ids: Sequence[str], at: float) -> None:
        """Count the use of nodes in a prompt at `at` (Unix time); the same time is counted once."""
        sql = (
            "UPDATE nodes SET used = used + 1, last_used = ?2 WHERE coalesce(last_used, 0) < ?2"
            " AND id IN (SELECT value FROM json_each(?1))"
        )
        self._database.write((sql, (json.dumps(ids), at)))

    def stats(self) -> KnowledgeStats:
        """Return statistics of the database and of its use."""
        rows = self._database.rows
        by_kind: dict[str, int] = dict(
            rows("SELECT kind, count(*) FROM nodes GROUP BY kind ORDER BY kind")
        )
        by_edge: dict[str, int] = dict(
            rows("SELECT kind, count(*) FROM edges GROUP BY kind ORDER BY kind")
        )
        months = "SELECT strftime('%Y-%m', created, 'unixepoch') AS month, count(*) FROM nodes"
        size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        return KnowledgeStats(
            nodes=sum(by_kind.values()),
            edges=sum(by_edge.values()),
            by_kind=by_kind,
            by_edge=by_edge,
            by_project=tuple(self.projects()),
            by_month=dict(rows(f"{months} GROUP BY month ORDER BY month")),
            most_used=tuple(
                self._nodes("WHERE used > 0 ORDER BY used DESC, last_used DESC, seq LIMIT 10")
            ),
            never_used=sum(by_kind.values())
            - rows("SELECT count(*) FROM nodes WHERE used > 0")[0][0],
            size_bytes=rows(size)[0][0],
        )

    def projects(self) -> list[KnowledgeProject]:
        """Return the projects of the nodes, the projects with most nodes first."""
        sql = """
            SELECT n.project_id, count(*) AS nodes,
                   max(CASE WHEN n.kind = 'project' THEN n.title ELSE '' END)
            FROM nodes AS n WHERE n.project_id IS NOT NULL
            GROUP BY n.project_id ORDER BY nodes DESC, n.project_id LIMIT ?"""
        return [
            KnowledgeProject(project_id=id, nodes=count, title=title)
            for id, count, title in self._database.rows(sql, MOST_PROJECTS)
        ]

    def known(self, project: str) -> KnownProject:
        """Return the files and patterns of a project as the last scan found them."""
        of_file = [f"json_extract(data, '$.{name}')" for name in ("path", "size", "mtime_ns")]
        sql = (
            f"SELECT {', '.join(of_file)} FROM nodes"
            f" WHERE project_id = ? AND kind = 'file' AND {of_file[-1]} IS NOT NULL"
        )
        files = (
            ScannedFile(path=path, size=size, mtime_ns=mtime_ns)
            for path, size, mtime_ns in self._database.rows(sql, project)
        )
        patterns = """
            SELECT id FROM nodes WHERE project_id = ? AND kind = 'pattern'
            AND json_extract(data, '$.is_scanned')"""
        ids = tuple(row[0] for row in self._database.rows(patterns, project))
        return KnownProject(files=tuple(files), patterns=ids)

    def every_node(
        self, kinds: Sequence[KnowledgeKind] = (), project: str | None = None
    ) -> Iterator[KnowledgeNode]:
        """Yield every node of some kinds (none: all) and a project, in order of arrival."""
        where, values = _filter(kinds, project)
        last = 0
        while True:
            rows = self._database.rows(
                f"SELECT seq, {COLUMNS} FROM nodes {_where([*where, 'seq > ?'])}"
                " ORDER BY seq LIMIT ?",
                *values, last, AT_ONCE,
            )  # fmt: skip
            yield from (node_of(*row[1:]) for row in rows)
            if len(rows) < AT_ONCE:
                return
            last = rows[-1][0]

    def every_edge(self) -> Iterator[KnowledgeEdge]:
        """Yield every edge."""
        last: tuple[object, ...] = (0, "", 0)
        while True:
            rows = self._database.rows(
                "SELECT e.source, e.kind, e.target, a.id, b.id, e.weight FROM edges AS e"
                " JOIN nodes AS a ON a.seq = e.source JOIN nodes AS b ON b.seq = e.target"
                " WHERE (e.source, e.kind, e.target) > (?, ?, ?)"
                " ORDER BY e.source, e.kind, e.target LIMIT ?",
                *last, AT_ONCE,
            )  # fmt: skip
            yield from (edge_of(row[3], row[4], row[1], row[5]) for row in rows)
            if len(rows) < AT_ONCE:
                return
            last = rows[-1][:3]

    def export(
        self, kinds: Sequence[KnowledgeKind] = (), project: str | None = None
    ) -> Iterator[str]:
        """Yield lines of JSON: {"node": ...} of each node, then {"edge": ...} between them."""
        ids = set()
        for node in self.every_node(kinds, project):
            ids.add(node.id)
            yield f'{{"node":{node.model_dump_json()}}}\n'
        for edge in self.every_edge():
            if edge.source in ids and edge.target in ids:
                yield f'{{"edge":{edge.model_dump_json()}}}\n'

    def close(self) -> None:
        """Close the database file."""
        self._database.close()

    def _nodes_of(self, ids: Sequence[str]) -> list[KnowledgeNode]:
        return self._nodes("WHERE id IN (SELECT value FROM json_each(?))", json.dumps(ids))

    def _nodes(self, rest: str, *values: object) -> list[KnowledgeNode]:
        rows = self._database.rows(f"SELECT {COLUMNS} FROM nodes {rest}", *values)
        return [node_of(*row) for row in rows]


def _filter(
    kinds: Sequence[KnowledgeKind], project: str | None, agent: str | None = None
) -> tuple[list[str], list[Any]]:
    where, values = list[str](), list[Any]()
    if kinds:
        where.append("kind IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(kinds))
    if project is not None:
        where.append("project_id = ?")
        values.append(project)
    if agent is not None:
        where.append("agent = ?")
        values.append(agent)
    return where, values


def _where(conditions: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def _cursor(text: str) -> list[float | int]:
    updated, _, seq = text.partition(":")
    try:
        return [float(updated), int(seq)]
    except ValueError:
        raise InvalidInput(f"'{text}' is no cursor of a page (as its 'next' says)") from None

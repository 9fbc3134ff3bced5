"""Tables: the schema of `knowledge.db`, and records from and to its rows."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from agiraph.core.json_text import parse_json
from agiraph.core.redaction import redact_text, redact_texts
from agiraph.knowledge.records import KnowledgeEdge, KnowledgeNode, KnowledgeWritten
from agiraph.knowledge.words import marks_of
from agiraph.storage.database import Row

WORDS: Final = """
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    marks, title, text, tags, content = 'nodes', content_rowid = 'seq',
    tokenize = 'porter unicode61 remove_diacritics 2'
)"""

SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS nodes (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    project_id TEXT,
    importance REAL NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    used INTEGER NOT NULL,
    last_used REAL,
    agent TEXT NOT NULL,
    run TEXT NOT NULL,
    marks TEXT NOT NULL, -- kind and project, as words of the index
    title TEXT NOT NULL,
    tags TEXT NOT NULL, -- JSON
    data TEXT NOT NULL, -- JSON
    text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS nodes_by_time ON nodes (updated, seq);
CREATE INDEX IF NOT EXISTS nodes_by_kind ON nodes (kind, updated, seq);
CREATE INDEX IF NOT EXISTS nodes_by_project ON nodes (project_id, kind, updated, seq);
CREATE INDEX IF NOT EXISTS nodes_by_use ON nodes (used) WHERE used > 0;

CREATE TABLE IF NOT EXISTS edges (
    source INTEGER NOT NULL REFERENCES nodes (seq) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    target INTEGER NOT NULL REFERENCES nodes (seq) ON DELETE CASCADE,
    weight REAL NOT NULL,
    PRIMARY KEY (source, kind, target)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS edges_by_target ON edges (target);

{WORDS};
CREATE TRIGGER IF NOT EXISTS words_in AFTER INSERT ON nodes BEGIN
    INSERT INTO words (rowid, marks, title, text, tags)
    VALUES (new.seq, new.marks, new.title, new.text, new.tags);
END;
CREATE TRIGGER IF NOT EXISTS words_out AFTER DELETE ON nodes BEGIN
    INSERT INTO words (words, rowid, marks, title, text, tags)
    VALUES ('delete', old.seq, old.marks, old.title, old.text, old.tags);
END;
CREATE TRIGGER IF NOT EXISTS words_changed AFTER UPDATE OF marks, title, text, tags ON nodes BEGIN
    INSERT INTO words (words, rowid, marks, title, text, tags)
    VALUES ('delete', old.seq, old.marks, old.title, old.text, old.tags);
    INSERT INTO words (rowid, marks, title, text, tags)
    VALUES (new.seq, new.marks, new.title, new.text, new.tags);
END;
"""
PRAGMAS: Final = ("secure_delete = ON", "foreign_keys = ON")
AT_BIRTH: Final = ("auto_vacuum = INCREMENTAL",)
COLUMNS: Final = (
    "id, kind, title, text, project_id, tags, importance, created, updated, used, last_used,"
    " agent, run, data"
)
UPSERT: Final = """
INSERT INTO nodes (id, kind, project_id, importance, created, updated, used, last_used, agent, run,
                   marks, title, tags, data, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    kind = excluded.kind, project_id = excluded.project_id, importance = excluded.importance,
    updated = excluded.updated, agent = excluded.agent, run = excluded.run, marks = excluded.marks,
    title = excluded.title, tags = excluded.tags, data = excluded.data, text = excluded.text
WHERE (kind, importance, agent, run, marks, title, tags, data, text) IS NOT
    (excluded.kind, excluded.importance, excluded.agent, excluded.run, excluded.marks,
     excluded.title, excluded.tags, excluded.data, excluded.text)
"""
CONNECT: Final = """
INSERT INTO edges (source, kind, target, weight)
SELECT a.seq, ?, b.seq, ? FROM nodes AS a, nodes AS b WHERE a.id = ? AND b.id = ?
ON CONFLICT (source, kind, target) DO UPDATE SET weight = excluded.weight
WHERE weight != excluded.weight
"""
AT_ONCE: Final = 500


def write(
    db: sqlite3.Connection, rows: Sequence[Row], links: Sequence[KnowledgeEdge]
) -> KnowledgeWritten:
    """Write rows of nodes, then edges (`links`); existing ones are replaced. Return the counts."""
    new = changed = connected = 0
    for row in rows:
        was = db.execute("SELECT 1 FROM nodes WHERE id = ?", row[:1]).fetchone()
        is_written = db.execute(UPSERT, row).rowcount > 0
        new += was is None
        changed += was is not None and is_written
    for edge in links:
        values = (edge.kind, edge.weight, edge.source, edge.target)
        connected += max(0, db.execute(CONNECT, values).rowcount)
    unchanged = len(rows) - new - changed
    return KnowledgeWritten(new=new, changed=changed, unchanged=unchanged, edges=connected)


def delete(db: sqlite3.Connection, ids: Sequence[str]) -> int:
    """Delete nodes and their edges; return the number of deleted nodes."""
    removed = 0
    for start in range(0, len(ids), AT_ONCE):
        part = json.dumps(ids[start : start + AT_ONCE])
        sql = "DELETE FROM nodes WHERE id IN (SELECT value FROM json_each(?))"
        removed += db.execute(sql, (part,)).rowcount
    return removed


def row_of(node: KnowledgeNode) -> Row:
    """Return a node as the values of UPSERT, with secrets redacted."""
    return (
        node.id, node.kind, node.project_id, node.importance, node.created, node.updated,
        node.used, node.last_used, node.agent, node.run, marks_of(node.kind, node.project_id),
        redact_text(node.title), _json([redact_text(tag) for tag in node.tags]),
        _json(redact_texts(node.data)), redact_text(node.text),
    )  # fmt: skip


def node_of(*values: Any) -> KnowledgeNode:
    """Return a node from the values of COLUMNS; our own rows are not validated again."""
    (id, kind, title, text, project_id, tags, importance, created, updated, used, last_used,
     agent, run, data) = values  # fmt: skip
    return KnowledgeNode.model_construct(
        id=id, kind=kind, title=title, text=text, project_id=project_id,
        tags=tuple(parse_json(tags)), importance=importance, created=created, updated=updated,
        used=used, last_used=last_used, agent=agent, run=run, data=parse_json(data),
    )  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def edge_of(source: str, target: str, kind: Any, weight: float) -> KnowledgeEdge:
    """Return the edge from node `source` to node `target`, without validation."""
    return KnowledgeEdge.model_construct(source=source, target=target, kind=kind, weight=weight)


def columns_of(table: str) -> str:
    """Return COLUMNS of a table under another name in a query."""
    return ", ".join(f"{table}.{name.strip()}" for name in COLUMNS.split(","))

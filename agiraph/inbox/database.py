"""The gateway's database, `human/book.db`: messages, questions and dead letters, by index."""

from pathlib import Path
from typing import Final

from agiraph.storage.database import Database

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    "from" TEXT NOT NULL,
    "to" TEXT NOT NULL,
    other TEXT NOT NULL, -- the key of the one who speaks with the person
    content TEXT NOT NULL,
    ts REAL NOT NULL,
    kind TEXT NOT NULL,
    question_id TEXT,
    in_reply_to TEXT
);
CREATE INDEX IF NOT EXISTS message_ids ON messages (id, agent);
CREATE INDEX IF NOT EXISTS messages_of_agent ON messages (agent, seq);
CREATE INDEX IF NOT EXISTS messages_with ON messages (agent, other, seq);
CREATE INDEX IF NOT EXISTS texts_with ON messages (agent, other, seq)
    WHERE kind IN ('text', 'nudge');

CREATE TABLE IF NOT EXISTS read_cursors (agent TEXT PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS read_with ( -- beyond the agent's own cursor
    agent TEXT, other TEXT, seq INTEGER NOT NULL, PRIMARY KEY (agent, other)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS questions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    asked_as TEXT NOT NULL,
    status TEXT NOT NULL,
    is_live INTEGER NOT NULL,
    was_given INTEGER NOT NULL,
    cause TEXT NOT NULL,
    "case" TEXT NOT NULL -- JSON
);
CREATE INDEX IF NOT EXISTS questions_as_asked ON questions (asked_as);
CREATE INDEX IF NOT EXISTS questions_by_status ON questions (status);
CREATE INDEX IF NOT EXISTS live_questions ON questions (is_live) WHERE is_live = 1;
CREATE INDEX IF NOT EXISTS given_approvals ON questions (id) WHERE was_given;
CREATE INDEX IF NOT EXISTS answers_by_cause ON questions (cause) WHERE cause != '';
CREATE TABLE IF NOT EXISTS asks (ask TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS letters (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, letter BLOB NOT NULL, at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS sent_letters (cause TEXT PRIMARY KEY, "view" TEXT NOT NULL);

CREATE TABLE IF NOT EXISTS knowledge_writes (message TEXT PRIMARY KEY) WITHOUT ROWID; -- done ones
"""


class GatewayDatabase(Database):
    """The gateway's database, open."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, SCHEMA)
        self._db.create_function("folded", 1, str.casefold, deterministic=True)

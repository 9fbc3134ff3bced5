"""A supervisor whose processes die by kill -9 right after a durable write that a test has chosen.

A write is a write of a `Journal`, a `Database`, the router's `MailboxFile` or the broker's ledger:
later actions of the process have not happened yet. `{home}/writes.log` records the file of each
write, one line each, by its kind (`kind_of`). While `{home}/death.json` names a kind, `{"file":
KIND, "after": N}`, the process that makes the N-th write to files of that kind dies, and the file
is removed.
"""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

from actors.runtime.kinds import KINDS
from agiraph.core.turns import JsonObject
from agiraph.spending.ledger import UsageLedger
from agiraph.storage.database import Database
from agiraph.storage.journal import Journal
from transport.mailbox_file import MailboxBatch, MailboxFile

WRITES = "writes.log"
DEATH = "death.json"
OF_ONE_AGENT = re.compile(r"(agents|runs)/[^/]+")
OF_ONE_WORKER = re.compile(r"workers/(.+)-[0-9a-f]+/")


def kind_of(path: Path) -> tuple[Path, str] | None:
    """Return the home of a file and its path there without random ids; None for no such file."""
    for home in path.parents:
        if (home / WRITES).exists():
            kind = OF_ONE_AGENT.sub(r"\1/*", str(path.relative_to(home)))
            return home, OF_ONE_WORKER.sub(r"workers/\1-*/", kind)
    return None


def order_death(home: Path, file: str, after: int) -> None:
    """Kill the process that makes the `after`-th write to files of the kind `file`."""
    part = home / f"{DEATH}.part"
    part.write_text(json.dumps({"file": file, "after": after}))
    part.replace(home / DEATH)


def _written(path: Path) -> None:
    """Log a write, and die if it is the chosen write."""
    if (found := kind_of(path)) is None:
        return
    home, kind = found
    with open(home / WRITES, "ab", buffering=0) as log:
        log.write(f"{kind}\n".encode())
    death = home / DEATH
    try:
        order = json.loads(death.read_text())
    except FileNotFoundError:
        return
    if order["file"] != kind:
        return
    if order["after"] > 1:
        order_death(home, order["file"], order["after"] - 1)
        return
    death.unlink()
    os.kill(os.getpid(), signal.SIGKILL)


def supervise() -> None:
    """Run a supervisor; it and all processes that it forks are mortal."""
    write, transact, write_batch = Journal.write, Database._transact, MailboxFile.write
    commit = UsageLedger._commit

    def write_and_die(self: Journal, *records: JsonObject) -> None:
        write(self, *records)
        if records:
            _written(self.path)

    def transact_and_die(self: Database, work: Any) -> Any:
        result = transact(self, work)
        _written(self.path)
        return result

    def write_batch_and_die(self: MailboxFile, batch: MailboxBatch) -> None:
        write_batch(self, batch)
        _written(self._path)

    def commit_and_die(self: UsageLedger) -> None:
        commit(self)
        _written(self._path)

    UsageLedger._commit = commit_and_die  # type: ignore[method-assign]
    MailboxFile.write = write_batch_and_die  # type: ignore[method-assign]
    Journal.write = write_and_die  # type: ignore[method-assign]
    Database._transact = transact_and_die  # type: ignore[method-assign]
    from tests.fakes.interpreters import supervise as run

    run(KINDS)

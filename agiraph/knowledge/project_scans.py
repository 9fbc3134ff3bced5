"""ProjectScans: scans of project folders, each by a process of its own, one at a time.

A scan's results are written as they arrive. An interrupted scan is completed by the next scan,
which compares the folder with the known files.
"""

import asyncio
import os
import sys
from functools import partial
from typing import Any, Final

from agiraph.core.clock import Clock
from agiraph.core.concurrency import BackgroundTasks
from agiraph.core.errors import InvalidInput, Unavailable
from agiraph.knowledge.database import KnowledgeDatabase, KnowledgeUnavailable
from agiraph.knowledge.records import ScanBatch, ScanOutcome, project_id, project_node_id
from agiraph.knowledge.scan.stack import SYSTEMS
from agiraph.knowledge.store import KnowledgeStore
from agiraph.settings.config import KnowledgeConfig

SECONDS: Final = 240.0
MARKS: Final = (".git", *SYSTEMS)
"""Entries at the top of a folder that mark a project; other folders are scanned only on request."""

LONGEST_LINE: Final = 1 << 26
LAST_WORDS: Final = 500


class ProjectScans:
    """Runs scans of project folders, and writes their results to a knowledge database."""

    def __init__(
        self, settings: KnowledgeConfig, clock: Clock, log: Any, knowledge: KnowledgeDatabase
    ) -> None:
        self._settings, self._clock, self._log = settings, clock, log
        self._knowledge = knowledge
        self._turn = asyncio.Lock()
        self._tasks = BackgroundTasks()
        self._under_way: set[str] = set()
        self._scanned: dict[str, float] = {}

    def begin_if_due(self, folder: str) -> None:
        """Start a scan in the background of the project that is a run's input `folder`.

        Nothing is done if the last scan is recent.
        """
        if self._settings.scan == "auto" and folder not in self._under_way:
            self._under_way.add(folder)
            self._tasks.start(self._scan_if_due(folder))

    async def _scan_if_due(self, folder: str) -> None:
        try:
            if await self._is_due(folder):
                await self.scan(folder)
        except (KnowledgeUnavailable, InvalidInput, Unavailable, OSError) as error:
            self._log.warning("a project was not scanned", folder=folder, why=str(error))
        finally:
            self._under_way.discard(folder)

    async def _is_due(self, folder: str) -> bool:
        if not any(os.path.lexists(os.path.join(folder, mark)) for mark in MARKS):
            return False
        project = project_id(folder)
        known = await self._knowledge.use(lambda store: store.get(project_node_id(project)))
        last = max(self._scanned.get(project, 0.0), known.updated if known is not None else 0.0)
        now = self._clock.now()
        return now - last > self._settings.scan_hours * 3600

    async def scan(self, folder: str) -> ScanOutcome:
        """Scan a folder now, write its files to the database, and return the outcome.

        Raises InvalidInput if it is not a folder, Unavailable if the scan fails, and the errors of
        `KnowledgeDatabase.use`.
        """
        if not os.path.isabs(folder) or not os.path.isdir(folder):  # plain: the person's own
            raise InvalidInput(f"'{folder}' is no folder here (name it by its absolute path)")
        async with self._turn:
            known = await self._knowledge.use(lambda store: store.known(project_id(folder)))
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "agiraph.knowledge.scan", folder),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,
            )
            try:
                async with asyncio.timeout(SECONDS):
                    return await self._outcome(child, known.model_dump_json().encode())
            except TimeoutError:
                raise Unavailable(f"the scan of {folder} was not done in {SECONDS:g} s") from None
            finally:
                if child.returncode is None:
                    child.kill()
                    await child.wait()

    async def _outcome(self, child: asyncio.subprocess.Process, known: bytes) -> ScanOutcome:
        """Write the results of the scanner process `child`; return its outcome.

        `known` is the known state of the project as JSON, its input.
        """
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        errors = asyncio.ensure_future(child.stderr.read())
        child.stdin.write(known)
        child.stdin.write_eof()
        done: ScanOutcome | None = None
        async for line in child.stdout:
            batch = ScanBatch.model_validate_json(line)
            await self._knowledge.use(partial(_write, batch))
            done = batch.done
        said = (await errors).decode("utf-8", "replace").strip()[-LAST_WORDS:]
        if await child.wait() != 0 or done is None:
            raise Unavailable(said or f"the scan ended with {child.returncode}")
        if done.gone:
            await self._knowledge.use(KnowledgeStore.scrub)
        self._scanned[done.project_id] = self._clock.now()
        return done

    async def stop(self) -> None:
        """Stop the running scans."""
        await self._tasks.stop()


def _write(batch: ScanBatch, store: KnowledgeStore) -> None:
    store.add(batch.nodes, batch.edges)
    store.drop(batch.gone)

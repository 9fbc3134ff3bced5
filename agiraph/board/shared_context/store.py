"""SharedContextStore: a run's shared context, every change of which is on disk before anyone is
told."""

import json
from pathlib import Path

from agiraph.board.shared_context.context import (
    AppliedChange,
    ChangeReceipt,
    ContextChange,
    SharedContext,
    SharedContextLimits,
    apply,
    decide,
)
from agiraph.storage.files import replace_file
from agiraph.storage.journal import Journal


class SharedContextStore:
    """The context of one run, its journal, and the file that shows it; one process holds it."""

    def __init__(self, journal: Path, shown: Path, bounds: SharedContextLimits) -> None:
        """Open or create the journal and fold it; Corrupt, OSError."""
        self._journal = Journal(journal)
        self._shown = shown
        self._bounds = bounds
        self.context = SharedContext()
        for record in self._journal.records:
            self.context = apply(self.context, AppliedChange.model_validate(record))
        self._journal.records = []
        if self.context.entries:
            self._show()

    def change(self, change: ContextChange, now: float) -> tuple[ChangeReceipt, bool]:
        """Carry a change out; return its receipt, and whether it was its first time.

        Raises InvalidInput, OSError; the context is then as it was.
        """
        happened = decide(self.context, change, self._bounds, now)
        for changed in happened:
            self._journal.append(changed.model_dump(mode="json"))
            self.context = apply(self.context, changed)
        if happened:
            self._show()
        return self.context.receipts[change.cause], bool(happened)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _show(self) -> None:
        """Write what stands where people and models can read it."""
        text = json.dumps(self.context.shown(), ensure_ascii=False, indent=2)
        replace_file(self._shown, f"{text}\n")

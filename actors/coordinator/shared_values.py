"""SharedValueService: the shared values of a run, for its coordinator and its workers."""

from typing import Any, Literal

from actors.coordinator.context import CoordinatorContext
from agiraph.board.shared_values import SharedValueChange, SharedValueLimits, SharedValueStore
from agiraph.core.turns import JsonObject
from agiraph.tools.base import as_json


class SharedValueService:
    """The only object that changes a run's shared values."""

    def __init__(self, context: CoordinatorContext) -> None:
        self._context = context
        run, shared = context.files.run, context.runtime.config.shared
        limits = SharedValueLimits(shared.max_keys, shared.max_value_bytes, shared.max_bytes)
        self._store = SharedValueStore(run.shared_values_journal, run.shared_values, limits)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._store.values.entries)

    def read(self, key: str) -> str:
        """Return the entry of a key, as one JSON object. Raises InvalidInput."""
        return as_json(self._store.values.find(key).shown())

    def rows(self) -> str:
        """Return {"keys": [...]}, a row without value for each key, as one JSON object."""
        return as_json({"keys": self._store.values.rows()})

    def change(
        self, cause: str, way: Literal["write", "append"], key: str, value: Any, by: str
    ) -> JsonObject:
        """Execute a change, once for each cause; return its receipt. Raises InvalidInput, OSError.

        Each call reports the change, with a key that makes it one event: a crash may have lost the
        first report.
        """
        context = self._context
        wanted = SharedValueChange(cause=cause, way=way, key=key, value=value, by=by)
        receipt, _ = self._store.change(wanted, context.now())
        about = {"key": receipt.key, "way": way, "version": receipt.version}
        context.report("shared.written", about, f"{context.run}:{cause}", entity=by)
        return receipt.model_dump(mode="json")

    def close(self) -> None:
        self._store.close()

"""CallResults: what calls that must not be repeated have returned, for askers that missed the
answer.

An asker that died, or was cut off, asks what became of its call. The last so many are kept.
"""

from collections import OrderedDict

from agiraph.messages import ToolResult

KEPT = 64


class CallResults:
    """The last results by who called, and the id of the call."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: OrderedDict[tuple[str, bytes], ToolResult] = OrderedDict()

    def keep(self, call: tuple[str, bytes], result: ToolResult) -> None:
        """Keep what a call returned; the oldest goes when there are too many."""
        self._kept[call] = result
        self._kept.move_to_end(call)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def get(self, call: tuple[str, bytes]) -> ToolResult | None:
        """Return what a call returned, None if that is not known."""
        return self._kept.get(call)

"""What services that speak Chat Completions stream of a model's reasoning, put together again.

There is no standard for it: a field of text by one of two names, or a list of details of which some
are sealed. It goes back in the form in which it came.
"""

from typing import Any

JsonObject = dict[str, Any]

REASONING_FIELDS = ("reasoning_content", "reasoning")
DETAILS = "reasoning_details"
GROWING = ("text", "summary", "data")
# Some services send all of the text so far instead of what is new. A piece that begins with all
# that came before is taken for that, if what came before is too long to be repeated by chance.
SNAPSHOT_FROM = 24


class StreamedReasoning:
    """The reasoning of one answer as it comes in."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._field = REASONING_FIELDS[0]
        self._texts: list[str] = []
        self._details: list[JsonObject] = []

    def feed(self, delta: JsonObject) -> None:
        """Take one delta of the stream."""
        for field in REASONING_FIELDS:
            if isinstance(text := delta.get(field), str) and text:
                self._field = field
                self._texts.append(text)
                break
        for piece in delta.get(DETAILS) or ():
            if isinstance(piece, dict):
                self._add(piece)

    def _add(self, piece: JsonObject) -> None:
        for known in reversed(self._details):
            if all(known.get(key) == piece.get(key) for key in ("type", "index")):
                _grow(known, piece)
                return
        self._details.append(dict(piece))

    def kept(self) -> JsonObject | None:
        """Return what has to go back with the next request, None if there was no reasoning."""
        text = "".join(self._texts)
        if not text and not self._details:
            return None
        kept = {"reasoning": text, "field": self._field}
        return kept | {"details": self._details} if self._details else kept


def _grow(known: JsonObject, piece: JsonObject) -> None:
    for key, value in piece.items():
        before = known.get(key)
        if key in GROWING and isinstance(before, str) and isinstance(value, str):
            is_all = len(before) >= SNAPSHOT_FROM and value.startswith(before)
            known[key] = value if is_all else before + value
        elif value is not None:
            known[key] = value

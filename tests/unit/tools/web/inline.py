"""A reader in this process, with the same answers as the reader's process."""

from typing import Any

from agiraph.core.errors import Refused
from agiraph.tools.web.reader import answer


class InlineReader:
    """Answers at once; `asked` counts requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, request: dict[str, Any], within_seconds: float) -> dict[str, Any]:
        """Answer as `agiraph.tools.web.reader` does."""
        self.asked.append(request["do"])
        told = answer(dict(request))
        if not told.pop("ok"):
            raise Refused(str(told["reason"]))
        return told

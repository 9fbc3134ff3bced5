"""OneWayDriver: what the drivers have in common of agents that are told their task and then only
speak.

They write a JSON object a line. What a line tells is each one's own (`read`).
"""

from agiraph.core.turns import JsonObject, Usage
from agiraph.external.agent_events import Happening, TurnEnded
from agiraph.external.launching import AgentLaunch
from agiraph.external.text import JsonLinesReader, why_failed


class OneWayDriver:
    """One start of such an agent."""

    is_two_way = False
    hears_in_turn = False

    def __init__(self, job: AgentLaunch) -> None:
        """Speak with what is started for `job`."""
        self.usage = Usage()
        self.last_word = ""
        self.problem = ""
        self._lines = JsonLinesReader()

    def read(self, line: JsonObject) -> list[Happening]:
        """Return what a line tells."""
        raise NotImplementedError

    def opening(self) -> bytes:
        """Return nothing: its arguments tell it everything."""
        return b""

    def take(self, data: bytes) -> list[Happening]:
        """Return what these bytes tell; their end is the turn's."""
        found: list[Happening] = []
        for line in self._lines.objects(data):
            found += self.read(line)
        return found if data else [*found, TurnEnded(self.last_word, self.problem)]

    def say(self, text: str) -> bytes | None:
        """Return None: its stdin is closed."""
        return None

    def interrupt(self) -> bytes | None:
        """Return None: it is ended and started again."""
        return None

    def answer(self, request: str, refusal: str) -> bytes:
        """Return nothing: it never asks."""
        return b""

    def verdict(self, exit_code: int, complaint: str) -> str:
        """Return why it failed: what it said of it, else its exit code."""
        return self.problem or why_failed(exit_code, complaint or self._lines.noise)

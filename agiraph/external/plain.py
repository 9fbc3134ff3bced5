"""Plain: any command that takes a task and leaves files; what it prints is its last word."""

from agiraph.external.agent_events import Happening, TextStreamed, TurnEnded
from agiraph.external.launching import AgentLaunch
from agiraph.external.text import Utf8Decoder, why_failed

KEPT_CHARACTERS = 8000


class PlainDriver:
    """A command without a protocol. It is told its task on stdin unless its arguments tell it."""

    is_two_way = False
    hears_in_turn = False

    def __init__(self, job: AgentLaunch) -> None:
        """Speak with what is started for `job`."""
        self._job = job
        self._decoder = Utf8Decoder()
        self._said = ""

    def opening(self) -> bytes:
        """Return the task, if no argument holds it."""
        preset = self._job.agent.preset
        words = preset.resume if self._job.takes_up else preset.start
        is_told = any("{prompt}" in word for word in words)
        return b"" if is_told else f"{self._job.prompt}\n".encode()

    def take(self, data: bytes) -> list[Happening]:
        """Return its words as they come, and at their end all of them (the last, if many)."""
        text = self._decoder.text(data)
        self._said = (self._said + text)[-KEPT_CHARACTERS:]
        streamed: list[Happening] = [TextStreamed(text)] if text else []
        return streamed if data else [*streamed, TurnEnded(self._said.strip())]

    def say(self, text: str) -> bytes | None:
        """Return None: its stdin is closed."""
        return None

    def interrupt(self) -> bytes | None:
        """Return None: it knows no such thing."""
        return None

    def answer(self, request: str, refusal: str) -> bytes:
        """Return nothing: it never asks."""
        return b""

    def verdict(self, exit_code: int, complaint: str) -> str:
        """Return what an exit code other than 0 means."""
        return why_failed(exit_code, complaint or self._said)

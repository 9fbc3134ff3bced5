"""Driver: how an external agent is spoken to, without a process or a clock.

A driver is made for one start of an agent. It is fed the bytes that the agent writes to stdout and
returns what they mean; it encodes what the worker wants written to the agent's stdin. The arguments
and the environment of the start are in the agent's preset.
"""

from abc import ABC, abstractmethod

from agiraph.external.agent_events import AgentEvent, TextReported
from agiraph.external.launching import AgentLaunch
from agiraph.external.text import JsonLinesReader, why_failed


class Driver(ABC):
    """One start of an external agent, as a protocol without input or output.

    The defaults are those of an agent that is given its task and then only writes. Of one that
    `is_two_way` stdin stays open for prompts while it works; one that `reads_mid_turn` takes them
    in the middle of a turn, not only at the next one.
    """

    is_two_way = False
    reads_mid_turn = False

    def __init__(self, launch: AgentLaunch) -> None:
        self.launch = launch
        self.problem = ""
        self.lines = JsonLinesReader()
        self.pieces: list[str] = []
        self.last_message = ""

    def opening(self) -> bytes:
        """Return what is written to stdin first (if not `is_two_way`: all that is written)."""
        return b""

    def complete_text(self) -> list[AgentEvent]:
        """Return the pieces of text so far as one text; it is the last message until the next."""
        text, self.pieces = "".join(self.pieces).strip(), []
        self.last_message = text or self.last_message
        return [TextReported(text)] if text else []

    @abstractmethod
    def feed(self, data: bytes) -> list[AgentEvent]:
        """Return what the next bytes of stdout mean; b"" is the end of stdout."""

    def encode_prompt(self, text: str) -> bytes | None:
        """Return a further prompt for stdin, None if it takes none; b"" if it is sent later."""
        return None

    def interrupt(self) -> bytes | None:
        """Return what makes it stop its turn and read on; None if nothing does."""
        return None

    def answer(self, request: str, refusal: str) -> bytes:
        """Return the answer to a `PermissionRequested`: '' allows, anything else is the reason."""
        return b""

    def verdict(self, exit_code: int, stderr: str) -> str:
        """Return why the process has failed, '' if it has not.

        `exit_code` is negative for a signal; `stderr` is the end of what it wrote there.
        """
        return self.problem or why_failed(exit_code, stderr or self.lines.noise)

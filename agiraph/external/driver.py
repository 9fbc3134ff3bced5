"""Driver: the protocol of an external agent, without a process or a clock.

A driver is created for one start of an agent. It receives the bytes that the agent writes to stdout
and returns events; it encodes the text that the worker sends to the agent's stdin. The arguments
and the environment of the start are in the agent's preset.
"""

from abc import ABC, abstractmethod

from agiraph.external.agent_events import AgentEvent, TextReported
from agiraph.external.launching import AgentLaunch
from agiraph.external.text import JsonLinesReader, why_failed


class Driver(ABC):
    """One start of an external agent, as a protocol without input or output.

    The defaults fit an agent that receives its task at the start and then only writes.
    `is_two_way`: stdin stays open for prompts while the agent works; `reads_mid_turn`: it accepts
    prompts in the middle of a turn, not only at the next turn.
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
        """Return the first bytes for stdin (if not `is_two_way`: the only ones)."""
        return b""

    def complete_text(self) -> list[AgentEvent]:
        """Return the pieces of text so far as one text, which becomes the last message."""
        text, self.pieces = "".join(self.pieces).strip(), []
        self.last_message = text or self.last_message
        return [TextReported(text)] if text else []

    @abstractmethod
    def feed(self, data: bytes) -> list[AgentEvent]:
        """Return the events in the next bytes of stdout; b"" is the end of stdout."""

    def encode_prompt(self, text: str) -> bytes | None:
        """Return a further prompt for stdin; None if the agent accepts none.

        b"" if the driver sends the prompt later.
        """
        return None

    def interrupt(self) -> bytes | None:
        """Return a request that stops the current turn; None if the agent cannot be interrupted."""
        return None

    def answer(self, request: str, refusal: str) -> bytes:
        """Return the answer to a `PermissionRequested`: '' allows, any other text is the reason."""
        return b""

    def verdict(self, exit_code: int, stderr: str) -> str:
        """Return why the process has failed, '' if it ended successfully.

        `exit_code` is negative for a signal; `stderr` is the end of its stderr output.
        """
        return self.problem or why_failed(exit_code, stderr or self.lines.noise)

"""Client: the external agents of the matrix, the releases to play, and the expected results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agiraph.external.preset import load_agents
from tests.fakes.real_agents import CannotInstall, Release

RUN_CELLS = ("shell", "write", "keys", "question", "ref", "denied", "usage")
KILLED = ("agent", "worker", "broker", "supervisor")
KILL_CELLS = tuple(f"kill {what}" for what in KILLED)
CONFIG_CELLS = ("config",)
CELLS = (*RUN_CELLS, *KILL_CELLS, *CONFIG_CELLS)
CASES: Mapping[str, Sequence[str]] = {
    "work": RUN_CELLS,
    "kills": KILL_CELLS,
    "config": CONFIG_CELLS,
}
FULL: Mapping[str, str] = dict.fromkeys(CELLS, "yes")


@dataclass(frozen=True)
class Client:
    """One external agent.

    `known`: the release that was tested last. `model` is the model of its worker, at the fake
    service. `lacks` contains the cells in which it is declared to do less than FULL. `speech`: how
    the model behind it acts, by calls of tools or by aider's edits.
    """

    name: str
    preset: str
    known: Release
    model: str = "openai/fake"
    lacks: Mapping[str, str] = field(default_factory=dict)
    speech: Literal["tools", "edits"] = "tools"

    @property
    def declared(self) -> Mapping[str, str]:
        """The expected word of each cell; the preset determines how the rules are enforced."""
        preset = load_agents().get(self.preset)
        is_asked = preset is None or preset.rules == "asked"
        rules = "refused" if is_asked else "sandbox"
        return {**FULL, **dict.fromkeys(("denied", "config"), rules), **self.lacks}


@dataclass(frozen=True)
class ClientRelease:
    """One release of one client to play, or the reason why not; `is_newest` by the registry."""

    client: Client
    release: Release
    is_newest: bool = False
    problem: str = ""


CLAUDE = Release("npm", "@anthropic-ai/claude-code", "2.1.330", "claude", 22)
CLAUDE_ACP = Release(
    "npm", "@agentclientprotocol/claude-agent-acp", "0.101.0", "claude-agent-acp", 22
)
CODEX = Release("npm", "@openai/codex", "0.169.0", "codex", 20)
CODEX_ACP_ZED = Release("npm", "@zed-industries/codex-acp", "0.16.0", "codex-acp", 20)
CODEX_ACP = Release("npm", "@agentclientprotocol/codex-acp", "2.6.0", "codex-acp", 20)
GEMINI = Release("npm", "@google/gemini-cli", "0.61.0", "gemini", 20)
OPENCODE = Release("npm", "opencode-ai", "1.18.33", "opencode", 20)
QWEN = Release("npm", "@qwen-code/qwen-code", "0.15.10", "qwen", 20)
COPILOT = Release("npm", "@github/copilot", "1.0.102", "copilot", 22)
PI = Release("npm", "@mariozechner/pi-coding-agent", "0.73.1", "pi", 20)
AIDER = Release("venv", "aider-chat", "0.86.2", "aider")
MINI = Release("venv", "mini-swe-agent", "2.4.6", "mini", beside=("mcp",))

# Aider edits files in one answer and ends: no shell, no reading on its own, no questions.
AIDER_LACKS = dict.fromkeys(("shell", "keys", "question", "ref", "denied", "config"), "-")

CLIENTS = (
    Client("claude-code", "claude-code", CLAUDE, "anthropic/fake"),
    Client("codex", "codex", CODEX),
    Client("gemini", "gemini", GEMINI, "google/fake"),
    Client("opencode", "opencode", OPENCODE),
    Client("aider", "aider", AIDER, lacks=AIDER_LACKS, speech="edits"),
    Client("claude-code-acp", "claude-code-acp", CLAUDE_ACP, "anthropic/fake"),
    Client("codex-acp", "codex-acp", CODEX_ACP),
    Client("codex-acp-zed", "codex-acp", CODEX_ACP_ZED),
    Client("gemini-acp", "gemini-acp", GEMINI, "google/fake"),
    Client("opencode-acp", "opencode-acp", OPENCODE),
    Client("qwen", "qwen", QWEN),
    Client("copilot", "copilot", COPILOT),
    Client("pi", "pi", PI),
    Client("mini-swe-agent", "mini-swe-agent", MINI),
)

Newest = Callable[[Release], tuple[str, int]]


def plan(clients: Sequence[Client], newest: Newest) -> list[ClientRelease]:
    """Return the rows to play: of each client the last known release and, if different, the newest.

    `newest` asks a registry for a version and the Node it needs; CannotInstall becomes a row.
    """
    return [row for client in clients for row in _rows(client, newest)]


def _rows(client: Client, newest: Newest) -> list[ClientRelease]:
    known = client.known
    try:
        version, node = newest(known)
    except CannotInstall as error:
        return [
            ClientRelease(client, known),
            ClientRelease(client, known, is_newest=True, problem=str(error)),
        ]
    if version == known.version:
        return [ClientRelease(client, known, is_newest=True)]
    release = replace(known, version=version, node=node or known.node)
    return [ClientRelease(client, known), ClientRelease(client, release, is_newest=True)]

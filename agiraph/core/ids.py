"""Identifiers: the ids of agents, runs, nodes, workers and messages."""

import hashlib
import re
import secrets
import time
import unicodedata
from collections.abc import Iterable
from typing import NewType

AgentId = NewType("AgentId", str)
RunId = NewType("RunId", str)
NodeId = NewType("NodeId", str)
WorkerId = NewType("WorkerId", str)
QuestionId = NewType("QuestionId", str)
Address = NewType("Address", str)
MessageId = NewType("MessageId", bytes)

TEXT_PREFIX = "text:"
"""The prefix for a model without native tool calling."""

SUPERVISOR = Address("supervisor")
ROUTER = Address("router")
RECORDER = Address("recorder")
BROKER = Address("broker")
CLOCK = Address("clock")
TRACER = Address("tracer")
SCALER = Address("scaler")
HUMAN = Address("human")
WEB = Address("tools/web")

FILES = Address("files")

TOOLS_PREFIX = "tools/"
HOST_PREFIX = "host/"
INVITE_PREFIX = "invite/"
NO_AGENTS = frozenset({"console", "tools", "host", "invite"})
"""The first parts of addresses that belong to no agent."""

COORDINATOR_NAME = "coordinator"
HUMAN_NAME = "human"
BOARD_NAME = "board"
TRIGGER_NAME = "trigger"
EVERYBODY = "*"
"""The name of all other entities as the receivers of a message."""
NEW_WORKER = "new"
"""In place of a worker's name: another worker is hired."""

RESERVED_NAMES = frozenset({
    COORDINATOR_NAME, HUMAN_NAME, BOARD_NAME, TRIGGER_NAME, "system", EVERYBODY,
    SUPERVISOR, ROUTER, RECORDER, BROKER, CLOCK, TRACER, SCALER, FILES, NEW_WORKER, *NO_AGENTS,
})  # fmt: skip
"""Names that a worker cannot have: the processes of a home and other senders of messages."""

MESSAGE_ID_BYTES = 16
DERIVED_ID_BYTES = 16
SHOWN_DIGITS = 8
FEWEST_DIGITS = 4
SLUG_LIMIT = 32
AGENT_WORDS = 24
QUESTION_ID_PATTERN = r"^[a-z][a-z0-9-]{0,63}$"
LONG_ID = re.compile(r"[a-z]-[0-9a-f]{32}(-\d+)?")


def slug(text: str, fallback: str = "x") -> str:
    """Return `text` as lower-case ASCII words joined by dashes, at most SLUG_LIMIT characters."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", ascii_text.lower())
    return "-".join(words)[:SLUG_LIMIT].strip("-") or fallback


def agent_id_for(called: str, run: RunId) -> AgentId:
    """Return the id of a new agent: words of `called` and six digits derived from its first run.

    `called` is the agent's name or the title of its goal. The same run always gives the same id.
    """
    words = slug(called, fallback="agent")[:AGENT_WORDS].strip("-")
    return AgentId(f"{words}-{short_derived_id(run)}")  # deterministic: same run, same agent


def short_id() -> str:
    """Return six random hexadecimal characters."""
    return secrets.token_hex(3)


def new_run_id(now: float) -> RunId:
    """Return the id of a run: it sorts by time and is unique across all agents, for metering."""
    return RunId(f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{short_id()}")


def derived_id(*parts: str) -> str:
    """Return a 128-bit id in hexadecimal, derived from `parts`; the same parts give the same id."""
    return _digest(DERIVED_ID_BYTES, parts)


def short_derived_id(*parts: str) -> str:
    """Return six hexadecimal characters, derived from `parts`; the same parts give the same text.

    Use it only for names whose caller can choose another one on a collision: among five thousand
    names, two are equal by chance.
    """
    return _digest(3, parts)


def _digest(size: int, parts: Iterable[str]) -> str:
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=size).hexdigest()


def new_epoch() -> str:
    """Return a random name (hexadecimal) for the next epoch of a journal."""
    return secrets.token_hex(DERIVED_ID_BYTES)


def step_place(epoch: str, position: int) -> str:
    """Return the permanent identifier of the record at `position` of a journal.

    A journal that lost its end continues from its last intact position, so the same position is
    used twice; the `epoch` of the journal distinguishes the two. It is '' for records from before
    epochs existed.
    """
    return f"{epoch}-{position}" if epoch else str(position)


def abbreviated(id: str) -> str:
    """Return an id for display: its kind and first SHOWN_DIGITS digits; other texts unchanged."""
    kind, _, digits = id.partition("-")
    return f"{kind}-{digits[:SHOWN_DIGITS]}" if LONG_ID.fullmatch(id) else id


def ids_meant(text: str, known: Iterable[str]) -> list[str]:
    """Return the `known` ids that match `text`: the exact id, or all ids with this prefix.

    A prefix needs at least FEWEST_DIGITS digits.
    """
    ids = list(known)
    if text in ids:
        return [text]
    digits = text.partition("-")[2]
    return [id for id in ids if id.startswith(text)] if len(digits) >= FEWEST_DIGITS else []


def open_ids_meant(text: str, known: Iterable[str]) -> list[str]:
    """Return the ids of open items that match `text`: the exact id, or all ids with this prefix.

    A prefix needs at least one digit; the letter of the kind can be omitted.
    """
    ids = list(known)
    if text in ids:
        return [text]
    kind, dash, digits = text.rpartition("-")
    parts = {id: id.partition("-") for id in ids if digits}
    return [
        id
        for id, part in parts.items()
        if part[2].startswith(digits) and (not dash or kind == part[0])
    ]


def message_id() -> MessageId:
    """Return a random message id."""
    return MessageId(secrets.token_bytes(MESSAGE_ID_BYTES))


def derived_message_id(sender: str, position: str, counter: int = 0) -> MessageId:
    """Return the id of the `counter`-th message that `sender` sends from a journal position.

    A step that is repeated after a crash sends the same ids again, so the router can drop the
    duplicates.
    """
    seed = f"{sender}\x1f{position}\x1f{counter}".encode()
    return MessageId(hashlib.blake2b(seed, digest_size=MESSAGE_ID_BYTES).digest())


def coordinator_address(agent: AgentId) -> Address:
    """Return the address of an agent's coordinator."""
    return Address(f"{agent}/{COORDINATOR_NAME}")


def worker_address(agent: AgentId, worker: WorkerId) -> Address:
    """Return the address of one worker of an agent."""
    return Address(f"{agent}/{worker}")


def tools_address(server: str) -> Address:
    """Return the address of the process of a tool server."""
    return Address(f"{TOOLS_PREFIX}{server}")


def is_plain_name(text: str) -> bool:
    """Whether an id from the bus can be used as a folder name: no path separators, no `..`."""
    return bool(text) and text[0] != "." and not {"/", "\0"} & set(text)


def agent_of(address: str) -> AgentId | None:
    """Return the agent that an address belongs to, or None for the address of a service such as the
    broker.
    """
    agent, slash, _ = address.partition("/")
    return AgentId(agent) if slash and agent not in NO_AGENTS else None


def split_model(model: str) -> tuple[str, str]:
    """Return the provider and the name in `provider/name` or `text:provider/name`."""
    provider, _, name = model.removeprefix(TEXT_PREFIX).partition("/")
    return provider, name

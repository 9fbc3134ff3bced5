"""Identifiers: what agents, runs, nodes, workers and messages are called."""

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
"""Marks a model that has no tool calling of its own."""

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
"""What an address begins with that belongs to no agent."""

COORDINATOR_NAME = "coordinator"
HUMAN_NAME = "human"
BOARD_NAME = "board"
TRIGGER_NAME = "trigger"
RESERVED_NAMES = frozenset({
    COORDINATOR_NAME, HUMAN_NAME, BOARD_NAME, TRIGGER_NAME, "system", "*",
    SUPERVISOR, ROUTER, RECORDER, BROKER, CLOCK, TRACER, SCALER, FILES, *NO_AGENTS,
})  # fmt: skip
"""Names that no worker has: of the processes of a home, and of other senders of messages."""

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
    """Return the id of the agent that is created for a run, called by a name or by its goal."""
    words = slug(called, fallback="agent")[:AGENT_WORDS].strip("-")
    return AgentId(f"{words}-{short_derived_id(run)}")  # the same run, the same agent


def short_id() -> str:
    """Return six random hexadecimal characters."""
    return secrets.token_hex(3)


def new_run_id(now: float) -> RunId:
    """Return the id of a run: sorts by time, and is unique over all agents, for metering."""
    return RunId(f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{short_id()}")


def derived_id(*parts: str) -> str:
    """Return 128 bits in hexadecimal that follow from `parts`: the same step, the same id."""
    return _digest(DERIVED_ID_BYTES, parts)


def short_derived_id(*parts: str) -> str:
    """Return six hexadecimal characters that follow from `parts`.

    For names only, of which the caller makes another where one is taken: of five thousand, two
    are alike by chance.
    """
    return _digest(3, parts)


def _digest(size: int, parts: Iterable[str]) -> str:
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=size).hexdigest()


def new_epoch() -> str:
    """Return the name of a journal's next epoch, random."""
    return secrets.token_hex(DERIVED_ID_BYTES)


def step_place(epoch: str, position: int) -> str:
    """Return what names the record at `position` of a journal forever.

    A journal that lost its end counts on from where it is whole, so the same position comes twice:
    the journal's `epoch` distinguishes the two. It is '' in what was written before there were any.
    """
    return f"{epoch}-{position}" if epoch else str(position)


def abbreviated(id: str) -> str:
    """Return an id as shown to people: its kind and as many digits as identify it."""
    kind, _, digits = id.partition("-")
    return f"{kind}-{digits[:SHOWN_DIGITS]}" if LONG_ID.fullmatch(id) else id


def ids_meant(text: str, known: Iterable[str]) -> list[str]:
    """Return which of the `known` ids `text` means: the id itself, or all that begin with it.

    A beginning has FEWEST_DIGITS digits at least.
    """
    ids = list(known)
    if text in ids:
        return [text]
    digits = text.partition("-")[2]
    return [id for id in ids if id.startswith(text)] if len(digits) >= FEWEST_DIGITS else []


def open_ids_meant(text: str, known: Iterable[str]) -> list[str]:
    """Return which ids of a few open things `text` means: the id itself, or all that begin so.

    A beginning has one digit at least; the letter of its kind may be missing.
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

    A step that is run again after a crash sends the same ids again, so the router can drop them.
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
    """Return the address of the process that holds a server of tools."""
    return Address(f"{TOOLS_PREFIX}{server}")


def is_plain_name(text: str) -> bool:
    """Whether an id that came over the bus can be the name of a folder: nothing that climbs."""
    return bool(text) and text[0] != "." and not {"/", "\0"} & set(text)


def agent_of(address: str) -> AgentId | None:
    """Return the agent an address belongs to, or None for a service such as the broker."""
    agent, slash, _ = address.partition("/")
    return AgentId(agent) if slash and agent not in NO_AGENTS else None


def split_model(model: str) -> tuple[str, str]:
    """Return the provider and the name in `provider/name` or `text:provider/name`."""
    provider, _, name = model.removeprefix(TEXT_PREFIX).partition("/")
    return provider, name

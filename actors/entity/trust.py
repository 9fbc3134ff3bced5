"""Trust: who may say what to an entity, and under which name a speaker is shown.

The router vouches for the sender's address, and for nothing else in a message.
"""

from agiraph.ids import (
    BROKER,
    CLOCK,
    COORDINATOR_NAME,
    HUMAN,
    HUMAN_NAME,
    SUPERVISOR,
    TOOLS_PREFIX,
    AgentId,
    agent_of,
    coordinator_address,
    slug,
)
from agiraph.messages import (
    AssignNode,
    BeginRun,
    Body,
    CancelNode,
    ChildFailed,
    DoorFailed,
    ModelDelta,
    Pause,
    QuestionAnswered,
    Resume,
    SubNodeEnded,
    Text,
    ToolProgress,
    TriggerFired,
    ViewBoard,
)

CONSOLES = "console/"


def may_say(sender: str, body: Body, agent: AgentId) -> bool:
    """Whether an entity of `agent` takes this from `sender`."""
    match body:
        case ModelDelta() | DoorFailed():
            return sender == BROKER
        case ToolProgress():
            return sender.startswith(TOOLS_PREFIX)
        case QuestionAnswered() | Pause() | Resume() | BeginRun():
            return sender == HUMAN
        case TriggerFired():
            return sender == CLOCK
        case ChildFailed():
            return sender == SUPERVISOR
        case AssignNode() | CancelNode() | SubNodeEnded():
            return sender == coordinator_address(agent)
        case Text() | ViewBoard():
            return is_person(sender) or agent_of(sender) == agent
        case _:
            return agent_of(sender) == agent


def is_person(sender: str) -> bool:
    """Whether the human speaks from this address."""
    return sender == HUMAN or sender.startswith(CONSOLES)


def shown_name(sender: str, claimed: str) -> str:
    """Return the name a speaker is shown under: the one it claims if its address bears it out.

    So nobody but the human speaks with the human's authority.
    """
    if is_person(sender):
        return HUMAN_NAME
    entity = sender.rpartition("/")[2]
    if entity == COORDINATOR_NAME:
        return COORDINATOR_NAME
    return claimed if entity.startswith(f"{slug(claimed)}-") else sender

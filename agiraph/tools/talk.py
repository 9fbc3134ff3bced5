"""Talking tools: messages to other entities and questions to the human."""

from pydantic import Field

from agiraph.models import DeliveryMode
from agiraph.tools.base import NoParams, Params, Tool
from agiraph.tools.ports import ToolContext


class SendMessage(Params):
    """Parameters of `send_message`."""

    to: str = Field(
        min_length=1, description="a worker's name, `coordinator`, `human`, or `*` for all"
    )
    content: str = Field(min_length=1, description="what to say")
    mode: DeliveryMode = Field(
        default="steer",
        description="steer: seen at the next step; interrupt: at once; followup: after the node",
    )


class AskHuman(Params):
    """Parameters of `ask_human`."""

    question: str = Field(min_length=1, description="the question, with what is needed to answer")
    channel: str = Field(default="cli", description="where to ask: cli, webhook or email")


async def send_message(context: ToolContext, params: SendMessage) -> str:
    """Send text to an entity; Refused if there is none of that name."""
    await context.team.send_message(context.call_id, params.to, params.content, params.mode)
    return f"Sent to {params.to}."


async def check_messages(context: ToolContext, params: NoParams) -> str:
    """Return what has arrived and is not yet in the conversation."""
    messages: list[str] = await context.team.check_messages(context.call_id)
    return "\n\n".join(messages) or "No new messages."


async def ask_human(context: ToolContext, params: AskHuman) -> str:
    """Return the human's answer, however long it takes."""
    answer: str = await context.team.ask_human(context.call_id, params.question, params.channel)
    return answer


SEND_MESSAGE = Tool(
    name="send_message",
    description="Send a message to another worker, the coordinator or the human, by name.",
    params=SendMessage,
    run=send_message,
    idempotent=True,
)
CHECK_MESSAGES = Tool(
    name="check_messages",
    description="Check for new messages from other entities.",
    params=NoParams,
    run=check_messages,
    idempotent=True,
)
ASK_HUMAN = Tool(
    name="ask_human",
    description="Ask the human a question; your work pauses until the answer comes.",
    params=AskHuman,
    run=ask_human,
    idempotent=True,
)

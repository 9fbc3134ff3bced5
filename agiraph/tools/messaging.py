"""Messaging tools: messages to other entities and questions to the person."""

from pydantic import Field

from agiraph.core.clock import seconds_of
from agiraph.core.models import DeliveryMode
from agiraph.core.specs import Names
from agiraph.tools.base import Duration, NoParams, ToolParams, tool
from agiraph.tools.ports import NewQuestion, ToolContext


class SendMessageParams(ToolParams):
    to: str = Field(
        min_length=1, description="a worker's name, `coordinator`, `human`, or `*` for all"
    )
    content: str = Field(min_length=1, description="the text of the message")
    mode: DeliveryMode = Field(
        default="steer",
        description="steer: read at the next step; interrupt: at once; followup: after the node",
    )


class AskHumanParams(ToolParams):
    question: str = Field(
        min_length=1, description="the question, with all information needed to answer it"
    )
    channel: str = Field(
        default="cli",
        description="a name or kind (webhook, email, desktop) of one of the human's channels; "
        "default: the channels that the human has chosen",
    )
    options: Names = Field(
        default=(), max_length=9, description="up to nine short ready answers to choose from"
    )
    deadline: Duration | None = Field(
        default=None,
        description="the time limit for the answer: 90s, 10m, 2h (default: no limit)",
    )
    default: str | None = Field(
        default=None,
        description="the answer that applies if the human has not answered by the deadline",
    )
    urgent: bool = Field(default=False, description="whether the human may be disturbed")
    wait: bool = Field(
        default=True, description="false: continue at once; the answer arrives as a message"
    )


@tool("Send a message to another worker, the coordinator or the human, by name.", idempotent=True)
async def send_message(context: ToolContext, params: SendMessageParams) -> str:
    """Send text to an entity. Raises Refused if no entity has that name."""
    sent = context.team.send_message(context.call_id, params.to, params.content, params.mode)
    receivers = await sent
    return f"Sent to {', '.join(receivers)}." if receivers else "You are alone: nothing was sent."


@tool("Check for new messages.", idempotent=True)
async def check_messages(context: ToolContext, params: NoParams) -> str:
    """Return the messages that have arrived and are not yet in the conversation."""
    messages = await context.team.check_messages(context.call_id)
    return "\n\n".join(messages) or "No new messages."


@tool(
    "Ask the human a question.",
    idempotent=True,
)
async def ask_human(context: ToolContext, params: AskHumanParams) -> str:
    """Return the person's answer, or the result for a question without an answer."""
    seconds = None if params.deadline is None else seconds_of(params.deadline, "deadline")
    question = NewQuestion(
        question=params.question,
        channel=params.channel,
        options=params.options,
        deadline_seconds=seconds,
        default=params.default,
        urgency="urgent" if params.urgent else "normal",
        waits=params.wait,
    )
    return await context.team.ask_human(context.call_id, question)

"""Fallback notice: a conversation says where another model than the wanted one answers; pure."""

from agiraph.agent.records import InputReceived, ModelAnswered
from agiraph.agent.transcript import RUNTIME_NAME, Transcript
from agiraph.core.turns import ModelResponse

WHY_SHOWN = 300
FROM_HERE = (
    "[Runtime]: From here on the model {model} answers, in place of {asked}, which cannot be asked "
    "now: {why}"
)
AGAIN = "[Runtime]: From here on the model {model} answers again."


def stand_in_notice(
    transcript: Transcript, response: ModelResponse, said: ModelAnswered
) -> tuple[InputReceived, ...]:
    """Return what is told right before an answer of another model than that of the one before.

    It is in one append with the answer, so it is told once.
    """
    stands_in = said.model if said.instead_of else ""
    if stands_in == transcript.stand_in:
        return ()
    text = FROM_HERE if stands_in else AGAIN
    why = response.why if len(response.why) <= WHY_SHOWN else response.why[:WHY_SHOWN] + "..."
    told = text.format(model=said.model, asked=said.instead_of, why=why)
    return (InputReceived(content=told, from_name=RUNTIME_NAME, ts=said.ts),)

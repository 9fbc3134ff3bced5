"""Answers: the text in which an entity reads the outcome of its question to the human; pure.

An unanswered question is not a refusal: the text distinguishes them, and says how to continue.
"""

from typing import Literal

from agiraph.core.clock import iso
from agiraph.core.ids import HUMAN_NAME, abbreviated
from agiraph.messages.question import QuestionAnswered

Unanswered = Literal["decide", "leave"]

ADVICE: dict[Unanswered, str] = {
    "decide": "Decide with your knowledge, and state your assumptions in the result.",
    "leave": "Leave out the parts that depend on it, and say so in the result.",
}
QUOTED_CHARACTERS = 200


def answer_in_words(answered: QuestionAnswered, unanswered: Unanswered) -> str:
    """Return the text that an entity reads as the result of its question.

    `unanswered` is the setting for a question without an answer and without a default.
    """
    match answered.outcome:
        case "answered" if answered.by == HUMAN_NAME:
            return answered.answer
        case "answered":
            return f"{answered.answer}\n(answered by {answered.by})"
        case "expired":
            when = "" if answered.at is None else f" by {iso(answered.at)}"
            away = f" ({answered.away})" if answered.away else ""
            nobody = f"[unanswered] The human has not answered{when}{away}. This is not a refusal. "
            if answered.default is None:
                return nobody + ADVICE[unanswered]
            return f"{nobody}Your default applies: {answered.default}"
        case "withdrawn":
            return "[withdrawn] This question was withdrawn. There will be no answer."


def late_answer_in_words(answered: QuestionAnswered, unanswered: Unanswered) -> str:
    """Return the answer as a message, for an entity that did not wait for it."""
    asked = answered.question[:QUOTED_CHARACTERS]
    id = abbreviated(answered.question_id)
    named = f"{id}: {asked}" if asked else id
    return f"(answer to your question {named}) {answer_in_words(answered, unanswered)}"


def spoken_in_words(question_id: str) -> str:
    """Return the text for a waiting entity if the human writes before the answer."""
    id = abbreviated(question_id)
    return (
        f"The human has not answered this yet (question {id}), but writes to you: read the "
        "next message. The question stays open, and its answer will arrive as a message."
    )


def asked_in_words(question_id: str) -> str:
    """Return the result of a question for an entity that does not wait for the answer."""
    return (
        f"Asked (question {abbreviated(question_id)}). Continue with other work: the answer "
        "arrives as a message. When all remaining work needs it, call `wait`."
    )

"""Question: the human is asked."""

from agiraph.ids import AgentId, QuestionId
from agiraph.messages.body import Body


class AskQuestion(Body):
    """Ask the human. Entity to the human gateway; later answered by `question.answered`."""

    TYPE = "question.ask"
    DURABLE = True
    question_id: QuestionId
    agent: AgentId
    from_name: str
    question: str
    channel: str = "cli"


class QuestionAnswered(Body):
    """The human's answer. Human gateway to the one who asked."""

    TYPE = "question.answered"
    DURABLE = True
    question_id: QuestionId
    answer: str
    by: str

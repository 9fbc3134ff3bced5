"""Calls about the questions to the human, and about letters that nobody could take."""

from agiraph.core.ids import QuestionId
from agiraph.core.models import QuestionStatus
from agiraph.http.api import AnswerRequest, DeadLetterView, QuestionView, RespondRequest
from agiraph.http.client.call import ApiCall, ApiMethod, get, named, of_agent, part, post


class QuestionCalls:
    """What waits for a person."""

    @ApiMethod
    def respond(
        self,
        agent: str,
        response: str,
        *,
        question_id: str | None = None,
        by: str | None = None,
        via: str | None = None,
        key: str | None = None,
    ) -> ApiCall[QuestionView]:
        """Answer an agent's question, by default its only open one.

        409 if it was answered already (by whom, when, from where) or if several are open.
        """
        wanted = QuestionId(question_id) if question_id else None
        body = RespondRequest(response=response, question_id=wanted, by=by, via=via)
        return post(of_agent(agent, "respond"), body, QuestionView, key=key)

    @ApiMethod
    def questions(self, *, status: QuestionStatus | None = None) -> ApiCall[list[QuestionView]]:
        """Return the questions to the human, oldest first: those in one status, or of every one.

        All open ones are among them, of the others the newest 1000.
        """
        return get("/questions", list[QuestionView], named(status=status))

    @ApiMethod
    def answer(
        self,
        question_id: str,
        response: str,
        *,
        by: str | None = None,
        via: str | None = None,
        key: str | None = None,
    ) -> ApiCall[QuestionView]:
        """Answer one question by its id; 409 names who answered it before, when and from where.

        `by` is who answers (default: human), `via` the channel it came over (default: api).
        """
        path = f"/questions/{part(question_id)}/respond"
        return post(path, AnswerRequest(answer=response, by=by, via=via), QuestionView, key=key)

    @ApiMethod
    def dead_letters(self) -> ApiCall[list[DeadLetterView]]:
        """Return the messages that were set aside, oldest first."""
        return get("/dead", list[DeadLetterView])

    @ApiMethod
    def retry_dead_letter(self, letter: str) -> ApiCall[DeadLetterView]:
        """Send a dead letter back to its receiver; 404 lists the known."""
        return post(f"/dead/{part(letter)}/retry", None, DeadLetterView)

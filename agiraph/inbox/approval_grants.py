"""Standing approvals: the permissions of "allow always" answers, until they are revoked.

They are answered questions, so an approval and the actions that it permits are one record, and its
revocation is another.
"""

from agiraph.core.errors import listed
from agiraph.core.ids import abbreviated, ids_meant
from agiraph.core.models import ProposedAction, Question
from agiraph.http.api import ApprovalView
from agiraph.http.errors import AMBIGUOUS, ApiError
from agiraph.inbox.question_records import BY_APPROVAL, QuestionRecord
from agiraph.inbox.questions import QuestionStore
from agiraph.tools.approvals.policy import remembers


def standing(questions: QuestionStore, agent: str | None = None) -> list[QuestionRecord]:
    """Return the approvals in force, of one agent or of all, oldest first."""
    return [
        case for case in questions.live() if case.stands and agent in (None, case.question.agent)
    ]


def answer_by_standing(questions: QuestionStore, question: Question, now: float) -> bool:
    """Answer an approval that an earlier "allow always" covers; return whether one exists."""
    about = question.about
    if question.kind != "approval" or about is None or question.status != "open":
        return False
    if not about.remember:
        return False  # the call has further actions, about which the human has not been asked
    for case in standing(questions, question.agent):
        known = case.question.about
        if known is not None and remembers(known, about):
            questions.answer(
                question.id, "allow once", f"{BY_APPROVAL} {abbreviated(case.question.id)}", now
            )
            return True
    return False


def revoke(questions: QuestionStore, id: str, now: float) -> ApprovalView:
    """Revoke an approval, if it is still in force; return the approval.

    `id` may be the beginning of an id. Raises ApiError 404 with the approvals in force, or 409 with
    the ids that begin with `id`.
    """
    given = {str(case.question.id): case for case in questions.given(id)}
    meant = ids_meant(id, given)
    if len(meant) > 1:
        several = f"'{id}' is the beginning of several approvals ({', '.join(meant)})"
        raise ApiError(409, several, AMBIGUOUS)
    if not meant:
        known = listed([abbreviated(case.question.id) for case in standing(questions)])
        raise ApiError(404, f"unknown approval '{id}' (standing: {known})")
    found = given[meant[0]]
    if not found.is_revoked:
        questions.revoke(found.question.id, now)
    return approval_view(found)


def approval_view(case: QuestionRecord, agent_name: str = "") -> ApprovalView:
    """Return a standing approval as the API shows it."""
    question, about = case.question, case.question.about or ProposedAction(tool="")
    return ApprovalView(
        id=question.id,
        agent=question.agent,
        agent_name=agent_name,
        tool=about.tool,
        pattern=about.remember,
        rule=about.rule,
        by=question.answered_by or "",
        via=question.answered_via or "",
        at=question.answered_at or 0.0,
    )

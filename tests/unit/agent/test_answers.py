"""Answers to an asker: received or substituted; never a refusal that was not given."""

import pytest

from agiraph.agent.answers import answer_in_words, late_answer_in_words
from agiraph.core.ids import QuestionId
from agiraph.messages.question import QuestionAnswered


def outcome(**fields: object) -> QuestionAnswered:
    known = {"question_id": QuestionId("q1"), "answer": "", "by": "human", "question": "Which?"}
    return QuestionAnswered.model_validate(known | fields)


def test_answer_of_the_human_is_shown_unchanged() -> None:
    assert answer_in_words(outcome(answer="this"), "decide") == "this"
    assert late_answer_in_words(outcome(answer="this"), "decide") == (
        "(answer to your question q1: Which?) this"
    )


def test_author_of_an_answer_is_named_unless_it_is_the_default_human() -> None:
    assert answer_in_words(outcome(answer="this", by="Alice"), "decide").endswith("by Alice)")


@pytest.mark.parametrize("policy", ["decide", "leave"])
def test_missing_answer_is_not_a_refusal(policy: str) -> None:
    told = answer_in_words(outcome(outcome="expired", at=0.0), policy)  # type: ignore[arg-type]
    assert "The human has not answered by 1970-01-01T00:00:00Z. This is not a refusal." in told
    assert ("assumptions" in told) == (policy == "decide")


def test_default_counts_without_an_answer() -> None:
    told = answer_in_words(outcome(outcome="expired", default="SQLite"), "decide")
    assert told.endswith("Your default applies: SQLite")

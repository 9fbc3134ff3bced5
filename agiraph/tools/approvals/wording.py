"""Wording: the texts of an approval: the question, its answers, what the model reads; pure."""

from dataclasses import dataclass
from typing import Literal

from agiraph.core.clock import iso
from agiraph.core.errors import InvalidInput
from agiraph.core.models import ProposedAction
from agiraph.messages.question import QuestionAnswered
from agiraph.tools.approvals.policy import SPEND, STAGE, PolicyDecision

ALLOW_ONCE = "allow once"
ALLOW_ALWAYS = "allow always"
DENY = "deny"
OPTIONS = (ALLOW_ONCE, ALLOW_ALWAYS, DENY)
SAYS_ONCE = ("allow", "allow once", "once", "yes", "y", "ok", "1")
SAYS_ALWAYS = ("allow always", "always", "2")
SAYS_NO = ("deny", "no", "n", "3")


@dataclass(frozen=True, slots=True)
class HumanVerdict:
    """The human's decision on an action; `text` is how it is stored."""

    says: Literal["once", "always", "deny"]
    reason: str = ""

    @property
    def text(self) -> str:
        """The answer in its canonical form."""
        if self.says == "deny":
            return f"{DENY}: {self.reason}" if self.reason else DENY
        return ALLOW_ALWAYS if self.says == "always" else ALLOW_ONCE


def parse_verdict(text: str) -> HumanVerdict:
    """Parse an answer to an approval; InvalidInput lists what is possible."""
    words = " ".join(text.split())
    folded = words.casefold().rstrip(".!")
    if folded in SAYS_ONCE:
        return HumanVerdict("once")
    if folded in SAYS_ALWAYS:
        return HumanVerdict("always")
    for no in SAYS_NO:
        if folded == no:
            return HumanVerdict("deny")
        if folded.startswith((f"{no}:", f"{no},", f"{no} ")):
            return HumanVerdict("deny", words[len(no) :].lstrip(" :,").strip())
    possible = f"{', '.join(OPTIONS)}, or '{DENY}: REASON'"
    raise InvalidInput(f"'{words[:80]}' is no answer to an approval (possible: {possible})")


def question_in_words(decision: PolicyDecision) -> str:
    """Return the question for the human, with the whole command, path or address."""
    act, rule = decision.act, decision.rule
    subject = act.subject
    match act.tool:
        case "bash":
            asked = f"May I run this command? {subject}"
        case tool if tool == STAGE:
            asked = f"May I start the stage '{subject}'?"
        case tool if tool == SPEND:
            asked = f"May I continue spending? {subject}"
        case tool:
            asked = f"May I call {tool}? {subject}"
    return f"{asked} ({rule.reason})" if rule is not None and rule.reason else asked


def denied_by_rule(decision: PolicyDecision) -> str:
    """Return what the model reads about an action that a rule denies."""
    rule = decision.rule
    name = f" '{rule.name}'" if rule is not None and rule.name else ""
    why = f": {rule.reason}" if rule is not None and rule.reason else ""
    return f"[denied] A rule of this house{name} does not allow it{why}. {_not_done(decision.act)}"


def refusal_of(answered: QuestionAnswered, act: ProposedAction) -> str:
    """Return what the model reads if it may not act; '' if it may."""
    match answered.outcome:
        case "answered":
            verdict = parse_verdict(answered.answer)
            if verdict.says != "deny":
                return ""
            why = f": {verdict.reason}" if verdict.reason else ""
            return f"[denied] The human does not allow it{why}. {_not_done(act)}"
        case "expired":
            when = "" if answered.at is None else f" by {iso(answered.at)}"
            return (
                f"[not approved] Nobody answered{when}; that is no refusal. {_not_done(act)} "
                "Continue without it, or ask again when it matters."
            )
        case "withdrawn":
            return f"[not approved] The question was withdrawn. {_not_done(act)}"


def _not_done(act: ProposedAction) -> str:
    what = {STAGE: "The stage was not started", SPEND: "No more may be spent"}
    outcome = what.get(act.tool, "The call was not run")
    return f"{outcome}; do not try to reach the same in another way."

"""Wording of an approval: the question, its answers, the model's result; pure.

The gateway writes the question from the action, so that a person reads the effect of an answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from glob import escape
from typing import Literal

from agiraph.core.clock import iso
from agiraph.core.errors import InvalidInput
from agiraph.core.models import ProposedAction
from agiraph.messages.question import AskQuestion, QuestionAnswered
from agiraph.tools.approvals.policy import SPEND, STAGE, ApprovalPolicy, PolicyDecision

ALLOW_ONCE = "allow once"
ALLOW_ALWAYS = "allow always"
DENY = "deny"
OPTIONS = (ALLOW_ONCE, ALLOW_ALWAYS, DENY)
SAYS_ONCE = ("allow", "allow once", "once", "yes", "y", "ok", "1")
SAYS_ALWAYS = ("allow always", "always", "2")
SAYS_NO = ("deny", "no", "n", "3")


@dataclass(frozen=True, slots=True)
class HumanVerdict:
    """The person's decision on an action; `text` is the decision as stored."""

    says: Literal["once", "always", "deny"]
    reason: str = ""

    @property
    def text(self) -> str:
        """The answer in the form in which it is stored."""
        if self.says == "deny":
            return f"{DENY}: {self.reason}" if self.reason else DENY
        return ALLOW_ALWAYS if self.says == "always" else ALLOW_ONCE


def parse_verdict(text: str) -> HumanVerdict:
    """Return the verdict in an answer to an approval. InvalidInput lists the possible answers."""
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
    """Return the question for the person: the whole subject, and the effect of "allow always"."""
    act, rule = decision.act, decision.rule
    subject = act.subject
    match act.tool:
        case "bash":
            asked = f"May I run this command? {subject}"
        case tool if tool == STAGE:
            asked = f"May I start the stage '{subject}'?"
        case tool if tool == SPEND:
            asked = f"May I continue spending? {_spent(decision)}"
        case tool:
            asked = f"May I call {tool}? {subject}"
    reason = f" ({rule.reason})" if rule is not None and rule.reason else ""
    return f"{asked}{reason} [{_always(decision.about)}]"


def _always(about: ProposedAction) -> str:
    """Return the effect of "allow always" in words."""
    if not about.remember:
        return f"the call needs further approvals: '{ALLOW_ALWAYS}' allows it once"
    if about.remember == escape(about.subject):
        each = {"bash": "this command", SPEND: f"more than the limit '{about.rule}'"}
        covered = each.get(about.tool, f"every {about.tool} of this")
    else:
        covered = f"every {about.tool} of {about.remember}"
    return f"'{ALLOW_ALWAYS}': {covered}"


def _spent(decision: PolicyDecision) -> str:
    """Return the spending as text: the number of whole limits that the action names."""
    counted, rule = decision.act.shortage, decision.rule
    times = int(counted) if counted.isascii() and counted.isdecimal() and len(counted) < 10 else 1
    limit = (rule.over_usd if rule else None) or 0.0
    return f"More than {times * limit:g} US dollars are spent, the limit is {limit:g}"


def approval_as_read(
    body: AskQuestion, policy: ApprovalPolicy, names: Sequence[str]
) -> AskQuestion:
    """Return the approval that an entity asks for, with the standard text and answers.

    `names` are the entity's name and role. Raises InvalidInput if no rule of `policy` requires
    exactly this approval.
    """
    about = body.about
    if about is None:
        raise InvalidInput("an approval needs the action that it is about")
    if not about.subject.strip():
        raise InvalidInput(
            f"an approval of {about.tool[:80]!r} has an empty subject "
            "(possible: the command, path, address or text that the action is about)"
        )
    rule = policy.asking(about, names)
    if rule is None:
        raise InvalidInput(_unasked(about, names))
    text = question_in_words(PolicyDecision("ask", about, rule))
    is_shared = about.tool == SPEND
    return body.model_copy(
        update={"question": text, "options": OPTIONS, "default": None, "shared": is_shared}
    )


def _unasked(about: ProposedAction, names: Sequence[str]) -> str:
    entity = " or ".join(filter(None, names)) or "an unknown entity"
    return (
        f"no rule '{about.rule[:80]}' of approvals.yaml asks {entity} for {about.tool[:80]!r} of"
        f" {about.subject[:200]!r} with {about.remember[:200]!r} for '{ALLOW_ALWAYS}'"
    )


def denied_by_rule(decision: PolicyDecision) -> str:
    """Return the result for the model of an action that a rule denies."""
    rule = decision.rule
    name = f" '{rule.name}'" if rule is not None and rule.name else ""
    why = f": {rule.reason}" if rule is not None and rule.reason else ""
    return f"[denied] A rule of this house{name} does not allow it{why}. {_not_done(decision.act)}"


def refusal_of(answered: QuestionAnswered, act: ProposedAction) -> str:
    """Return the result for a model that may not act; '' if the human allows the action."""
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
                f"[not approved] The human has not answered{when}. This is not a refusal. "
                f"{_not_done(act)} "
                "Continue without it, or ask again when it matters."
            )
        case "withdrawn":
            return f"[not approved] The question was withdrawn. {_not_done(act)}"


def _not_done(act: ProposedAction) -> str:
    what = {STAGE: "The stage was not started", SPEND: "No more may be spent"}
    outcome = what.get(act.tool, "The call was not run")
    return f"{outcome}; do not try to reach the same in another way."


def reason_against(decision: PolicyDecision) -> str:
    """Return why an action about which nobody can be asked is refused; '' if it is allowed."""
    if decision.action == "allow":
        return ""
    why = "a rule denies it" if decision.action == "deny" else "a rule requires approval"
    return f"{why}: {decision.rule.name}" if decision.rule and decision.rule.name else why

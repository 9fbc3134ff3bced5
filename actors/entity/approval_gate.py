"""ApprovalGate: an action for which a rule demands the human's approval waits for it.

Nothing is asked after an action has been recorded as started; the human's answer and that record
are one append. So a crash before it finds the question open or answered, and after it the action
is recovered as any other: it happens once or not at all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from actors.entity.context import EntityContext
from actors.entity.messenger import Messenger
from actors.entity.questions import approval_id, ask, digest_of, withdraw
from actors.runtime.ask_again import ask_for
from agiraph.agent.loop import INTERRUPTED_CALL, PendingApproval, Permission
from agiraph.agent.transcript import OpenCall
from agiraph.core.ids import BROKER, QuestionId, derived_id
from agiraph.core.models import ProposedAction
from agiraph.messages.model import AskUsage, UsageTable
from agiraph.messages.question import AskQuestion
from agiraph.tools.approvals.policy import (
    SPEND,
    STAGE,
    ActingEntity,
    ApprovalPolicy,
    PolicyDecision,
    commands_in,
    subject_of,
)
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.approvals.wording import OPTIONS, denied_by_rule, question_in_words, refusal_of
from agiraph.tools.table import tool_names

FurtherActions = Callable[[OpenCall], Sequence[ProposedAction]]
MODEL_CALL = ProposedAction(tool=SPEND)


class ApprovalGate:
    """Asks for what one entity may do.

    `who` returns who acts and which folders are its own, `further` what else a call does.
    """

    def __init__(
        self,
        context: EntityContext,
        messenger: Messenger,
        who: Callable[[], ActingEntity],
        further: FurtherActions = lambda _opened: (),
    ) -> None:
        self.context = context
        self.messenger = messenger
        self.who = who
        self.spent = set[tuple[str, int]]()
        """How many times the limit of each rule was allowed to be spent."""
        self.refused_stages = dict[str, str]()
        """Refusals of stages: other calls of the same answer are not asked for again."""
        self._further = further
        self._policies = ApprovalPolicyFile(context.runtime.home.path, tool_names())

    def approval_for(self, opened: OpenCall | None) -> PendingApproval | None:
        """Return what to ask before a call, or (None) before a model call; None: nothing."""
        policy = self._policies.current()
        if not policy.rules:
            return None
        actions = [MODEL_CALL] if opened is None else self._actions_of(opened)
        needs_spent = policy.needs_spent(actions)
        if not needs_spent and policy.judge_all(actions, self.who()).action == "allow":
            return None
        gated = GatedAction(self, policy, actions, opened)
        return PendingApproval(gated.answer, gated.withdraw)

    def _actions_of(self, opened: OpenCall) -> list[ProposedAction]:
        call = opened.call
        action = ProposedAction(tool=call.name, subject=subject_of(call.arguments))
        commands = commands_in(call.name, call.arguments)
        runs = [ProposedAction(tool="bash", subject=command) for command in commands]
        return [action, *runs, *self._further(opened)]


@dataclass(frozen=True, slots=True)
class GatedAction:
    """One action that may have to wait for the human's answer."""

    gate: ApprovalGate
    policy: ApprovalPolicy
    actions: Sequence[ProposedAction]
    opened: OpenCall | None

    async def answer(self) -> Permission:
        """Return whether it may be done, however long that takes to be known."""
        spent = await self._spent() if self.policy.needs_spent(self.actions) else 0.0
        decision = self.policy.judge_all(self.actions, self.gate.who(), spent)
        if decision.action == "allow":
            return Permission()
        if decision.action == "deny":
            return self._refused(decision, denied_by_rule(decision), "rule")
        if self.opened is None:
            return await self._ask_to_spend(decision, spent)
        return await self._ask(decision, self.opened)

    async def withdraw(self) -> Permission:
        """Take the question back: a message came first, and the action is not done."""
        if self.opened is not None:
            runtime = self.gate.context.runtime
            identity = approval_id(runtime.address, self.opened.key)
            await withdraw(runtime, identity, "the one who asked was interrupted")
        return Permission(refusal=INTERRUPTED_CALL)

    async def _ask(self, decision: PolicyDecision, opened: OpenCall) -> Permission:
        runtime = self.gate.context.runtime
        stage = f"{opened.key.partition('.')[0]}:{decision.act.subject}"
        if decision.act.tool == STAGE and (said := self.gate.refused_stages.get(stage)):
            return Permission(refusal=said)
        identity = approval_id(runtime.address, opened.key)
        digest = digest_of(opened.call)
        about = decision.about.model_copy(update={"digest": digest})
        await ask(runtime, self._question(identity, decision, about), f"may.{opened.key}")
        answered = await self.gate.messenger.answer_to(identity, _shown(decision), digest)
        refusal = refusal_of(answered, decision.act)
        if refusal:
            self.gate.refused_stages[stage] = refusal
            return self._refused(decision, refusal, answered.by)
        return Permission(message=self.gate.messenger.received_answer)

    async def _ask_to_spend(self, decision: PolicyDecision, spent: float) -> Permission:
        """Ask once for each whole limit that is spent, whoever of the agent asks first."""
        rule, known = decision.rule, self.gate.spent
        assert rule is not None
        limit = rule.over_usd or 0.0
        times = int(spent // limit) if limit else 0
        if (rule.name, times) in known:
            return Permission()
        context = self.gate.context
        key = f"{context.run}:{rule.name}:{times}"
        digest = derived_id(context.agent, key, f"{limit:g}")
        identity = QuestionId(f"a-{digest}")
        shown = decision.act.model_copy(
            update={"subject": f"{spent:.2f} US dollars are spent, the limit is {limit:g}"}
        )
        about = decision.about.model_copy(
            update={"subject": rule.name, "remember": rule.name, "digest": digest}
        )
        body = self._question(identity, PolicyDecision("ask", shown, rule), about)
        shared = body.model_copy(update={"shared": True})
        answered = await self.gate.messenger.ask_with_others(shared, _shown(decision))
        refusal = refusal_of(answered, decision.act)
        if refusal:
            return self._refused(decision, refusal, answered.by)
        known.add((rule.name, times))
        return Permission(message=self.gate.messenger.received_answer)

    def _question(
        self, identity: QuestionId, decision: PolicyDecision, about: ProposedAction
    ) -> AskQuestion:
        context = self.gate.context
        return AskQuestion(
            question_id=identity,
            agent=context.agent,
            from_name=context.name,
            question=question_in_words(decision),
            options=OPTIONS,
            kind="approval",
            about=about,
        )

    def _refused(self, decision: PolicyDecision, refusal: str, by: str) -> Permission:
        rule = decision.rule.name if decision.rule else ""
        act = decision.act
        told = {"tool": act.tool, "subject": act.subject[:300], "rule": rule, "by": by}
        key = self.opened.key if self.opened else self.gate.context.transcript.place
        self.gate.context.report("tool.refused", told | {"reason": refusal}, key)
        return Permission(refusal=refusal, message=self.gate.messenger.received_answer)

    async def _spent(self) -> float:
        context = self.gate.context
        body = AskUsage(run_id=context.run, agent=context.agent)
        table = await ask_for(context.runtime, BROKER, body, UsageTable)
        return table.total.cost_usd or 0.0


def _shown(decision: PolicyDecision) -> str:
    return f"may I {decision.act.tool}: {decision.act.subject[:60]}"

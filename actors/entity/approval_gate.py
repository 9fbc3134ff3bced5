"""ApprovalGate: an action that a rule says needs the human's word waits for it.

Nothing is asked after an action has been recorded as begun; the human's word and that record are
one append. So a crash before it finds the question open or answered, and after it the action is
recovered as any other: it happens once or not at all.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from actors.entity.messenger import EntityContext, Messenger
from actors.entity.questions import approval_id, ask, digest_of, withdraw
from actors.runtime.ask_again import ask_until_answered
from agiraph.agent.loop import INTERRUPTED_CALL, PauseSwitch, Permission
from agiraph.agent.transcript import OpenCall
from agiraph.core.ids import BROKER, QuestionId, RunId, derived_id
from agiraph.core.models import ProposedAction
from agiraph.messages import AskQuestion, AskUsage, QuestionAnswered, UsageTable
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

Further = Callable[[OpenCall], Sequence[ProposedAction]]
Waiting = Callable[[], AbstractContextManager[None]]
MODEL_CALL = ProposedAction(tool=SPEND)


def no_further(_opened: OpenCall) -> Sequence[ProposedAction]:
    """Return what else a call would do: nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class ApprovalGate:
    """Asks for what one entity may do. `who` tells who it is and which folders are its own.

    `further` are the deeds that a call of it also is, `waiting` is entered while the human is
    waited for, `spent` holds how many times the limit of each rule has been allowed to be spent,
    `stages` the refusals of stages: other calls of the same answer are not asked for again.
    """

    entity_context: EntityContext
    messenger: Messenger
    gate: PauseSwitch
    run: RunId
    who: Callable[[], ActingEntity]
    waiting: Waiting
    policies: ApprovalPolicyFile
    spent: set[tuple[str, int]]
    stages: dict[str, str]
    further: Further = no_further

    def of(self, opened: OpenCall | None) -> "GatedAction | None":
        """Return what has to be asked before a call, or (None) a model call; None: nothing."""
        policy = self.policies.current()
        if not policy.rules:
            return None
        if opened is None:
            deeds = [MODEL_CALL]
        else:
            act = ProposedAction(tool=opened.call.name, subject=subject_of(opened.call.arguments))
            given = commands_in(opened.call.name, opened.call.arguments)
            commands = [ProposedAction(tool="bash", subject=command) for command in given]
            deeds = [act, *commands, *self.further(opened)]
        if policy.needs_spent(deeds):
            return GatedAction(self, policy, deeds, opened)
        decision = policy.judge_all(deeds, self.who())
        return None if decision.action == "allow" else GatedAction(self, policy, deeds, opened)


@dataclass(frozen=True, slots=True)
class GatedAction:
    """One action that may have to wait for the human's word."""

    approval_gate: ApprovalGate
    policy: ApprovalPolicy
    deeds: Sequence[ProposedAction]
    opened: OpenCall | None

    async def answer(self) -> Permission:
        """Return whether it may be done, however long that takes to be known."""
        spent = await self._spent() if self.policy.needs_spent(self.deeds) else 0.0
        decision = self.policy.judge_all(self.deeds, self.approval_gate.who(), spent)
        if decision.action == "allow":
            return Permission()
        if decision.action == "deny":
            return self._refused(decision, denied_by_rule(decision), "rule")
        if self.opened is None:
            return await self._ask_to_spend(decision, spent)
        return await self._ask(decision, self.opened)

    async def withdrawn(self) -> Permission:
        """Take the question back: a message came first, and the action is not done."""
        if self.opened is not None:
            runtime = self.approval_gate.entity_context.runtime
            identity = approval_id(runtime.address, self.opened.key)
            await withdraw(runtime, identity, "the one who asked was interrupted")
        return Permission(refusal=INTERRUPTED_CALL)

    async def _ask(self, decision: PolicyDecision, opened: OpenCall) -> Permission:
        runtime = self.approval_gate.entity_context.runtime
        stage = f"{opened.key.partition('.')[0]}:{decision.act.subject}"
        if decision.act.tool == STAGE and (said := self.approval_gate.stages.get(stage)):
            return Permission(refusal=said)
        identity = approval_id(runtime.address, opened.key)
        digest = digest_of(opened.call)
        about = decision.about.model_copy(update={"digest": digest})
        await ask(runtime, self._question(identity, decision, about), f"may.{opened.key}")
        answering = self.approval_gate.messenger.answer_to(identity, _shown(decision), digest)
        answered = await self._patiently(answering)
        refusal = refusal_of(answered, decision.act)
        if refusal:
            self.approval_gate.stages[stage] = refusal
            return self._refused(decision, refusal, answered.by)
        return Permission(message=self.approval_gate.messenger.heard_answer)

    async def _ask_to_spend(self, decision: PolicyDecision, spent: float) -> Permission:
        """Ask once for each whole limit that is spent, whoever of the agent asks first."""
        rule, known = decision.rule, self.approval_gate.spent
        assert rule is not None
        limit = rule.over_usd or 0.0
        times = int(spent // limit) if limit else 0
        if (rule.name, times) in known:
            return Permission()
        entity_context = self.approval_gate.entity_context
        key = f"{self.approval_gate.run}:{rule.name}:{times}"
        digest = derived_id(entity_context.agent, key, f"{limit:g}")
        identity = QuestionId(f"a-{digest}")
        shown = decision.act.model_copy(
            update={"subject": f"{spent:.2f} US dollars are spent, the limit is {limit:g}"}
        )
        about = decision.about.model_copy(
            update={"subject": rule.name, "remember": rule.name, "digest": digest}
        )
        body = self._question(identity, PolicyDecision("ask", shown, rule), about)
        shared = body.model_copy(update={"shared": True})
        asking = self.approval_gate.messenger.ask_with_others(shared, _shown(decision))
        answered = await self._patiently(asking)
        refusal = refusal_of(answered, decision.act)
        if refusal:
            return self._refused(decision, refusal, answered.by)
        known.add((rule.name, times))
        return Permission(message=self.approval_gate.messenger.heard_answer)

    async def _patiently(self, word: Awaitable[QuestionAnswered]) -> QuestionAnswered:
        """Wait for the human's word, and then, if paused, until it goes on."""
        with self.approval_gate.waiting():
            answered = await word
        await self.approval_gate.gate.passed()
        return answered

    def _question(
        self, identity: QuestionId, decision: PolicyDecision, about: ProposedAction
    ) -> AskQuestion:
        entity_context = self.approval_gate.entity_context
        return AskQuestion(
            question_id=identity,
            agent=entity_context.agent,
            from_name=entity_context.name,
            question=question_in_words(decision),
            options=OPTIONS,
            kind="approval",
            about=about,
        )

    def _refused(self, decision: PolicyDecision, refusal: str, by: str) -> Permission:
        rule = decision.rule.name if decision.rule else ""
        act = decision.act
        told = {"tool": act.tool, "subject": act.subject[:300], "rule": rule, "by": by}
        key = self.opened.key if self.opened else self.approval_gate.entity_context.transcript.place
        self.approval_gate.entity_context.report("tool.refused", told | {"reason": refusal}, key)
        return Permission(refusal=refusal, message=self.approval_gate.messenger.heard_answer)

    def _usage(self) -> AskUsage:
        return AskUsage(
            run_id=self.approval_gate.run, agent=self.approval_gate.entity_context.agent
        )

    async def _spent(self) -> float:
        runtime = self.approval_gate.entity_context.runtime
        received = await ask_until_answered(runtime, BROKER, self._usage())
        table = received.body
        return (table.total.cost_usd or 0.0) if isinstance(table, UsageTable) else 0.0


def _shown(decision: PolicyDecision) -> str:
    return f"may I {decision.act.tool}: {decision.act.subject[:60]}"

"""Clearance: an action that a rule says needs the human's word waits for it.

Nothing is asked after an action has been recorded as begun; the human's word and that record are
one append. So a crash before it finds the question open or answered, and after it the action is
recovered as any other: it happens once or not at all.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from actors.entity.asking import ask_until_answered
from actors.entity.questions import approval_id, ask, digest_of, withdraw
from actors.entity.talk import Speaker, Talk
from agiraph.agent.loop import INTERRUPTED_CALL, Cleared, Gate
from agiraph.agent.transcript import OpenCall
from agiraph.approvals.commands import commands_in
from agiraph.approvals.policy import SPEND, STAGE, Policy, Ruling, Who, subject_of
from agiraph.approvals.reading import Policies
from agiraph.approvals.words import OPTIONS, denied_by_rule, question_in_words, refusal_of
from agiraph.ids import BROKER, QuestionId, RunId, derived_id
from agiraph.messages import AskQuestion, AskUsage, QuestionAnswered, UsageTable
from agiraph.models import Deed
from agiraph.tools.table import TOOLS

Further = Callable[[OpenCall], Sequence[Deed]]
Waiting = Callable[[], AbstractContextManager[None]]
MODEL_CALL = Deed(tool=SPEND)


def no_further(_opened: OpenCall) -> Sequence[Deed]:
    """Return what else a call would do: nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class Clearance:
    """Asks for what one entity may do. `who` tells who it is and which folders are its own.

    `further` are the deeds that a call of it also is, `waiting` is entered while the human is
    waited for, `spent` holds how many times the limit of each rule has been allowed to be spent,
    `stages` the refusals of stages: other calls of the same answer are not asked for again.
    """

    speaker: Speaker
    talk: Talk
    gate: Gate
    run: RunId
    who: Callable[[], Who]
    waiting: Waiting
    policies: Policies
    spent: set[tuple[str, int]]
    stages: dict[str, str]
    further: Further = no_further

    def of(self, opened: OpenCall | None) -> "Asking | None":
        """Return what has to be asked before a call, or (None) a model call; None: nothing."""
        policy = self.policies.current()
        if not policy.rules:
            return None
        if opened is None:
            deeds = [MODEL_CALL]
        else:
            deed = Deed(tool=opened.call.name, subject=subject_of(opened.call.arguments))
            given = commands_in(opened.call.name, opened.call.arguments)
            commands = [Deed(tool="bash", subject=command) for command in given]
            deeds = [deed, *commands, *self.further(opened)]
        if policy.needs_spent(deeds):
            return Asking(self, policy, deeds, opened)
        ruling = policy.judge_all(deeds, self.who())
        return None if ruling.action == "allow" else Asking(self, policy, deeds, opened)


@dataclass(frozen=True, slots=True)
class Asking:
    """One action that may have to wait for the human's word."""

    clearance: Clearance
    policy: Policy
    deeds: Sequence[Deed]
    opened: OpenCall | None

    async def answer(self) -> Cleared:
        """Return whether it may be done, however long that takes to be known."""
        spent = await self._spent() if self.policy.needs_spent(self.deeds) else 0.0
        ruling = self.policy.judge_all(self.deeds, self.clearance.who(), spent)
        if ruling.action == "allow":
            return Cleared()
        if ruling.action == "deny":
            return self._refused(ruling, denied_by_rule(ruling), "rule")
        if self.opened is None:
            return await self._ask_to_spend(ruling, spent)
        return await self._ask(ruling, self.opened)

    async def withdrawn(self) -> Cleared:
        """Take the question back: a message came first, and the action is not done."""
        if self.opened is not None:
            runtime = self.clearance.speaker.runtime
            identity = approval_id(runtime.address, self.opened.key)
            await withdraw(runtime, identity, "the one who asked was interrupted")
        return Cleared(refusal=INTERRUPTED_CALL)

    async def _ask(self, ruling: Ruling, opened: OpenCall) -> Cleared:
        runtime = self.clearance.speaker.runtime
        stage = f"{opened.key.partition('.')[0]}:{ruling.deed.subject}"
        if ruling.deed.tool == STAGE and (said := self.clearance.stages.get(stage)):
            return Cleared(refusal=said)
        identity = approval_id(runtime.address, opened.key)
        digest = digest_of(opened.call)
        about = ruling.about.model_copy(update={"digest": digest})
        await ask(runtime, self._question(identity, ruling, about), f"may.{opened.key}")
        answering = self.clearance.talk.answer_to(identity, _shown(ruling), digest)
        answered = await self._patiently(answering)
        refusal = refusal_of(answered, ruling.deed)
        if refusal:
            self.clearance.stages[stage] = refusal
            return self._refused(ruling, refusal, answered.by)
        return Cleared(message=self.clearance.talk.heard_answer)

    async def _ask_to_spend(self, ruling: Ruling, spent: float) -> Cleared:
        """Ask once for each whole limit that is spent, whoever of the agent asks first."""
        rule, known = ruling.rule, self.clearance.spent
        assert rule is not None
        limit = rule.over_usd or 0.0
        times = int(spent // limit) if limit else 0
        if (rule.name, times) in known:
            return Cleared()
        speaker = self.clearance.speaker
        key = f"{self.clearance.run}:{rule.name}:{times}"
        digest = derived_id(speaker.agent, key, f"{limit:g}")
        identity = QuestionId(f"a-{digest}")
        shown = ruling.deed.model_copy(
            update={"subject": f"{spent:.2f} US dollars are spent, the limit is {limit:g}"}
        )
        about = ruling.about.model_copy(
            update={"subject": rule.name, "remember": rule.name, "digest": digest}
        )
        body = self._question(identity, Ruling("ask", shown, rule), about)
        shared = body.model_copy(update={"shared": True})
        asking = self.clearance.talk.ask_with_others(shared, _shown(ruling))
        answered = await self._patiently(asking)
        refusal = refusal_of(answered, ruling.deed)
        if refusal:
            return self._refused(ruling, refusal, answered.by)
        known.add((rule.name, times))
        return Cleared(message=self.clearance.talk.heard_answer)

    async def _patiently(self, word: Awaitable[QuestionAnswered]) -> QuestionAnswered:
        """Wait for the human's word, and then, if paused, until it goes on."""
        with self.clearance.waiting():
            answered = await word
        await self.clearance.gate.passed()
        return answered

    def _question(self, identity: QuestionId, ruling: Ruling, about: Deed) -> AskQuestion:
        speaker = self.clearance.speaker
        return AskQuestion(
            question_id=identity,
            agent=speaker.agent,
            from_name=speaker.name,
            question=question_in_words(ruling),
            options=OPTIONS,
            kind="approval",
            about=about,
        )

    def _refused(self, ruling: Ruling, refusal: str, by: str) -> Cleared:
        rule = ruling.rule.name if ruling.rule else ""
        deed = ruling.deed
        told = {"tool": deed.tool, "subject": deed.subject[:300], "rule": rule, "by": by}
        key = self.opened.key if self.opened else self.clearance.speaker.transcript.place
        self.clearance.speaker.report("tool.refused", told | {"reason": refusal}, key)
        return Cleared(refusal=refusal, message=self.clearance.talk.heard_answer)

    def _usage(self) -> AskUsage:
        return AskUsage(run_id=self.clearance.run, agent=self.clearance.speaker.agent)

    async def _spent(self) -> float:
        runtime = self.clearance.speaker.runtime
        received = await ask_until_answered(runtime, BROKER, self._usage())
        table = received.body
        return (table.total.cost_usd or 0.0) if isinstance(table, UsageTable) else 0.0


def _shown(ruling: Ruling) -> str:
    return f"may I {ruling.deed.tool}: {ruling.deed.subject[:60]}"


def tool_names() -> tuple[str, ...]:
    """Return the names that a rule may be about."""
    return tuple(tool.name for tool in TOOLS)

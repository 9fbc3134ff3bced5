"""Approvals: actions that need the human's approval, by a rule or beyond a budget, wait for it.

After an action has been recorded as started, no approval is requested; the human's answer and that
record are one append. So a crash before it finds the question open or answered, and after it the
action is recovered like any other action: it is executed once or not at all.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from actors.entity.context import EntityContext
from actors.entity.messenger import Messenger
from actors.entity.questions import approval_id, ask, digest_of, withdraw
from actors.runtime.ask_again import ask_for
from agiraph.agent.loop import INTERRUPTED_CALL, PendingApproval, Permission
from agiraph.agent.transcript import OpenCall
from agiraph.core.errors import Refused
from agiraph.core.ids import BROKER, QuestionId, derived_id
from agiraph.core.models import BUDGET, ProposedAction
from agiraph.core.money import SET_ANEW, Shortage, options_of, parse_raise, question_of
from agiraph.core.naming import cut
from agiraph.core.turns import JsonObject
from agiraph.messages.model import AskUsage, UsageTable
from agiraph.messages.question import AskQuestion
from agiraph.storage.files import read_part
from agiraph.tools.approvals.change import MOST_COMPARED, diff_of, path_in, whole_call
from agiraph.tools.approvals.policy import (
    SPEND,
    STAGE,
    ActingEntity,
    ApprovalPolicy,
    PolicyDecision,
    SpelledAction,
    actions_of_call,
    commands_in,
)
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.approvals.spellings import KnownNames
from agiraph.tools.approvals.wording import OPTIONS, denied_by_rule, question_in_words, refusal_of
from agiraph.tools.files import files_of_ref
from agiraph.tools.scopes.scope import INPUT, is_below_input
from agiraph.tools.table import tool_names

FurtherActions = Callable[[OpenCall], Sequence[ProposedAction]]
MODEL_CALL = SpelledAction(ProposedAction(tool=SPEND))
SUBJECT_CHARACTERS = 300


class ApprovalGate:
    """Requests approvals for the actions of one entity.

    `who` returns the acting entity and its folders, `further` the other actions of a call, `names`
    all names of the node or worker that a text refers to.
    """

    def __init__(
        self,
        context: EntityContext,
        messenger: Messenger,
        who: Callable[[], ActingEntity],
        further: FurtherActions = lambda _opened: (),
        names: Callable[[str], Sequence[str]] = lambda _named: (),
    ) -> None:
        self._context = context
        self._known = KnownNames(context.name, self._names_of_path, names, self._files_of_ref)
        self._messenger = messenger
        self.who = who
        self._spent = set[tuple[str, int]]()
        """How many times the limit of each rule was allowed to be spent."""
        self._refused_stages = dict[str, str]()
        """Refused stages: other calls of the same answer do not ask again."""
        self._further = further
        self._policies = ApprovalPolicyFile(context.runtime.home.path, tool_names())

    def approval_for(self, opened: OpenCall | None) -> PendingApproval | None:
        """Return the approval that a call, or a model call (None), needs; None if it needs none."""
        policy = self._policies.current()
        if not policy.rules:
            return None
        actions = [MODEL_CALL] if opened is None else self._actions_of(opened)
        needs_spent = policy.needs_spent(actions)
        if not needs_spent and policy.judge_all(actions, self.who()).action == "allow":
            return None
        answer = partial(self._answer, policy, actions, opened)
        return PendingApproval(answer, partial(self._withdraw, opened))

    def decision_now(self, tool: str, arguments: JsonObject, by: str) -> PolicyDecision:
        """Return the decision of the current rules on a call that the entity `by` made earlier.

        The effects of the call come only now, for instance those of a trigger.
        """
        actions = actions_of_call(tool, arguments, self._known)
        return self._policies.current().judge_all(actions, replace(self.who(), name=by))

    def _actions_of(self, opened: OpenCall) -> list[SpelledAction]:
        call = opened.call
        judged = actions_of_call(call.name, call.arguments, self._known)
        commands = commands_in(call.name, call.arguments)
        runs = [ProposedAction(tool="bash", subject=command) for command in commands]
        return [*judged, *map(SpelledAction, (*runs, *self._further(opened)))]

    def _names_of_path(self, path: str) -> list[str]:
        """Return the names by which rules may know a file.

        For a file of the input folder also its real path.
        """
        names, folder = self._context.scope.names_of(path), self._context.spec.input
        if folder is None:
            return names
        below = (name.removeprefix(INPUT) for name in names if is_below_input(name))
        return [*names, *(f"{folder}{rest}" for rest in below)]

    def _files_of_ref(self, ref_name: str) -> list[str]:
        try:
            return files_of_ref(self._context.scope, ref_name)
        except (Refused, OSError, ValueError):
            return []  # the call itself is refused

    async def _answer(
        self, policy: ApprovalPolicy, actions: Sequence[SpelledAction], opened: OpenCall | None
    ) -> Permission:
        """Return whether an action is permitted, after the human's answer if one is needed."""
        spent = await self._usd_spent() if policy.needs_spent(actions) else 0.0
        decision = policy.judge_all(actions, self.who(), spent)
        if decision.action == "allow":
            return Permission()
        if decision.action == "deny":
            return self._refused(decision, opened, denied_by_rule(decision), "rule")
        if opened is None:
            return await self._ask_to_spend(decision, spent)
        return await self._ask(decision, opened)

    async def _withdraw(self, opened: OpenCall | None) -> Permission:
        """Withdraw the question after a message interrupted it; return the refusal."""
        if opened is not None:
            runtime = self._context.runtime
            identity = approval_id(runtime.address, opened.key)
            await withdraw(runtime, identity, "the one who asked was interrupted")
        return Permission(refusal=INTERRUPTED_CALL)

    async def _ask(self, decision: PolicyDecision, opened: OpenCall) -> Permission:
        runtime = self._context.runtime
        stage = f"{opened.key.partition('.')[0]}:{decision.act.subject}"
        if decision.act.tool == STAGE and (refusal := self._refused_stages.get(stage)):
            return Permission(refusal=refusal)
        identity, digest = approval_id(runtime.address, opened.key), digest_of(opened.call)
        diff = diff_of(opened.call.arguments, self._file_now(opened.call.arguments))
        arguments = opened.call.arguments
        more = {"diff": diff, "arguments": whole_call(arguments, decision.act.subject, diff)}
        about = decision.about.model_copy(update={"digest": digest} | more)
        body = self._question(identity, decision, about)
        await ask(runtime, body, f"may.{opened.key}")
        answered = await self._messenger.answer_to(identity, _shown(decision), digest)
        if refusal := refusal_of(answered, decision.act):
            self._refused_stages[stage] = refusal
            return self._refused(decision, opened, refusal, answered.by)
        return Permission(message=self._messenger.received_answer)

    def _file_now(self, arguments: JsonObject) -> str:
        """Return the current text of the file that a call will write; '' without such a file."""
        path = path_in(arguments)
        if path is None:
            return ""
        try:
            data, _ = read_part(self._context.scope.to_write(path), 0, MOST_COMPARED, anyones=True)
        except (Refused, OSError):
            return ""
        return data.decode("utf-8", "replace")

    async def _ask_to_spend(self, decision: PolicyDecision, spent: float) -> Permission:
        """Return whether the human permits to spend more.

        The whole agent asks once for each multiple of the limit.
        """
        rule, context = decision.rule, self._context
        assert rule is not None
        limit = rule.over_usd or 0.0
        times = int(spent // limit) if limit else 0
        if (rule.name, times) in self._spent:
            return Permission()
        digest = derived_id(context.agent, f"{context.run}:{rule.name}:{times}", f"{limit:g}")
        act = decision.act.model_copy(
            update={"subject": rule.name, "digest": digest, "shortage": str(times)}
        )
        asked = PolicyDecision("ask", act, rule)
        body = self._question(QuestionId(f"a-{digest}"), asked, asked.about, shared=True)
        answered = await self._messenger.ask_with_others(body, _shown(asked))
        if refusal := refusal_of(answered, decision.act):
            return self._refused(decision, None, refusal, answered.by)
        self._spent.add((rule.name, times))
        return Permission(message=self._messenger.received_answer)

    def _question(
        self,
        id: QuestionId,
        decision: PolicyDecision,
        about: ProposedAction,
        *,
        shared: bool = False,
    ) -> AskQuestion:
        text = question_in_words(decision)
        return self._context.question(
            id, text, OPTIONS, kind="approval", about=about, shared=shared
        )

    def _refused(
        self, decision: PolicyDecision, opened: OpenCall | None, refusal: str, by: str
    ) -> Permission:
        rule = decision.rule.name if decision.rule else ""
        act = decision.act
        data = {
            "tool": act.tool,
            "subject": cut(act.subject, SUBJECT_CHARACTERS),
            "rule": rule,
            "by": by,
        }
        key = opened.key if opened else self._context.transcript.place
        self._context.report("tool.refused", data | {"reason": refusal}, key)
        return Permission(refusal=refusal, message=self._messenger.received_answer)

    async def _usd_spent(self) -> float:
        body = AskUsage(run_id=self._context.run, agent=self._context.agent)
        table = await ask_for(self._context.runtime, BROKER, body, UsageTable)
        return table.total.cost_usd or 0.0


def _shown(decision: PolicyDecision) -> str:
    return f"may I {decision.act.tool}: {decision.act.subject[:60]}"


class BudgetApproval:
    """Asks the human for more money when a budget is spent; then the entity continues.

    The question's id is derived from the short budget and the number of its increases. So all
    entities that lack the same budget ask one question, and a restarted entity asks it again and
    finds its answer. The human gateway has the broker raise the budget before it answers: no entity
    can. Nothing is asked if the run's terms or the settings forbid it.
    """

    def __init__(self, context: EntityContext, messenger: Messenger) -> None:
        self._context = context
        self._messenger = messenger
        self._when_spent = context.spec.when_spent or context.runtime.config.budgets.when_spent

    async def has_raised(self, shortage: Shortage) -> bool:
        """Return whether the human raises the budget, after the human's answer."""
        if self._when_spent == "stop":
            return False
        digest = derived_id(self._context.agent, shortage.identity, "budget")
        about = ProposedAction(
            tool=BUDGET, subject=shortage.unit, shortage=shortage.identity, digest=digest
        )
        identity, options = QuestionId(f"b-{digest}"), options_of(shortage)
        body = self._context.question(
            identity, question_of(shortage), options, kind=BUDGET, about=about, shared=True
        )
        answered = await self._messenger.ask_with_others(
            body, f"out of budget: {shortage.in_words()}"
        )
        if answered.outcome != "answered":
            return False
        if answered.answer == SET_ANEW:
            return True  # the repeated call uses the new limits
        return not parse_raise(answered.answer, shortage.unit).is_stop

"""BudgetApproval: who is out of budget asks the human for more, and goes on exactly where it was.

The question's id follows from what is short and how often that was raised, so all entities that
lack the same thing ask one question, and whoever comes back after a crash asks it again and finds
its answer. The human gateway has the broker raise the budget before it says so: no entity can.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from actors.entity.messenger import EntityContext, Messenger
from agiraph.agent.loop import PauseSwitch
from agiraph.core.ids import QuestionId, derived_id
from agiraph.core.models import BUDGET, ProposedAction
from agiraph.core.money import SET_ANEW, RunTerms, Shortage, options_of, parse_raise, question_of
from agiraph.messages import AskQuestion

Waiting = Callable[[], AbstractContextManager[None]]


class BudgetApproval:
    """Asks for one entity; `waiting` is entered while the human is waited for."""

    def __init__(
        self,
        entity_context: EntityContext,
        messenger: Messenger,
        gate: PauseSwitch,
        waiting: Waiting,
        terms: RunTerms,
    ) -> None:
        """Ask through `messenger`, or, if the run's terms or the settings say so, never."""
        self._entity = entity_context
        self._messenger = messenger
        self._gate = gate
        self._waiting = waiting
        self._when_spent = terms.when_spent or entity_context.runtime.config.budgets.when_spent

    async def has_raised(self, shortage: Shortage) -> bool:
        """Return whether the human lets more be spent, however long that takes to be known."""
        if self._when_spent == "stop":
            return False
        agent = self._entity.agent
        digest = derived_id(agent, shortage.identity, "budget")
        identity = QuestionId(f"b-{digest}")
        body = AskQuestion(
            question_id=identity,
            agent=agent,
            from_name=self._entity.name,
            question=question_of(shortage),
            options=options_of(shortage),
            kind=BUDGET,
            about=ProposedAction(
                tool=BUDGET, subject=shortage.unit, shortage=shortage.identity, digest=digest
            ),
            shared=True,
        )
        with self._waiting():
            shown = f"out of budget: {shortage.told()}"
            answered = await self._messenger.ask_with_others(body, shown)
        await self._gate.passed()
        if answered.outcome != "answered":
            return False
        if answered.answer == SET_ANEW:
            return True  # what holds now is seen when the call is made again
        return not parse_raise(answered.answer, shortage.unit).is_stop

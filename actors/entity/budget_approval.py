"""Budget approval: who is out of budget asks the human for more, and continues exactly where it
was.

The question's id follows from what is short and how often that was raised, so all entities that
lack the same thing ask one question, and an entity that comes back after a crash asks it again and
finds its answer. The human gateway has the broker raise the budget before it says so: no entity
can.
"""

from actors.entity.context import EntityContext
from actors.entity.messenger import Messenger
from agiraph.core.ids import QuestionId, derived_id
from agiraph.core.models import BUDGET, ProposedAction
from agiraph.core.money import SET_ANEW, Shortage, options_of, parse_raise, question_of
from agiraph.messages.question import AskQuestion


class BudgetApproval:
    """Asks for one entity; never, if the run's terms or the settings say so."""

    def __init__(self, context: EntityContext, messenger: Messenger) -> None:
        self._context = context
        self._messenger = messenger
        self._when_spent = context.terms.when_spent or context.runtime.config.budgets.when_spent

    async def has_raised(self, shortage: Shortage) -> bool:
        """Return whether the human lets more be spent, however long that takes to be known."""
        if self._when_spent == "stop":
            return False
        agent = self._context.agent
        digest = derived_id(agent, shortage.identity, "budget")
        body = AskQuestion(
            question_id=QuestionId(f"b-{digest}"),
            agent=agent,
            from_name=self._context.name,
            question=question_of(shortage),
            options=options_of(shortage),
            kind=BUDGET,
            about=ProposedAction(
                tool=BUDGET, subject=shortage.unit, shortage=shortage.identity, digest=digest
            ),
            shared=True,
        )
        answered = await self._messenger.ask_with_others(body, f"out of budget: {shortage.told()}")
        if answered.outcome != "answered":
            return False
        if answered.answer == SET_ANEW:
            return True  # what holds now is seen when the call is made again
        return not parse_raise(answered.answer, shortage.unit).is_stop

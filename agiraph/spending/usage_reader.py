"""UsageReader: the usage and the budgets in the ledger."""

from agiraph.core.turns import Usage
from agiraph.messages.model import AskBudgets, AskUsage, BudgetTable, UsageTable
from agiraph.spending.agent_budgets import AgentBudgets
from agiraph.spending.budget_limits import BudgetLimits
from agiraph.spending.ledger import UsageLedger


class UsageReader:
    """Answers requests for usage and budgets from the ledger."""

    def __init__(self, ledger: UsageLedger, limits: BudgetLimits, accounts: AgentBudgets) -> None:
        self._ledger, self._limits, self._accounts = ledger, limits, accounts

    def usage(self, asked: AskUsage) -> UsageTable:
        """Return the requested usage; budgets of a run only if the run is the agent's."""
        if asked.runs:
            by_entity = self._ledger.of_runs(asked.runs)
            return UsageTable(by_entity=by_entity, total=sum(by_entity.values(), Usage()))
        run, agent = asked.run_id, asked.agent
        by_entity = self._ledger.by_entity(run, agent)
        rows = self._ledger.rows(asked.by, run, agent) if asked.by else ()
        budgets_run = "" if agent and not self._accounts.has_run(agent, run) else run
        budgets = tuple(self._limits.about(asked.budgets_of or agent, budgets_run))
        total = sum(by_entity.values(), Usage())
        return UsageTable(by_entity=by_entity, total=total, rows=rows, budgets=budgets)

    def budgets(self, asked: AskBudgets) -> BudgetTable:
        """Return the budgets with the requested scopes and keys."""
        return BudgetTable(budgets=tuple(self._limits.among(asked.keys)))

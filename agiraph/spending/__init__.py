"""Spending: the ledger of model calls, the budgets that limit them, and the tables of usage.

ledger           the database `usage.db`: one row per model call, read again after a crash
spending_totals  sums per agent, run, node, worker and day
budget_limits    the budgets of a call; reservations count before the call is made
agent_budgets    the budgets that an agent's record sets
usage_reader     the tables of usage and budgets for people

The broker is the only writer; a reader of a home without processes opens a copy.
"""

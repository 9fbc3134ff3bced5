"""What the endpoints do, one module a resource: agents, runs, entities, budgets, messages,
processes."""

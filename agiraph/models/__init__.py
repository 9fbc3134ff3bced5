"""Language models: which exist and where, their limits and prices, and the cost of a run."""

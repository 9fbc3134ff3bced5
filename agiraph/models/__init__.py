"""Language models: the available models, their limits and prices, and the cost of a run."""

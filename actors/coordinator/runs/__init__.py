"""How a run begins, is led without a model, sleeps, and is followed by the next."""

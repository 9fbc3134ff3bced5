"""The start of a run, its leaders other than a model, its cycles, and the start of the next run."""

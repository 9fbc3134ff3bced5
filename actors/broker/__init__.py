"""The broker: the one process that holds provider keys, calls models, and counts what they cost.

`broker` takes messages and runs one task a call; `calls` is the way of one call (budget, attempts,
back-off, settling); `services` connects providers and makes callers of one provider wait together;
`budgets` reserves money before a call, `ledger` writes down what was spent; `deltas` sends the text
on as it streams in.
"""

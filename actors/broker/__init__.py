"""The broker: the one process that holds provider keys, calls models, and counts what they cost.

`broker` handles messages and runs one task for each call; `calls` calls the models of its chain,
one after the other, each within the budgets. `call_retries` calls one model until it answers, in
the queue of its service (`provider_queue`: concurrency and circuit breaker, shared by all), and
meters every attempt; `provider_pool` connects providers. `budget_limits` are the budgets,
`spending` what is spent of them, `reservations` reserves before a call, `ledger` records what it
used. `streaming` sends text on as it streams in; `call_recorder` records; `llm_proxy` lets external
agents call over HTTP.
"""

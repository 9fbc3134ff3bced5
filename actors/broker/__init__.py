"""The broker: the only process that holds provider keys; it calls models and records their cost.

`broker` handles messages and runs one task for each call; `calls` tries the models of a fallback
chain, one after the other, each within the budgets. `call_retries` calls one model until it
answers, in the queue of its service (`provider_queue`: concurrency limit and circuit breaker,
shared by all calls), and meters every attempt; `provider_pool` connects providers. `budget_limits`
holds the budgets, `spending` the amounts spent, `reservations` reserves an amount before each call,
`ledger` records the usage of each call. `streaming` forwards text while it arrives; `call_recorder`
records calls; `llm_proxy` serves external agents over HTTP.
"""

"""The broker: the one process that holds provider keys, calls models, and counts what they cost.

`broker` takes messages and runs one task a call; `calls` is the way of one call: the models of its
chain, one after the other, each within the budgets. `attempts` asks one model until it answers, in
the row of its service (`queues`: pace and breaker, shared by all), and meters every try; `services`
connects providers. `limits` are the budgets, `spending` what is spent of them, `budgets` reserves
before a call, `ledger` writes down what it took; `own_data` keeps what is one service's own from
all others; `deltas` sends the text on as it streams in; `door` lets outside agents call over HTTP.
"""

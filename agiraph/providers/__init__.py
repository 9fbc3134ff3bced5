"""Models: one shape of question and answer (`agiraph.turns`), and the services that answer it.

`base` is the seam; `registry` says which services there are, `connect` makes one callable,
`prices` and `retry` hold the rules of money and patience. `anthropic` and `openai` are thin shells
round the official SDKs (imported only when one is made: only the broker's process does that), and
their `_wire` neighbours are pure: canonical turns to a body, a stream of events to an answer.
"""

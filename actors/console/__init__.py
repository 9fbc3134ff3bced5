"""The console: a person's terminal attached to the bus as an actor of its own, `console/N`.

What the person types goes over the bus as `text` from `human`; what the team says is read from
the agent's events. `narrate` (an event as a line for people), `typed` (a line as an act) and
`printable` (text that cannot play tricks on a terminal) are pure; `session` is the shell round
them.
"""

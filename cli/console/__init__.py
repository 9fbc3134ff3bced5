"""The console: a person's terminal attached to the bus as an actor of its own, `console/N`.

What the person types goes over the bus as `text` from `human`; what the team says and does is read
from the agent's logs. `narrate` (an event as a line for people), `typed` (a line as an act),
`recipients` (whom it means), `tree`, `folders`, `toplist` (what is shown of entities and files) and
`printable` (text that cannot play tricks on a terminal) are pure; `seat` is the place on the bus.
`session` is the plain console, lines that scroll by; `ui/` the full screen, and `agiraph top`.
"""

"""The console: a person's terminal on one agent's team, a client of the HTTP API.

What the person types goes to the team over the API; what the team says and does is read from the
agent's event and message logs. `event_text` (an event as a line), `commands` (a typed line as a
command), `plain_text` (what commands show), `entities` (names, states, rows of `agiraph top`) and
`cli/sanitize.py` (text that cannot play tricks on a terminal) are pure. `session` is the
plain console, lines that scroll by; `ui/` is the full screen, and `agiraph top`.
"""

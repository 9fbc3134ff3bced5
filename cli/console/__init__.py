"""The console: a person's terminal on one agent's team, a client of the HTTP API.

The person's input goes to the team over the API; the team's messages and actions are read from the
agent's event and message logs. `event_text` (an event as a line), `commands` (a typed line as a
command), `plain_text` (the output of commands), `entities` (names, states, rows of `agiraph top`)
and `cli/sanitize.py` (text without control sequences) are pure. `session` is the plain console with
scrolling lines; `ui/` is the full screen, and `agiraph top`.
"""

"""The full-screen console, and `agiraph top`: the only modules that know Textual.

`entries` (what happened, as things to show), `timeline` (the last of them, in order, bounded) and
`state` (all that is shown) need no screen; `source` keeps the state up to date from the API and the
stream of the models' answers. `app` puts the panels round the state. Everything that entities say
passes `printable` before it becomes an entry.
"""

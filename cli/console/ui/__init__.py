"""The full-screen console, and `agiraph top`: the only modules that know Textual.

`entries` (the displayed entries), `timeline` (the last of them, in order, bounded) and `state` (all
displayed data) need no screen; `source` updates the state from the API and the stream of the
models' answers. `app` arranges the panels around the state. All text from entities passes
`printable` before it becomes an entry.
"""

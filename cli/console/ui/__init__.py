"""The full terminal UI of the console, and `agiraph top`: the only rooms that know Textual.

`entries` (what happened, as things to show), `timeline` (the last of them, in order, bounded) and
`view` (all that is shown, and how news changes it) are pure; `source` brings the news from the bus
and the API. `app` puts one thin widget a panel round that: `team_panel`, `talk_panel`,
`question_bar`, `input_line`, `board_panel`, `files_panel`, `tree_panel`. Everything that entities
say passes `printable` before it becomes an entry.
"""

"""The board: nodes, workers and stages of one run, as a pure event-sourced state machine.

`decide(board, command, now)` returns the events of a command, or raises the reason why it is
refused; `apply(board, event)` returns the board after an event. `plan(board, limits)` is the
scheduler: it returns the commands that should come next; a `Schedule` that follows every event
finds them without inspecting the whole board.

`BoardStore` is the only part that uses a disk: it journals events before anything acts on them.
Nothing else here sleeps, opens, logs or reads the clock.
"""

"""The board: nodes, workers and stages of one run, as a pure event-sourced state machine.

`decide(board, command, now)` says which events a command leads to, or why it is refused;
`apply(board, event)` takes one in. `plan(board, limits)` is the scheduler: which commands should
come next; a `Schedule` that is told of each event finds them without looking at the whole board.
`BoardStore` is the one place that touches a disk: it journals what was decided before
anyone acts on it. Nothing else here sleeps, opens, logs or asks the time.
"""

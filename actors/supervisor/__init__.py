"""The supervisor: owner of every process of one home; starts, watches, restarts, stops them.

Pure modules: `restarts` (the consequences of an exit), `causes`, `heartbeat_monitor`, and
`child_register`, which folds the journal of children. `reaper` collects exits from the kernel,
`launcher` and `interpreters` start processes, `stopping` and `orphan_processes` end them with all
descendants. `child_monitor` keeps one child in its desired state, `children` holds all monitors,
`supervisor_service` answers messages, and `supervisor` runs everything from start to stop.
"""

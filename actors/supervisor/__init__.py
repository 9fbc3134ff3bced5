"""The supervisor: owner of every process of one home; starts, watches, restarts, stops them.

`restarts` decides what a death means and `table` folds the journal of children: both are pure.
`reaper` hears of deaths from the kernel, `launcher` and `spawner_link` bring processes to life,
`stopping` and `sweep` end them with all their descendants. `monitor` lives one child's life with
these, `requests` answers messages, and `supervisor` holds them together.
"""

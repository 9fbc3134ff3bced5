"""Chaos: a scripted team works while its processes are killed at random.

`schedule` says which kind is hit when, and how, from a seed; `targets` finds the processes of a
home; `chaos_run` runs the team and injects the faults, `full_disk` fills the disk instead;
`comparison` counts what a run left and how two runs differ.
"""

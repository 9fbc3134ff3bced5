"""Chaos: a scripted team works while its processes are killed at random.

`schedule` chooses the kind, the time and the manner of each fault, from a seed; `targets` finds the
processes of a home; `chaos_run` runs the team and injects the faults, `full_disk` fills the disk
instead; `comparison` counts the results of a run and compares two runs.
"""

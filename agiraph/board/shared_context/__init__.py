"""The shared context: a run's key-value store for its team. Pure state, and its one journal.

Every change goes through the coordinator's process, one after the other: that is what makes each
atomic. `SharedContextStore` puts it on disk before anyone is told; the same cause changes it once.
"""

"""The web: fetching pages and asking search services, for the one process that does it.

Where a page may be fetched from is decided purely (`addresses`); `fetching` acts, hop by hop, with
a limit on everything. What strangers wrote is parsed by `reading`, in a process that holds no key
(`reader`), and shown by `render`, truncated and marked as untrusted. `services` has one entry per
search service. Nothing here knows the bus.
"""

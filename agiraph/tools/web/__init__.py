"""The web: fetching pages and asking search services, for the one process that does it.

What a page may be fetched from is decided purely (`urls`, `addresses`, `robots`); `fetching` acts,
hop by hop, with a bound on everything. What strangers wrote is taken apart by `reading`, in a
process that holds no key (`reader`), and shown by `showing`, cut and marked as untrusted.
`services` has one line a search service. Nothing here knows the bus.
"""

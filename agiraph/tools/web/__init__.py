"""The web: fetching pages and querying search services, for a single process.

`addresses` decides purely which addresses may be fetched; `fetching` acts, hop by hop, with a limit
on everything. Untrusted content is parsed by `reading`, in a process that has no keys (`reader`),
and shown by `render`, truncated and marked as untrusted. `services` has one entry per search
service. Nothing here knows the bus.
"""

"""The process `tools/web`: searches and reads the web for all entities, started on demand.

`web` receives calls from the bus, `reader_process` is the process beside it that parses what
strangers wrote. It holds the keys of search services and no others, and parks when it is idle.
"""

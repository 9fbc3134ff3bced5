"""The process `tools/web`: searches and reads the web for all entities, started on demand.

`web` receives calls from the bus, `reader_process` is a separate process that parses untrusted
content. It holds the keys of search services and no others, and parks when it is idle.
"""

"""The files of a worker that runs on another machine than its home.

`mirror` holds them here like the home: fetched before they are read, sent before anything else
leaves the process. `changes` decides what is sent (pure), `file_client` speaks with the service
`files`, `content_cache` keeps large contents by their digests.
"""

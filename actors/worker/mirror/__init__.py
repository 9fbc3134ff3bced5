"""The files of a worker that runs on another machine than its home.

`mirror` stores them here like the home: it fetches them before they are read, and sends changes
before any message leaves the process. `changes` decides on the changes to send (pure),
`file_client` sends requests to the service `files`, `content_cache` stores large contents by their
digests.
"""

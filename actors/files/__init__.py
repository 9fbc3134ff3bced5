"""The service `files`: reads and writes files of the home for workers on other machines.

It runs on demand. `service` receives the requests, `requests` answers them; `access` decides which
paths a worker may read and write, `listing` lists entries.
"""

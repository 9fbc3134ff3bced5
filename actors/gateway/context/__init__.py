"""The gateway's part of the context database, whose only writer it is.

    database.py   the store in a thread of its own: nobody waits for it but who asks it
    scans.py      scans of project folders, each by a process of its own

`actors/gateway/context_requests.py` does what arrives for it on the bus. What is wrong with the
database (missing, damaged, full, slow) ends here: a run goes on without.
"""

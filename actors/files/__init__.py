"""The service `files`: what workers on other machines read and write in the home, on demand.

`service` takes the requests, `requests` answers them; `access` says which paths a worker may touch,
`listing` what is there.
"""

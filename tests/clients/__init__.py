"""The matrix of real external agents: each plays the same two nodes, judged by disk and events.

    python -m tests.clients --help          (make clients ARGS=...)

`catalog` is the table of agents and of their releases, `script` the model behind each of them,
`play` the two runs on a real supervisor, `judge` the criteria, `table` the page's table. It
installs the programs from npm and PyPI; only the tests of its pure parts are in `make test`.
"""

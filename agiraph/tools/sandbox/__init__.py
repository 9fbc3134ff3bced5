"""The sandbox of every command of a model: bubblewrap shows it its own files and nothing else.

`Sandbox.enclose(scope)` is what runs a command in the sandbox; `find_sandbox`
returns the sandbox of this machine. What is seen inside has the same paths as outside:

    scratch/ of the node            writable, the working directory
    notebook, memory, identity      writable (a worker's own)
    the node's other files, every published/ of the run, _plan.md, _messages/, _attachments/,
    the input                       readable
    /usr and the programs on PATH   readable: the machine's tools
    /tmp, /dev/shm, /proc           its own, empty and gone with it

Nothing else of the home or of the machine is there: no other worker's files, no agent's memory, no
keys, no sockets of the system. A command has its own process ids, so nothing outlives it.
"""

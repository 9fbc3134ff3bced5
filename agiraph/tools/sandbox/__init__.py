"""The sandbox of a model's commands: bubblewrap shows a command only its own files.

`Sandbox.enclose(scope)` returns the arguments that run a command in the sandbox; `find_sandbox`
returns the sandbox of this machine. Files have the same paths inside as outside:

    scratch/ of the node            writable, the working directory, with links to other files
    notebook, memory, identity      writable (a worker's own)
    the node's other files, every published/ of the run, _plan.md, _messages/, _attachments/,
    the input                       readable
    /usr and the programs on PATH   readable: the machine's tools
    /tmp                            the node's own folder, removed with the node's end
    /dev/shm, /proc                 its own, empty and gone with it

No other files of the home or of the machine are visible: no other worker's files, no agent's
memory, no keys, no sockets of the system. A command has its own process ids, so no process outlives
it.
"""

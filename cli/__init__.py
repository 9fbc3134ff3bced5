"""The `agiraph` command: one file per family of commands, a client of the HTTP API.

`main` is the group and the only place that turns errors into a line on stderr and an exit code;
`command_table` lists the commands and is read without importing any of them.
"""

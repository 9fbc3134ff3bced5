"""The host process: a machine that has joined a home and runs workers for it, under a lease."""

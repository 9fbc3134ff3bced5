"""Processes that run tools for all entities: the web, and servers of other programs' tools."""

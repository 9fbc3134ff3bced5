"""httpx without its command line, whose libraries take a fifth of a command's start."""

from agiraph.imports import left_out

with left_out("httpx._main"):
    import httpx

__all__ = ["httpx"]

"""Imports without what a library imports only where it happens to be installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def left_out(module: str) -> Iterator[None]:
    """Within this block `module` looks as if it were not installed, unless it is imported."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]

"""Settings for all tests: examples of properties, interruption of children, garbage collection."""

import gc
import os
import signal

from hypothesis import settings

# CI judges a change by the same examples each time; new ones are drawn wherever else tests run.
settings.register_profile("quick", max_examples=50, deadline=None, derandomize="CI" in os.environ)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("quick")

gc.disable()  # until all is collected: the imported modules stay


def pytest_collection_finish() -> None:
    """Collect garbage from now on, only among objects of the tests, not of imported modules."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_configure() -> None:
    """Let children be interrupted as at a terminal, also if the suite runs in the background.

    A shell lets processes started with `&` ignore SIGINT, and nohup lets them ignore SIGHUP; every
    process below inherits that. A handler is not inherited by programs: here it replaces an ignored
    SIGHUP.
    """
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _stay)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stay(number: int, frame: object) -> None:
    """Receive a signal without any effect."""

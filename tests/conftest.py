"""What all tests are on: how long properties are searched, how children are interrupted, and when
garbage is looked for."""

import gc
import signal

from hypothesis import settings

settings.register_profile("quick", max_examples=50, deadline=None)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("quick")

gc.disable()  # until all is collected: what is imported stays


def pytest_collection_finish() -> None:
    """Look for garbage from now on, among what tests make; what was imported is none."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_configure() -> None:
    """Let children be interrupted as at a terminal, also where the suite runs in the background.

    A shell lets what it starts with `&` ignore SIGINT, nohup has it ignore SIGHUP, and so would
    every process below it. A handler is not passed on to programs: it stands for SIGHUP ignored.
    """
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _stay)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stay(number: int, frame: object) -> None:
    """Take a signal as if it were ignored."""

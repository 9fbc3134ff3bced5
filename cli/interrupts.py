"""Signals that end a command like Ctrl-C."""

import contextlib
import signal
from collections.abc import Iterator


class EndedBySignal(KeyboardInterrupt):
    """The process must end because of a signal other than that of Ctrl-C."""


@contextlib.contextmanager
def signals_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end us like Ctrl-C, so that the processes that we started are stopped.

    A SIGHUP that is ignored (nohup) stays ignored.
    """

    def interrupt(_number: int, _frame: object) -> None:
        raise EndedBySignal

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

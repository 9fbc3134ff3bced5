"""Signals that end a command as Ctrl-C does."""

import contextlib
import signal
from collections.abc import Iterator


class EndedBySignal(KeyboardInterrupt):
    """We are to end, but nobody has pressed Ctrl-C."""


@contextlib.contextmanager
def signals_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end us as Ctrl-C does, so that what we started is stopped with us.

    A SIGHUP that is ignored (nohup) stays so.
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

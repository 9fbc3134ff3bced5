"""Exit codes of every command, and the errors for each; the end at a closed pipe."""

import os
import select
from threading import Thread
from typing import Final

import click

from agiraph.core.errors import AgiraphError, InvalidInput, OutOfBudget
from agiraph.http.errors import AMBIGUOUS, ApiError, GatewayAway, NotReachable, UrlUnreachable

DONE: Final = 0
FAILED: Final = 1
WRONG_USAGE: Final = 2
OUT_OF_BUDGET: Final = 3
NO_SUPERVISOR: Final = 4
INTERRUPTED: Final = 130
CLOSED_PIPE: Final = 141
"""The code that a shell shows for other commands whose reader has exited: 128 + SIGPIPE."""

STDOUT: Final = 1
STDERR: Final = 2
CLOSED: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL

START_ONE: Final = "start one with: agiraph up"
"""The advice if no supervisor runs."""

ASK_THERE: Final = "is that its URL, and does `agiraph up` run there? (--ca FILE: its authority)"
"""The advice if no gateway answers on another machine."""

BY_STATUS: Final = {402: OUT_OF_BUDGET, 404: WRONG_USAGE, 422: WRONG_USAGE}
"""A name unknown to the gateway (404) is as wrong as a name unknown to this process."""


def exit_code(error: BaseException) -> int:
    """Return the exit code for an error."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(error, NotReachable) and not isinstance(error, GatewayAway):
        return NO_SUPERVISOR
    if isinstance(error, ApiError):
        return WRONG_USAGE if error.type == AMBIGUOUS else BY_STATUS.get(error.status, FAILED)
    if isinstance(error, OutOfBudget):
        return OUT_OF_BUDGET
    if isinstance(error, click.ClickException):
        return error.exit_code
    return WRONG_USAGE if isinstance(error, InvalidInput) else FAILED


def explanation(error: BaseException) -> str:
    """Return one line that explains an error."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted"
    if isinstance(error, GatewayAway):
        return f"{error}; see `agiraph logs human` and `agiraph doctor`"
    if isinstance(error, NotReachable):
        return f"{error}; {ASK_THERE if isinstance(error, UrlUnreachable) else START_ONE}"
    if isinstance(error, AgiraphError):
        return str(error)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}"
    return f"internal error: {type(error).__name__}: {error} (-v shows where)"


def is_unexpected(error: BaseException) -> bool:
    """Whether an error is a fault of Agiraph, not of its input, the machine or another service."""
    return not isinstance(error, click.ClickException | click.Abort | AgiraphError | OSError)


def discard_unread() -> bool:
    """Discard further output to pipes without a reader; return whether stdout or stderr is one."""
    unread = [number for number in (STDOUT, STDERR) if _is_closed(number, timeout_milliseconds=0)]
    for number in unread:  # the interpreter flushes its streams as it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)  # plain: /dev/null
    return bool(unread)


def end_when_unread(*descriptors: int) -> None:
    """Exit as soon as all these pipes have lost their readers, even between two writes.

    Otherwise `agiraph events AGENT --follow | head -1` would wait for a second event. Copies of the
    descriptors are watched: after a failed write, the process replaces a descriptor by /dev/null.
    """
    watched = [os.dup(number) for number in descriptors]

    def watch() -> None:
        if all(_is_closed(number, timeout_milliseconds=None) for number in watched):
            os._exit(CLOSED_PIPE)

    Thread(target=watch, name="closed-pipe", daemon=True).start()


def _is_closed(descriptor: int, timeout_milliseconds: int | None) -> bool:
    """Whether the other end of a descriptor is closed, or closes within the timeout."""
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and a closed end are reported without being requested
    return any(state & CLOSED for _, state in poll.poll(timeout_milliseconds))

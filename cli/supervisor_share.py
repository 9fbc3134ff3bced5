"""A command's share in the supervisor of a home, unless its gateway is elsewhere."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from agiraph.http import own_supervisor
from agiraph.storage.home_users import HomeShare
from cli.remote import is_elsewhere


@contextlib.contextmanager
def shared_supervisor(
    home: Path, on_wait: Callable[[], None] = lambda: None
) -> Iterator[HomeShare]:
    """Have a share in the supervisor of a home; on another machine nothing is shared."""
    if is_elsewhere():
        yield HomeShare(home)
        return
    with own_supervisor.shared_supervisor(home, on_wait) as share:
        yield share

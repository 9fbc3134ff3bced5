"""Wait cycles: find nodes that wait for each other in a ring."""

from collections.abc import Mapping, Sequence


def find_cycle(waits: Mapping[str, Sequence[str]]) -> tuple[str, ...] | None:
    """Return a ring such as ("a", "b", "a") in which each waits for the next; None if none.

    `waits` maps a name to those it waits for; names that are no key wait for nobody.
    """
    done: set[str] = set()
    for start in waits:
        ring = _walk(start, waits, done)
        if ring:
            return ring
    return None


def _walk(start: str, waits: Mapping[str, Sequence[str]], done: set[str]) -> tuple[str, ...] | None:
    """Walk depth first with a stack of our own: a plan may be deeper than Python's recursion."""
    path: list[str] = []
    on_path: set[str] = set()
    stack: list[tuple[str, bool]] = [(start, False)]
    while stack:
        name, is_left = stack.pop()
        if is_left:
            path.pop()
            on_path.discard(name)
            done.add(name)
        elif name in on_path:
            return (*path[path.index(name) :], name)
        elif name not in done:
            path.append(name)
            on_path.add(name)
            stack.append((name, True))
            stack.extend((other, False) for other in reversed(waits.get(name, ())))
    return None

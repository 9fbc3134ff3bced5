"""Groups: who else must begin again when one child of a group did. Pure; OTP's three strategies.

    one_for_one    nobody
    rest_for_one   those that were started after it, for they may lean on it
    one_for_all    everybody

The others are stopped in reverse order before the ended one starts, and start in order once it is
ready. A group shares one restart budget, and is given up as a whole.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, assert_never

from agiraph.core.ids import agent_of
from agiraph.messages import ChildSpec

Strategy = Literal["one_for_one", "rest_for_one", "one_for_all"]
GroupKey = tuple[str, str]


def group_of(spec: ChildSpec) -> GroupKey | None:
    """Return what names a child's group, None if it is in none; groups never span agents."""
    agent = agent_of(spec.address)
    if agent is None or not spec.group or spec.strategy == "one_for_one":
        return None
    return agent, spec.group


def members_of(key: GroupKey, specs: Mapping[str, ChildSpec]) -> tuple[str, ...]:
    """Return the addresses of a group, in start order (that of `specs`)."""
    return tuple(address for address, spec in specs.items() if group_of(spec) == key)


def affected(members: Iterable[str], strategy: Strategy, ended: str) -> tuple[str, ...]:
    """Return, in start order, the others that must begin again because `ended` did."""
    order = tuple(members)
    match strategy:
        case "one_for_one":
            return ()
        case "rest_for_one":
            return order[order.index(ended) + 1 :] if ended in order else ()
        case "one_for_all":
            return tuple(member for member in order if member != ended)
        case _:
            assert_never(strategy)

"""Schedule: the kind, the time and the manner of each fault.

Random faults follow from their seed; a hammer kills the same kinds at regular intervals.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

How = Literal["kill", "freeze", "tear"]

ALL_AT_ONCE = "all"
KINDS = (
    "worker", "coordinator", "broker", "recorder", "human", "clock", "web", "router", "spawner",
    "supervisor", ALL_AT_ONCE,
)  # fmt: skip
WEIGHTS = {"worker": 8, "coordinator": 5, "supervisor": 1, ALL_AT_ONCE: 1}
SHORTEST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.4
FREEZE_SHARE = 0.05
TEAR_SHARE = 0.15
TEARABLE = ("worker", "coordinator")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: after a pause, in a process of this kind.

    kill: SIGKILL. freeze: SIGSTOP for a while. tear: SIGKILL, and a partial record at the end of
    its journal. `pick` in [0, 1) chooses among the processes of that kind.
    """

    pause_seconds: float
    kind: str
    how: How
    pick: float


def strikes(seed: int, kinds: Sequence[str] = KINDS) -> Iterator[Fault]:
    """Return the endless schedule of a seed; some kinds are hit more often than others."""
    dice = random.Random(seed)
    weights = [WEIGHTS.get(kind, 2) for kind in kinds]
    while True:
        kind = dice.choices(kinds, weights)[0]
        pause = dice.uniform(SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        yield Fault(pause, kind, _how(dice.random(), kind), dice.random())


def hammer(kinds: Sequence[str], every_seconds: float) -> Iterator[Fault]:
    """Return an endless schedule that kills each of these kinds every `every_seconds`."""
    while True:
        for number, kind in enumerate(kinds):
            yield Fault(0.0 if number else every_seconds, kind, "kill", 0.0)


def _how(roll: float, kind: str) -> How:
    if kind == ALL_AT_ONCE:
        return "kill"
    if roll < FREEZE_SHARE:
        return "freeze"
    if roll < FREEZE_SHARE + TEAR_SHARE and kind in TEARABLE:
        return "tear"
    return "kill"

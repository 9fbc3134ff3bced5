"""Worth: the worth of a node at a time, from importance, age and use. Pure."""

from typing import Final

from agiraph.knowledge.records import KnowledgeKind

DAY: Final = 86400.0
HALF_LIFE_DAYS: Final[dict[KnowledgeKind, float]] = {
    "preference": 720.0,
    "decision": 360.0,
    "pattern": 360.0,
    "project": 360.0,
    "mistake": 180.0,
    "code_snippet": 180.0,
    "file": 180.0,
    "task": 90.0,
    "conversation": 60.0,
}
"""The number of days without a change or use after which half of the fading share is lost."""

LASTS: Final = 0.4
"""The share of the importance that never fades."""

USE: Final = 0.05
MOST_FROM_USE: Final = 0.25


def recency(kind: KnowledgeKind, at: float, now: float) -> float:
    """Return the recency of a change or use at time `at`, from 1 down to LASTS."""
    days = max(0.0, now - at) / DAY
    return float(LASTS + (1 - LASTS) * 0.5 ** (days / HALF_LIFE_DAYS[kind]))


def worth(kind: KnowledgeKind, importance: float, at: float, used: int, now: float) -> float:
    """Return the worth of a node at `now`, from 0 to 1; `at` is its last change or use."""
    from_use = min(MOST_FROM_USE, USE * used)
    return min(1.0, (importance + from_use) * recency(kind, at, now))

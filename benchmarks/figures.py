"""A figure: one ratio that was measured, what it should be, and the plain numbers behind it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """`ratio` of ours to `peer`, both measured in the same run.

    `wanted` says whether the aim is a floor (at least) or a ceiling (at most); `seen` tells the
    numbers behind the ratio, which hold for one machine only.
    """

    what: str
    peer: str
    ratio: float
    wanted: Literal["at least", "at most"]
    aim: float
    seen: str

    @property
    def is_met(self) -> bool:
        """Whether the ratio is as good as it should be."""
        return self.ratio >= self.aim if self.wanted == "at least" else self.ratio <= self.aim

"""Hits: what a search service found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result of a search."""

    title: str
    url: str
    snippet: str

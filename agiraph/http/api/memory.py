"""An agent's long-term memory: its files, and searching them."""

from pydantic import Field

from agiraph.http.api.base import ApiRequest, ApiView


class SearchMemoryRequest(ApiRequest):
    """POST /agents/{a}/memory/search: words that the notes may hold."""

    query: str = Field(min_length=1, max_length=2000)


class MemoryEntryView(ApiView):
    """A file of an agent's memory; `path` as the agent names it: `MEMORY.md`, `knowledge/x.md`."""

    path: str
    size: int
    modified_at: float


class MemoryHitView(ApiView):
    """A section of a memory that fits a query; a higher `score` fits better."""

    path: str
    heading: str
    score: float
    text: str

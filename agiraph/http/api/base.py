"""What all requests and answers of the HTTP API have in common."""

from typing import Any

from pydantic import ConfigDict

from agiraph.core.record import Record

JsonObject = dict[str, Any]


class ApiRequest(Record):
    """Base of all requests: an unknown field is a mistake that the caller should hear of."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class ApiView(Record):
    """Base of all answers; fields may be filled by their Python name or their JSON name."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

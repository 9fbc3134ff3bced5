"""Parsing JSON: the single function that parses JSON from a file, a service or a program."""

import json
from typing import Any


class NestedTooDeep(ValueError):
    """A JSON text has more levels of lists and objects than Python's parser can read."""


def parse_json(text: str | bytes | bytearray, **options: Any) -> Any:
    """Return the value of a JSON text; raises ValueError for every invalid text.

    `json.loads` raises RecursionError, which is not a ValueError, for a text such as 200,000 `[`.
    """
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise NestedTooDeep("it is nested too deeply") from None

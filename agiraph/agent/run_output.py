"""Run output: a final answer that must be one JSON value of a given shape; pure."""

import json
import re
from typing import Any, Final

from agiraph.core.errors import InvalidInput
from agiraph.core.results import read_result

MOST_MISFITS: Final = 3
"""How many misfitting answers are refused before the run fails."""

FENCED: Final = re.compile(r"\s*```\w*\s*\n(.*)\n\s*```\s*", re.DOTALL)

ASKED: Final = """[Runtime]: The final answer of this run must be one JSON value and nothing else: \
no remarks, no code fence. With `finish` it is the whole `summary`."""


def output_notice(schema: dict[str, Any] | None) -> str:
    """Return the text for the model about the shape of the final answer, '' if it is free text."""
    if schema is None:
        return ""
    shape = json.dumps(schema, ensure_ascii=False)
    return f"{ASKED} It must fit this JSON Schema:\n\n{shape}" if schema else ASKED


def fitted(answer: str, schema: dict[str, Any]) -> str:
    """Return the JSON text in an answer, which must match `schema`.

    Raises InvalidInput, which names the mismatch.
    """
    fenced = FENCED.fullmatch(answer)
    text = fenced[1] if fenced else answer.strip()
    _, wrong = read_result(text, schema)
    if wrong:
        raise InvalidInput(f"the final answer does not fit the JSON Schema that it must: {wrong}")
    return text

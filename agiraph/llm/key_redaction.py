"""The forms in which a service's own key may be in a text, and their removal. Pure.

A service, or a proxy before it, may repeat the key of a request: in an error, in a page for
debugging, as text of a model. Answers enter conversations, journals and events, so the key is
replaced as soon as an answer is read (events: `agiraph.llm.wire.key_redactor`).
"""

import base64
import json
import re
from collections.abc import Sequence
from functools import partial
from urllib.parse import quote

from agiraph.core.redaction import map_texts
from agiraph.core.turns import ModelResponse

MARK = "[key]"
SHORTEST_KEY = 6
"""A shorter key is a placeholder such as `x`, which every text contains."""
SURE_LENGTH = 16


def forms(key: str) -> tuple[str, ...]:
    """Return a key as it may appear in a text, the longest form first; () for a placeholder.

    A key of local services (`none`, `ollama`) is a usual word, so a short key needs a digit.
    """
    if len(key) < SHORTEST_KEY or not (len(key) >= SURE_LENGTH or re.search("[0-9]", key)):
        return ()
    whole = len(key.encode()) // 3 * 4  # the padding differs where more is encoded with the key
    encoded = base64.b64encode(key.encode()).decode()[:whole]
    found = {key, quote(key, safe=""), json.dumps(key)[1:-1], encoded}
    return tuple(sorted(filter(None, found), key=len, reverse=True))


def without_key(text: str, key: str) -> str:
    """Return `text` without the key, and without a half of it or more that a limit has left."""
    if len(key) < SHORTEST_KEY:
        return text
    text = without_forms(forms(key), text).replace(key, MARK)
    half = key[: (len(key) + 1) // 2]
    if len(half) >= SHORTEST_KEY and forms(key):
        while (start := text.find(half)) >= 0:
            end = start + len(half)
            while text[end : end + 1] and key.startswith(text[start : end + 1]):
                end += 1
            text = text[:start] + MARK + text[end:]
    return text


def response_without_key(response: ModelResponse, key: str) -> ModelResponse:
    """Return a whole answer without the key: also where JSON escapes or short parts hid it."""
    if not (found := forms(key)):
        return response
    change = partial(without_forms, found)
    calls = [
        call.model_copy(
            update={
                "arguments": map_texts(call.arguments, change),
                "malformed": map_texts(call.malformed, change),
            }
        )
        for call in response.tool_calls
    ]
    return response.model_copy(
        update={
            "text": map_texts(response.text, change),
            "tool_calls": tuple(calls),
            "provider_data": map_texts(response.provider_data, change),
        }
    )


def without_forms(forms: Sequence[str], text: str) -> str:
    """Return `text` without these forms of a key."""
    for form in forms:
        text = text.replace(form, MARK)
    return text

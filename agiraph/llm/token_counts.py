"""Token counts of requests, and checks of the counts that services report. Pure.

A service reports its usage, and is not always right: some report nothing, and a faulty or hostile
service reports negative or enormous counts. A count is used if it is possible for the sent and
received bytes; any other is replaced by an estimate, and the usage is marked as estimated.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from agiraph.core.turns import (
    AssistantTurn,
    ModelRequest,
    Turn,
    Usage,
    encoded_length,
    pictures_in,
)
from agiraph.llm.base import PartialUsage

REAL_CHARACTERS_PER_TOKEN: Final = 4
BYTES_PER_TOKEN: Final = 3
"""For estimates, rather too high than too low: prose has four bytes per token, code three."""
TOKENS_PER_PIECE: Final = 8
"""The frame of one turn or tool in tokens, for estimates."""
MOST_TOKENS_PER_PIECE: Final = 64
MOST_HIDDEN_TOKENS: Final = 4096
"""The most tokens that services and prompts for tools as text add to a request's input."""
CHARACTERS_PER_CALL: Final = 40
PICTURE_TOKENS: Final = 3000
"""For estimates: services scale large pictures down to about 1,500 tokens, some to 5,000."""
MOST_PICTURE_TOKENS: Final = 50_000
"""The count of the most expensive models for one picture in full detail."""
LARGEST_WINDOW: Final = 2_097_152
"""The largest context window of a model that reads documents: that of Gemini 1.5 Pro.

A document is billed by its pages, and a video by its seconds, regardless of their bytes. Claude
reads up to 600 pages with 1,500 to 3,000 tokens of text each, and counts each page as a picture,
too (platform.claude.com/docs/en/build-with-claude/pdf-support). GPT gets the text and a picture of
each page (developers.openai.com/api/docs/guides/file-inputs). Gemini reads up to 1,000 pages of 258
tokens, and 300 tokens for each second of a video (ai.google.dev/gemini-api/docs/tokens). Thousands
of pages fit into a few kilobytes, so only the window bounds their tokens."""
MOST_SERVICE_TOOL_RUNS: Final = 20
UNSEEN_TOKENS_PER_SECOND: Final = 100
"""The speed of reasoning that a service does not stream; 60 to 150 are usual."""
LONGEST_TOKEN: Final = 24
"""The most bytes that the tokens of a text have on average, once its runs are shortened.

Measured with the tokenizers of GPT-4o, Gemini, Claude and Llama 3: prose and code of any language
have at most 10, a repeated word or phrase has up to 24, a run of one letter up to 32, a run of
another character up to 1,000."""
LETTER_RUN: Final = 2
OTHER_RUN: Final = 48
"""The factor by which a run is shortened."""
RUN: Final = re.compile(r"(.)\1{3,}", re.DOTALL)
CHARACTERS_AT_ONCE: Final = 1 << 16
LARGEST_DISCOUNT: Final = 0.1
"""The share of our price below which a cost is considered wrong."""
IMPOSSIBLE: Final = 10**15
"""Represents an invalid count; more than any request allows."""


@dataclass(frozen=True, slots=True)
class InputSize:
    """The input of a request in tokens: an estimate, rather too high, and an upper bound.

    A token of a text has at least one byte, so the bound is about the number of bytes. `texts` are
    the parts of the input that the service certainly reads: it counts at least their tokens.
    `uncounted` is the billed number of tokens if the service reports no possible count; 0: the
    guess is billed. `has_documents`: the input has files, whose tokens nothing here can count.
    """

    guess: int
    most: int
    texts: tuple[str, ...] = ()
    uncounted: int = 0
    has_documents: bool = False

    def allows(self, tokens: int) -> bool:
        """Whether an input of this size can have `tokens` tokens.

        The window of a model may be larger than the known one, so documents may have more tokens.
        """
        most = max(self.most, LARGEST_WINDOW) if self.has_documents else self.most
        return 0 < tokens <= most and not has_more_tokens(self.texts, tokens)


def input_size(request: ModelRequest) -> InputSize:
    """Return the size of a request's input."""
    size = byte_length(request.system) + sum(map(_size, request.turns))
    for tool in request.tools:
        size += byte_length(tool.name) + byte_length(tool.description)
        size += encoded_length(tool.parameters)
    if request.response_schema is not None:
        size += encoded_length(request.response_schema)
    pieces = len(request.turns) + len(request.tools)
    pictures = pictures_in(request.turns)
    seen, most_seen = sum(one.tokens for one in pictures), MOST_PICTURE_TOKENS * len(pictures)
    return InputSize(
        guess=size // BYTES_PER_TOKEN + TOKENS_PER_PIECE * pieces + seen,
        most=size + MOST_TOKENS_PER_PIECE * pieces + MOST_HIDDEN_TOKENS + most_seen,
        texts=texts_of(request),
    )


def texts_of(request: ModelRequest) -> tuple[str, ...]:
    """Return the system prompt and the texts of the turns.

    Tools are left out, since some services load them only when they are needed; so are calls and
    earlier reasoning.
    """
    texts = (
        turn.text if isinstance(turn, AssistantTurn) else turn.content for turn in request.turns
    )
    return (request.system, *filter(None, texts))


def has_more_tokens(texts: Iterable[str], tokens: int) -> bool:
    """Whether `texts` together certainly have more than `tokens` tokens."""
    most_bytes = tokens * LONGEST_TOKEN
    if sum(map(byte_length, texts)) <= most_bytes:
        return False
    whole, size = "".join(texts), 0
    for start in range(0, len(whole), CHARACTERS_AT_ONCE):
        size += byte_length(RUN.sub(_shortened, whole[start : start + CHARACTERS_AT_ONCE]))
        if size > most_bytes:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A picture, or a document of another kind, in a forwarded request.

    `encoded` is its length in bytes in the request's body; 0: it is at a URL.
    """

    encoded: int
    is_picture: bool

    @property
    def decoded(self) -> int:
        """The length in bytes of the file, decoded from base64."""
        return self.encoded * 3 // 4

    def guess(self, window: int) -> int:
        """Return the probable size in tokens; `window` is the model's context window."""
        if self.is_picture:
            return PICTURE_TOKENS
        return min(window, max(self.decoded, PICTURE_TOKENS)) if self.encoded else window


def _shortened(run: re.Match[str]) -> str:
    times = LETTER_RUN if run[1].isalnum() else OTHER_RUN
    return run[0][: -(-len(run[0]) // times)]


def forwarded_size(
    body_bytes: int,
    attachments: Iterable[Attachment],
    window: int | None,
    *,
    has_service_tools: bool,
    texts: tuple[str, ...] = (),
) -> InputSize:
    """Return the input size of a forwarded request with a body of `body_bytes`.

    `window` is the model's, None if it is not known: then it may be as large as that of any model.
    All documents of a request fit into the window. `texts` are the parts of the body that the
    service certainly reads. Results of the service's own tools are input, too.
    """
    longest = window or LARGEST_WINDOW
    given = list(attachments)
    pictures = sum(one.is_picture for one in given)
    documents = [one for one in given if not one.is_picture]
    text = max(0, body_bytes - sum(one.encoded for one in given))
    guess = text // BYTES_PER_TOKEN + pictures * PICTURE_TOKENS
    most = text + pictures * MOST_PICTURE_TOKENS + MOST_HIDDEN_TOKENS
    uncounted = 0
    if documents:
        uncounted = max(guess, longest)
        guess += min(longest, sum(one.guess(longest) for one in documents))
        most += max(longest, sum(one.decoded for one in documents))
    if has_service_tools:
        most += longest * MOST_SERVICE_TOOL_RUNS
    return InputSize(guess, most, texts, uncounted, has_documents=bool(documents))


def guess_input_tokens(request: ModelRequest) -> int:
    """Return an estimate of a request's input in tokens, rather too high than too low."""
    return input_size(request).guess


def byte_length(text: str) -> int:
    """Return the length of a text in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _size(turn: Turn) -> int:
    """Return the approximate size of a turn on the wire; called often, so it is cheap."""
    if not isinstance(turn, AssistantTurn):
        return byte_length(turn.content)
    size = byte_length(turn.text or "")
    size += encoded_length(turn.provider_data) if turn.provider_data else 0
    return size + sum(
        CHARACTERS_PER_CALL + len(c.name) + encoded_length(c.arguments) for c in turn.tool_calls
    )


def token_count(value: Any) -> int:
    """Return a count reported by a service: 0 if missing, IMPOSSIBLE if invalid."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        return IMPOSSIBLE
    if not math.isfinite(value) or value < 0 or value != int(value):
        return IMPOSSIBLE
    return int(value)


def charged_usd(value: Any) -> float | None:
    """Return a cost reported by a service, None if missing, infinite if invalid."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if is_number else math.inf
    except OverflowError:
        return math.inf


def believed_usage(
    so_far: PartialUsage, size: InputSize, max_tokens: int, unseen_tokens: int = 0
) -> Usage:
    """Return the billed usage of an answer: the service's counts where they are possible.

    `max_tokens` is the limit that was sent with the request. An incomplete answer has used at least
    its streamed part, and `unseen_tokens` of reasoning that is not streamed.
    """
    counted, streamed = so_far.usage, so_far.streamed_bytes // BYTES_PER_TOKEN + 1
    cached = counted.cache_read_tokens + counted.cache_write_tokens
    is_input_possible = size.allows(counted.input_tokens) and 0 <= cached <= counted.input_tokens
    # Not every service respects the limit; the answer's length shows whether it did.
    is_output_possible = 0 <= counted.output_tokens <= max(max_tokens, streamed)
    is_missing = so_far.streamed_bytes > 0 and not counted.output_tokens
    is_too_low = is_missing or has_more_tokens(so_far.texts, counted.output_tokens)
    is_output_counted = so_far.is_complete and is_output_possible and not is_too_low
    if is_input_possible and is_output_counted:
        return counted
    output = counted.output_tokens if is_output_possible else 0
    if not is_output_counted:
        unseen = 0 if so_far.is_complete else unseen_tokens
        output = max(output, min(max(streamed, unseen), max_tokens))
    kept = counted if is_input_possible else Usage(input_tokens=size.uncounted or size.guess)
    cost = counted.cost_usd
    return kept.model_copy(update={"output_tokens": output, "cost_usd": cost, "is_estimate": True})


def is_possible_cost(cost: float, usual: float, most: float) -> bool:
    """Whether `cost`, which a service reports in US dollars, is possible.

    `usual` is the cost at our price (0: unknown), `most` the highest possible cost.
    """
    return math.isfinite(cost) and LARGEST_DISCOUNT * usual <= cost <= most and cost >= 0

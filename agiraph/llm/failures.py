"""Errors of services: the only place where they get a FailureKind.

Texts are made fit to show: they never contain the key.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from agiraph.core.json_text import parse_json
from agiraph.foreign.http import AnswerRefused, RedirectRefused
from agiraph.llm.base import FailureKind, ProviderError
from agiraph.llm.key_redaction import without_key

STATUS_KINDS: dict[int, FailureKind] = {
    401: "bad_key",
    402: "no_credit",
    403: "bad_key",
    404: "unknown_model",
    408: "timed_out",
    409: "overloaded",
    413: "context_too_long",
    429: "rate_limited",
}
BODY_KINDS: dict[str, FailureKind] = {
    "insufficient_quota": "no_credit",
    "billing_error": "no_credit",
    "insufficient_balance_error": "no_credit",
    "context_length_exceeded": "context_too_long",
    "exceed_context_size_error": "context_too_long",
    "request_too_large": "context_too_long",
    "model_not_found": "unknown_model",
    "overloaded_error": "overloaded",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "api_error": "overloaded",
    "server_error": "overloaded",
    "timeout_error": "timed_out",
    "authentication_error": "bad_key",
    "permission_error": "bad_key",
    "invalid_api_key": "bad_key",
    "not_found_error": "unknown_model",
    # Google's
    "RESOURCE_EXHAUSTED": "rate_limited",
    "UNAVAILABLE": "overloaded",
    "INTERNAL": "overloaded",
    "DEADLINE_EXCEEDED": "timed_out",
    "NOT_FOUND": "unknown_model",
    "UNAUTHENTICATED": "bad_key",
    "PERMISSION_DENIED": "bad_key",
}
PHRASES: tuple[tuple[str, FailureKind], ...] = (
    ("prompt is too long", "context_too_long"),
    ("maximum context length", "context_too_long"),
    ("context window", "context_too_long"),
    ("available context size", "context_too_long"),
    ("exceeds the maximum number of tokens", "context_too_long"),
    ("credit balance is too low", "no_credit"),
    ("insufficient balance", "no_credit"),
    ("api key not valid", "bad_key"),
)
BASE_RESP_KINDS: dict[str, FailureKind] = {
    "1001": "timed_out",
    "1002": "rate_limited",
    "1004": "bad_key",
    "1008": "no_credit",
    "1039": "rate_limited",
    "2049": "bad_key",
}
"""MiniMax's codes, which it may send with status 200."""
TEXT_LIMIT = 500
PAGE_TYPES = ("text/html", "application/xhtml+xml")
REASON_FIELDS = (
    *("message", "error", "detail", "errors", "msg", "status_msg", "base_resp", "error_msg"),
    *("error_message", "error_description", "reason", "title", "description"),
)
MOST_NUMBER = 1e10  # a wait of 317 years: `timedelta` has no room for much more
LONG_WAIT_SECONDS = 120
"""A longer wait exceeds all retries, so the error names it."""
DEEPEST = 5
MOST_REASONS = 3

# How services say that the input of a request is too long, in different words.
TOO_LARGE = 413
OVERFLOW_STATUSES = (None, 400, TOO_LARGE, 422, 500)
"""The statuses of errors that may be about length; None: an error within a stream."""
OF_ANSWER = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens")
_ANSWER_LIMIT = re.compile(r"(?<!\+ `)\bmax_\w*tokens\b`?:? (must be|is too large|is greater)")
OF_INPUT = ("prompt", "input", "context", "messages", "conversation")
_TOO_LONG = re.compile(
    r"\b(prompt|input|request|messages?|context|conversation)\b.{0,40}"
    r"(?<!string )\btoo (long|large|many tokens)"
    r"|\b(prompt|input|context) length\b.{0,12}\b(exceeds|is|should)\b"
    r"|\b(prompt|input)\b.{0,20}\b(exceeds\b.{0,30}\b(length|limit|context|size)|is longer than)\b"
    r"|too many (input )?tokens"
    r"|reduce the (length|size) of (the |your )?(prompt|input|messages?|context|conversation)"
)
_RATE = re.compile(r"\brate[ -]?limit|\bper (minute|min|hour|day)\b")
_LENGTH = re.compile(
    r"\b(inputs?|prompt|request(ed)?|messages?|conversation)\b.*\btokens?\b|prompt_tokens"
    r"|\btokens?\b.*\b(input|prompt|request|context)\b"
    r"|\bcontext[ _-]?(length|size|window|limit)|\bprompt length|\bmodel token limit"
)
_LIMIT = re.compile(
    r"exceed|maximum|(long|larg|great)er than|less than|\blimit\b|too (long|large)|at most|up to"
    r"|must be <|not enough|not fit"
)
_MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)


class PageAnswered(AnswerRefused):
    """A service answered with a page for people instead of an answer of its API."""


class UnreadableAnswer(AnswerRefused):
    """An answer has an invalid shape for its format, or too much content."""


class ServiceError(Exception):
    """A service answered with an error: as the status of its answer, or within its stream."""

    def __init__(
        self,
        body: object,
        status_code: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.body = body
        self.status_code = status_code
        self.headers = headers or {}
        status = "" if status_code is None else f" (HTTP {status_code})"
        super().__init__(reason_in(body) or f"the service failed without saying why{status}")


def explain(error: Exception, provider: str, model: str, url: str, key: str) -> ProviderError:
    """Return the ProviderError for an exception of a call; an unknown one is `internal`.

    Exceptions of the SDKs are recognized by their names and attributes, which ServiceError shares:
    neither SDK is imported here.
    """
    # An SDK wraps exceptions of its HTTP client and of that client's hooks.
    refused = error if isinstance(error, AnswerRefused) else error.__cause__
    if isinstance(refused, AnswerRefused):
        is_wrong_place = isinstance(refused, RedirectRefused | PageAnswered)
        text = f"{provider}/{model}: {clean(str(refused), key)}"
        return ProviderError("bad_request" if is_wrong_place else "bad_answer", text)
    names = {base.__name__ for base in type(error).__mro__}
    if "TooManyRedirects" in names | {type(error.__cause__).__name__}:
        return ProviderError("bad_request", f"{provider} redirects again and again at {url}")
    if names & {"APITimeoutError", "TimeoutException"}:
        return ProviderError("timed_out", f"{provider} did not answer in time")
    if names & {"APIConnectionError", "TransportError"}:
        cause = error.__cause__ or error
        detail = clean(str(cause) or type(cause).__name__, key)
        return ProviderError("unreachable", f"cannot reach {provider} at {url}: {detail}")
    status, headers = getattr(error, "status_code", None), _headers_of(error)
    body = _parsed(_body_of(error))
    inner = _inner(body)
    if (page := _page_in(body, headers)) is not None:
        kind: FailureKind = "overloaded" if (status or 0) >= 500 else "bad_request"
        kind = "context_too_long" if status == TOO_LARGE else kind
        answered = f"{url} answered HTTP {status} with a page for people"
        text = clean(f"{answered}: {page}" if page else answered, key)
        return ProviderError(kind, f"{provider}/{model}: {text}")
    text = clean(reason_in(body) or _told(error, status, url), key)
    wait = retry_after(headers, time.time())
    wait = _wait_in_body(inner) if wait is None else wait
    kind = _kind(_status_in(inner) if status is None else status, inner, text)
    if wait is not None and wait >= LONG_WAIT_SECONDS:
        text += f" (the service asks to wait {timedelta(seconds=round(wait))})"
    return ProviderError(kind, f"{provider}/{model}: {text}", retry_after=wait)


def _headers_of(error: Exception) -> Mapping[str, str]:
    headers: Mapping[str, str] = getattr(getattr(error, "response", error), "headers", {})
    return headers


def _body_of(error: Exception) -> object:
    """Return the body of an error; an SDK keeps only its field `error`, even if that is null."""
    body = getattr(error, "body", None)
    return getattr(getattr(error, "response", None), "text", "") if body is None else body


def _told(error: Exception, status: int | None, url: str) -> str:
    """Return status, content type and beginning of an error whose body gives no reason."""
    if status is None:
        return str(error) or type(error).__name__
    raw = str(getattr(error, "body", None) or "")[:TEXT_LIMIT]
    kind = _headers_of(error).get("content-type", "no type")
    return f"{url} answered HTTP {status} without a reason ({kind}): {raw or 'an empty body'}"


def _status_in(body: Mapping[str, Any]) -> int | None:
    """Return the HTTP status that the body of an error names, None if the body names no status.

    An error within a stream has no other status.
    """
    code = str(body.get("code"))
    return int(code) if re.fullmatch("[45][0-9][0-9]", code) else None


def _parsed(body: object) -> object:
    """Return the JSON value of a text with an object or list; any other body unchanged."""
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        try:
            found: object = parse_json(body)
        except ValueError:
            return body
        return found
    return body


def _page_in(body: object, headers: Mapping[str, str]) -> str | None:
    """Return the text of a page sent instead of an error, None if it is not a page."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_page = isinstance(body, str) and body.lstrip()[:1] == "<"
    if kind not in PAGE_TYPES and not is_page:
        return None
    return " ".join(_MARKUP.sub(" ", body).split()) if isinstance(body, str) else ""


def reason_in(body: object, depth: int = 0) -> str:
    """Return the reason in the body of an error, '' if there is none.

    Services agree neither on the name of the field nor on its depth: the reason may be a text, an
    object, a list, or JSON in a text.
    """
    body = _parsed(body) if depth < DEEPEST else ""
    if isinstance(body, str):
        return body.strip()
    if isinstance(body, Mapping):
        found = (reason_in(body.get(name), depth + 1) for name in REASON_FIELDS)
        reason = next(filter(None, found), "")
        about = body.get("metadata")  # OpenRouter's message is the same for all errors of services
        raw = reason_in(about.get("raw"), depth + 1) if isinstance(about, Mapping) else ""
        reason = f"{reason}: {raw}" if raw else reason
        place = body.get("loc")
        if reason and isinstance(place, list):  # FastAPI
            return f"{'.'.join(map(str, place))}: {reason}"
        return reason
    if isinstance(body, list):
        reasons = (reason_in(one, depth + 1) for one in body[:MOST_REASONS])
        return "; ".join(filter(None, reasons))
    return ""


def is_error(answer: object) -> bool:
    """Whether an answer or an event is an error, which some services send with status 200."""
    if not isinstance(answer, Mapping):
        return False
    if answer.get("error") or "error" in (answer.get("type"), answer.get("object")):
        return True
    own = answer.get("base_resp")  # MiniMax
    return isinstance(own, Mapping) and bool(own.get("status_code"))


@contextmanager
def explained(provider: str, model: str, url: str, key: str) -> Iterator[None]:
    """Raise any error of a remote service as a ProviderError, which fails one call."""
    try:
        yield
    except ProviderError:
        raise
    except Exception as error:
        raise explain(error, provider, model, url, key) from error


def _inner(body: object) -> Mapping[str, Any]:
    """Return the object with `type` and `code` in an error's body; most services nest it."""
    if isinstance(body, list):
        body = next((one for one in body if isinstance(one, Mapping)), {})
    if not isinstance(body, Mapping):
        return {}
    found = (body.get(name) for name in ("error", "base_resp"))
    return next((one for one in found if isinstance(one, Mapping)), body)


def _kind(status: int | None, body: Mapping[str, Any], text: str) -> FailureKind:
    lower = text.lower()
    # Waiting does not help a request that exceeds a whole minute's tokens (Groq, OpenAI).
    if status == TOO_LARGE or "request too large for" in lower:
        return "context_too_long"
    named = [BODY_KINDS.get(str(body.get(field))) for field in ("code", "type", "status")]
    # `overloaded` is the least specific kind: the error's words may say more.
    if (kind := next((one for one in named if one not in (None, "overloaded")), None)) is not None:
        return kind
    if (kind := BASE_RESP_KINDS.get(str(body.get("status_code")))) is not None:
        return kind
    for phrase, kind in PHRASES:
        if phrase in lower:
            return kind
    if status in OVERFLOW_STATUSES and is_overflow(lower):
        return "context_too_long"
    if "overloaded" in named:
        return "overloaded"
    if status is None:
        return "overloaded" if body else "internal"
    if status >= 500:
        return "overloaded"
    return STATUS_KINDS.get(status, "bad_request")


def is_overflow(text: str) -> bool:
    """Whether a refusal, in lower case, says that the input of a request is too long.

    Such a text names the input (or tokens, a context, a length) and a limit. A limit of the answer
    does not count.
    """
    if _ANSWER_LIMIT.search(text) or _RATE.search(text):
        return False
    if any(name in text for name in OF_ANSWER) and not any(name in text for name in OF_INPUT):
        return False
    return bool(_TOO_LONG.search(text) or (_LENGTH.search(text) and _LIMIT.search(text)))


def clean(text: str, key: str) -> str:
    """Return `text` without the key, limited to TEXT_LIMIT characters."""
    safe = without_key(text, key)
    return safe if len(safe) <= TEXT_LIMIT else safe[:TEXT_LIMIT] + "..."


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait in seconds that a response's headers ask for, or None."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except ValueError:
        return None


def _wait_in_body(body: Mapping[str, Any]) -> float | None:
    """Return the wait in seconds that the body of a Google error asks for, or None."""
    details = body.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and str(detail.get("@type")).endswith("RetryInfo"):
            return _number(str(detail.get("retryDelay")).removesuffix("s"))
    return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return min(number, MOST_NUMBER) if 0 <= number < float("inf") else None

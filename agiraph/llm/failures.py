"""What the errors of services mean: the one place where they get a FailureKind.

Texts are made fit to show: the key never is in one.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any

from agiraph.foreign.http import AnswerRefused, RedirectRefused
from agiraph.llm.base import FailureKind, ProviderError

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
    ("api key not valid", "bad_key"),
)
TEXT_LIMIT = 500


class UnreadableAnswer(AnswerRefused):
    """An answer has a shape that its format does not have, or more content than an answer may."""


class ServiceError(Exception):
    """A service answered with an error: as the status of its answer, or within its stream."""

    def __init__(
        self,
        body: object,
        status_code: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.body = _inner(body)
        self.status_code = status_code
        self.headers = headers or {}
        text = self.body.get("message") or (isinstance(body, str) and body)
        status = "" if status_code is None else f" (HTTP {status_code})"
        super().__init__(str(text or f"the service failed without saying why{status}"))


def explain(error: Exception, provider: str, model: str, url: str, key: str) -> ProviderError:
    """Return the ProviderError for an exception of a call; an unknown one is `internal`.

    Exceptions of the SDKs are known by their names and attributes, which ServiceError shares:
    neither SDK is imported here.
    """
    # An SDK wraps what its HTTP client and the hooks of that client raise.
    refused = error if isinstance(error, AnswerRefused) else error.__cause__
    if isinstance(refused, AnswerRefused):
        is_redirect = isinstance(refused, RedirectRefused)
        text = f"{provider}/{model}: {clean(str(refused), key)}"
        return ProviderError("bad_request" if is_redirect else "bad_answer", text)
    names = {base.__name__ for base in type(error).__mro__}
    if "TooManyRedirects" in names | {type(error.__cause__).__name__}:
        return ProviderError("bad_request", f"{provider} redirects again and again at {url}")
    if names & {"APITimeoutError", "TimeoutException"}:
        return ProviderError("timed_out", f"{provider} did not answer in time")
    if names & {"APIConnectionError", "TransportError"}:
        cause = error.__cause__ or error
        detail = clean(str(cause) or type(cause).__name__, key)
        return ProviderError("unreachable", f"cannot reach {provider} at {url}: {detail}")
    body = _inner(getattr(error, "body", None))
    text = clean(str(body.get("message") or error), key)
    kind = _kind(getattr(error, "status_code", None), body, text)
    headers = getattr(getattr(error, "response", error), "headers", {})
    wait = retry_after(headers, time.time())
    wait = _wait_in_body(body) if wait is None else wait
    return ProviderError(kind, f"{provider}/{model}: {text}", retry_after=wait)


@contextmanager
def explained(provider: str, model: str, url: str, key: str) -> Iterator[None]:
    """Raise whatever goes wrong at a remote service as a ProviderError, which fails one call."""
    try:
        yield
    except ProviderError:
        raise
    except Exception as error:
        raise explain(error, provider, model, url, key) from error


def _inner(body: object) -> Mapping[str, Any]:
    """Return the object with `type` and `message`, which most services wrap in another."""
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    if isinstance(inner, str):
        return {"message": inner, **body}
    return inner if isinstance(inner, Mapping) else body


def _kind(status: int | None, body: Mapping[str, Any], text: str) -> FailureKind:
    for field in ("code", "type", "status"):
        kind = BODY_KINDS.get(str(body.get(field)))
        if kind is not None:
            return kind
    lower = text.lower()
    for phrase, kind in PHRASES:
        if phrase in lower:
            return kind
    if status is None:
        return "overloaded" if body else "internal"
    if status >= 500:
        return "overloaded"
    return STATUS_KINDS.get(status, "bad_request")


def clean(text: str, key: str) -> str:
    """Return `text` without the key, and at most TEXT_LIMIT characters of it."""
    safe = text.replace(key, "[key]") if key else text
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
    """Return the wait in seconds that an error of Google's asks for in its body, or None."""
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
    return number if 0 <= number < float("inf") else None

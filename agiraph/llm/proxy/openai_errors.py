"""Errors as OpenAI tells them, in Chat Completions and Responses alike."""

from agiraph.llm.base import RETRYABLE, FailureKind
from agiraph.llm.proxy.format import NEVER_AGAIN, ProxyFailure, waits

CODES: dict[FailureKind, tuple[int, str, str | None]] = {
    "bad_key": (403, "permission_error", None),
    "unknown_model": (404, "invalid_request_error", "model_not_found"),
    "bad_request": (400, "invalid_request_error", None),
    "context_too_long": (400, "invalid_request_error", "context_length_exceeded"),
    "out_of_budget": (402, "insufficient_quota", "insufficient_quota"),
    "no_credit": (402, "insufficient_quota", "insufficient_quota"),
    "rate_limited": (429, "rate_limit_error", "rate_limit_exceeded"),
    "overloaded": (503, "server_error", "server_is_overloaded"),
    "unreachable": (502, "server_error", None),
    "timed_out": (504, "server_error", None),
    "internal": (500, "server_error", None),
}
DENIALS = {401: "invalid_api_key", 403: "forbidden", 404: "not_found", 413: "request_too_large"}


def failure(kind: FailureKind, message: str, retry_after: float | None) -> ProxyFailure:
    """Return how a failed call is told."""
    status, type_, code = CODES.get(kind, CODES["internal"])
    headers = waits(retry_after) if kind in RETRYABLE else NEVER_AGAIN
    error = {"message": message, "type": type_, "param": None, "code": code}
    return ProxyFailure(status, {"error": error}, headers)


def denied(status: int, message: str) -> ProxyFailure:
    """Return how a request is refused that is no call: a wrong token, host, path or size."""
    code = DENIALS.get(status)
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return ProxyFailure(status, {"error": error}, NEVER_AGAIN)

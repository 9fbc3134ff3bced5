"""The meaning of a service's error, and a text that is fit to show."""

from datetime import timedelta
from typing import Any

import pytest

from agiraph.llm.failures import ServiceError, explain, retry_after


def kind_of(status: int | None, body: Any) -> str:
    return explain(ServiceError(body, status), "p", "m", "http://p", "sk-key").kind


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, None, "bad_key"),
        (403, {"error": {"type": "permission_error", "message": "no"}}, "bad_key"),
        (404, {"error": {"type": "not_found_error", "message": "model: x"}}, "unknown_model"),
        (400, {"code": "model_not_found", "message": "no such model"}, "unknown_model"),
        (400, {"error": {"type": "invalid_request_error", "message": "bad"}}, "bad_request"),
        (
            400,
            {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
            "context_too_long",
        ),
        (400, {"code": "context_length_exceeded", "message": "..."}, "context_too_long"),
        (413, {"error": {"type": "request_too_large", "message": "..."}}, "context_too_long"),
        (429, {"error": {"type": "rate_limit_error", "message": "..."}}, "rate_limited"),
        (429, {"code": "insufficient_quota", "message": "..."}, "no_credit"),
        (400, {"error": {"message": "Your credit balance is too low"}}, "no_credit"),
        (402, None, "no_credit"),
        (408, None, "timed_out"),
        (500, None, "overloaded"),
        (503, "<html>", "overloaded"),
        (529, {"error": {"type": "overloaded_error", "message": "..."}}, "overloaded"),
        (200, {"error": {"type": "overloaded_error", "message": "..."}}, "overloaded"),
        (None, {"message": "went wrong while streaming"}, "overloaded"),
        (None, None, "internal"),
        (422, None, "bad_request"),
    ],
)
def test_failure_kind_follows_from_status_and_body(
    status: int | None, body: Any, kind: str
) -> None:
    assert kind_of(status, body) == kind


def test_error_text_is_the_message_of_the_provider_without_the_key() -> None:
    error = ServiceError({"error": {"message": "Incorrect API key provided: sk-key."}}, 401)
    told = explain(error, "openai", "gpt", "http://p", "sk-key")
    assert str(told) == "openai/gpt: Incorrect API key provided: [key]."


def test_a_long_text_is_cut() -> None:
    error = ServiceError({"error": {"message": "x" * 100_000}}, 500)
    assert len(str(explain(error, "p", "m", "u", ""))) < 600


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 40),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_retry_after_is_read_from_the_headers(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=60.0) == seconds


@pytest.mark.parametrize("seconds", ["99999999999", "1e15", "1e300"])
def test_a_wait_of_any_length_can_be_shown(seconds: str) -> None:
    wait = retry_after({"retry-after": seconds}, 0.0)
    assert wait is not None
    assert timedelta(seconds=round(wait)).days > 0

"""Errors in the form in which the API reports them: RFC 9457 problem details."""

import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.responses import Response

from agiraph.http.errors import ApiError
from agiraph.storage.disk_space import full_message

MEDIA_TYPE = "application/problem+json"

INSUFFICIENT_STORAGE = 507
JsonObject = dict[str, Any]


def no_room(home: Path) -> ApiError:
    """Return the refusal of a call that needs disk space, for a full disk."""
    return ApiError(INSUFFICIENT_STORAGE, full_message(home))


def problem_of(error: ApiError, instance: str = "", **more: Any) -> JsonObject:
    """Return the problem details of an error; `instance` is the path of the call."""
    problem: JsonObject = {
        "type": error.type,
        "title": _title(error.status),
        "status": error.status,
        "detail": error.detail,
    }
    return problem | ({"instance": instance} if instance else {}) | more


def problem_bytes(error: ApiError, instance: str = "", **more: Any) -> bytes:
    """Return the problem details of an error as JSON, the body of an answer."""
    return json.dumps(problem_of(error, instance, **more), ensure_ascii=False).encode()


def problem_response(
    error: ApiError, instance: str = "", headers: dict[str, str] | None = None, **more: Any
) -> Response:
    """Return the HTTP answer for an error, with further `headers` and `more` problem details."""
    body = problem_bytes(error, instance, **more)
    return Response(body, error.status, headers=headers, media_type=MEDIA_TYPE)


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"

"""What both clients do with httpx: one request out, one answer or one error back."""

import ssl
from typing import Any

import httpx

from agiraph.http.api.errors import BLANK, ApiError, NotReachable
from agiraph.http.client.call import Answer, ApiCall, HttpReply

TIMEOUT_SECONDS = 30.0
BAD = 400
WHO = 401


def settings(
    url: str, token: str, timeout_seconds: float, trust: ssl.SSLContext | bool
) -> dict[str, Any]:
    """Return how an httpx client is made that talks to the gateway at `url`."""
    return {
        "verify": trust,
        "base_url": url,
        "headers": {"Authorization": f"Bearer {token}"},
        "timeout": timeout_seconds,
        "trust_env": False,
    }


def request_of(http: httpx.Client | httpx.AsyncClient, call: ApiCall[Any]) -> httpx.Request:
    """Return a call as the request that goes out."""
    headers = {"Content-Type": "application/json"} if call.content is not None else {}
    headers |= dict(call.headers or {})
    if call.key is not None:
        headers["Idempotency-Key"] = call.key
    return http.build_request(
        call.method,
        call.path,
        params=dict(call.query) if call.query else None,
        content=call.content,
        headers=headers,
        timeout=call.timeout_seconds or httpx.USE_CLIENT_DEFAULT,
    )


def answer_of(call: ApiCall[Answer], response: httpx.Response) -> Answer:
    """Return what the gateway answered; raise ApiError if it refused."""
    if response.status_code >= BAD:
        raise refusal_of(response)
    return call.read(HttpReply(response.status_code, response.headers, response.content))


def away(url: str, error: httpx.TransportError) -> NotReachable:
    """Return what it means that nothing came back."""
    return NotReachable(f"no gateway answers at {url} ({error})")


def refusal_of(response: httpx.Response) -> ApiError:
    """Return the error that an answer tells of."""
    status = response.status_code
    try:
        told = response.json()
        return ApiError(status, str(told["detail"]), str(told.get("type", BLANK)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ApiError(status, f"the gateway answered {status}")

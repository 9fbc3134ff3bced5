"""Errors of services that are asked past their SDK, in the shape that `failures.explain` reads."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx2 import Response

ERROR_BYTES = 1 << 16


class ServiceError(Exception):
    """The service answered with an error; shaped like the SDKs' own, for `failures.explain`."""

    def __init__(self, response: "Response", data: bytes) -> None:
        """Keep the answer."""
        super().__init__(f"HTTP {response.status_code}")
        self.response = response
        self.status_code = response.status_code
        try:
            self.body: object = json.loads(data)
        except (ValueError, RecursionError):
            self.body = {"message": data[:500].decode("utf-8", "replace") or str(self)}


async def beginning_of(response: "Response") -> bytes:
    """Return the beginning of an error's body, as much as anybody reads."""
    data = b""
    async for piece in response.aiter_raw():
        data += piece
        if len(data) >= ERROR_BYTES:
            break
    return data

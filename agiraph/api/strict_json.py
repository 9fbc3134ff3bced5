"""StrictRoute: a route that refuses a JSON body with values that cannot be stored.

Every router of the API uses this class of routes, so all endpoints read bodies in the same way.
"""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from agiraph.core.record import read_strict

UNPROCESSABLE = 422


class StrictRequest(Request):
    """A request whose JSON body may contain only finite numbers and limited nesting."""

    async def json(self) -> Any:
        """Return the body's value; HTTPException if the value cannot be stored."""
        try:
            return read_strict(await self.body())
        except json.JSONDecodeError:
            raise
        except ValueError as error:
            raise HTTPException(UNPROCESSABLE, f"body: {error}") from None


class StrictRoute(APIRoute):
    """A route of the API that reads its body as a StrictRequest."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the route's handler, called with a StrictRequest in place of a Request."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return answer

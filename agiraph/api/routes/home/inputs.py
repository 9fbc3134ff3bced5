"""Endpoints for input folders of other hosts, declared first, then sent in parts."""

from asyncio import to_thread
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from starlette.requests import ClientDisconnect, Request

from agiraph.api.auth.scopes import CONTROL
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import LAST_CURSOR, GatewayDep
from agiraph.api.strict_json import StrictRoute
from agiraph.core.errors import InvalidInput, Refused
from agiraph.http.api import (
    INPUT_PART_BYTES,
    ApiError,
    DeclareInputRequest,
    InputView,
    WantedFileView,
)
from agiraph.http.errors import CONFLICT, UNPROCESSABLE
from agiraph.readmodel.agents import ARCHIVE, AgentDirectory
from agiraph.storage.uploads import Upload, Uploads

TOO_LARGE: Final = 413

BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": f"The next bytes of the stream, at most {INPUT_PART_BYTES}.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

router = APIRouter(route_class=StrictRoute, tags=["inputs"])


@router.put("/inputs", dependencies=[CONTROL])
async def declare(request: DeclareInputRequest, gateway: GatewayDep) -> InputView:
    """Declare an input folder of another host; files that the home already has are not sent.

    The same folder is the same input; a repeated declaration returns the missing files. An input
    that no agent uses is removed after a week.
    """

    def declared(uploads: Uploads) -> Upload:
        uploads.forget_unused(used, gateway.clock.now())
        return uploads.declare(request.name, request.files)

    archive = gateway.home.agents / ARCHIVE
    agents = [*gateway.agents.all(), *AgentDirectory(gateway.home, archive).all()]
    used = {Path(agent.input) for agent in agents if agent.input}
    async with gateway.uploads_turn:
        upload = await _tried(declared, gateway)
    wanted = [WantedFileView(path=one.path, offset=offset) for one, offset in upload.wanted]
    return _view(upload).model_copy(update={"wanted": tuple(wanted)})


@router.put("/inputs/{input}", dependencies=[CONTROL], openapi_extra=BODY)
async def send_part(
    input: str,
    request: Request,
    gateway: GatewayDep,
    at: Annotated[int, Query(ge=0, le=LAST_CURSOR, description="Its first byte's place.")],
) -> InputView:
    """Store the next missing bytes of a declared input folder.

    409 if their position is wrong, or the gateway has restarted: declare the folder again.
    """
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > INPUT_PART_BYTES:
                raise ApiError(TOO_LARGE, f"a part may have at most {INPUT_PART_BYTES} bytes")
    except ClientDisconnect:
        raise ApiError(400, "the part did not come whole: nothing of it was kept") from None
    async with gateway.uploads_turn:
        return _view(await _tried(lambda uploads: uploads.take(input, at, bytes(data)), gateway))


async def _tried(act: Callable[[Uploads], Upload], gateway: Gateway) -> Upload:
    """Return the result of `act` on the uploads, called in a thread.

    Raises ApiError 422 for an invalid input, 409 for a wrong position.
    """
    try:
        return await to_thread(act, gateway.uploads)
    except InvalidInput as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None
    except Refused as error:
        raise ApiError(CONFLICT, str(error)) from None


def _view(upload: Upload) -> InputView:
    missing = upload.missing
    return InputView(
        id=upload.id,
        path=None if missing else str(upload.path),
        missing=missing,
        received=upload.received,
    )

"""Endpoints for the settings files of the home, and for the report of `agiraph doctor`.

The modules that read the files import much that is not needed otherwise, so the first call imports
them.
"""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header

from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.routes.dependencies import GatewayDep
from agiraph.api.strict_json import StrictRoute
from agiraph.http.api import (
    DoctorView,
    EditSettingsRequest,
    SavedSettingsView,
    SettingsCheckView,
    SettingsContentView,
    SettingsFileView,
)

router = APIRouter(route_class=StrictRoute, tags=["settings"])

IfMatch = Annotated[
    str | None, Header(description="The `etag` of the file that is changed; without it 428.")
]


@router.get("/settings", dependencies=[CONTROL])
async def files(gateway: GatewayDep) -> list[SettingsFileView]:
    """List the settings files of this home, with the problems of each."""
    from agiraph.api.settings import editing

    return await asyncio.to_thread(editing.files, gateway.home)


@router.get("/settings/{file}", dependencies=[CONTROL])
async def content(file: str, gateway: GatewayDep) -> SettingsContentView:
    """Show a settings file: its text, the values in force with their sources, its schema."""
    from agiraph.api.settings import editing

    return await asyncio.to_thread(editing.content, gateway.home, file, gateway.config)


@router.post("/settings/{file}/check", dependencies=[CONTROL])
async def check(file: str, body: EditSettingsRequest, gateway: GatewayDep) -> SettingsCheckView:
    """Show the effect of a change on a settings file and its problems."""
    from agiraph.api.settings import editing

    return await asyncio.to_thread(editing.check, gateway.home, file, body)


@router.put("/settings/{file}", dependencies=[CONTROL])
async def save(
    file: str, body: EditSettingsRequest, gateway: GatewayDep, if_match: IfMatch = None
) -> SavedSettingsView:
    """Change a settings file unless it was changed meanwhile; 422 lists its problems.

    It is checked as a whole before anything is written; the previous version is kept.
    """
    from agiraph.api.settings import editing

    async with gateway.settings_turn:
        saved = await asyncio.to_thread(editing.save, gateway.home, file, body, if_match)
    if saved.diff:
        gateway.log.info("settings changed", file=file)
    return saved


@router.get("/doctor", dependencies=[READ])
async def doctor(gateway: GatewayDep, afresh: bool = False) -> DoctorView:
    """Check this machine and this home as `agiraph doctor` does, or show the recent result.

    `afresh` checks again. The checks cost no money.
    """
    return await gateway.doctor.report(afresh=afresh)

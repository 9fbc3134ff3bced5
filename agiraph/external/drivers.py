"""The table of drivers: which way of speaking is spoken by what."""

from collections.abc import Callable

from agiraph.core.errors import InvalidInput
from agiraph.external.acp import AcpDriver
from agiraph.external.claude import ClaudeDriver
from agiraph.external.client_filesystem import FolderFilesystem
from agiraph.external.codex import CodexDriver
from agiraph.external.driver import Driver
from agiraph.external.gemini import GeminiDriver
from agiraph.external.launching import AgentLaunch
from agiraph.external.opencode import OpenCodeDriver
from agiraph.external.plain import PlainDriver


def _acp_driver(job: AgentLaunch) -> Driver:
    return AcpDriver(job, FolderFilesystem(job.folder, (job.home, *job.readable)))


DRIVERS: dict[str, Callable[[AgentLaunch], Driver]] = {
    "claude": ClaudeDriver,
    "codex": CodexDriver,
    "gemini": GeminiDriver,
    "opencode": OpenCodeDriver,
    "plain": PlainDriver,
    "acp": _acp_driver,
}


def driver_for(job: AgentLaunch) -> Driver:
    """Return the driver of this start; InvalidInput for one that this installation lacks."""
    name = job.agent.preset.driver
    if name not in DRIVERS:
        raise InvalidInput(f"the driver '{name}' is not here (possible: {', '.join(DRIVERS)})")
    return DRIVERS[name](job)

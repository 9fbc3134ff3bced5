"""The table of drivers: which way of speaking is spoken by what."""

from collections.abc import Callable

from agiraph.errors import InvalidInput
from agiraph.outside.acp import AcpDriver
from agiraph.outside.claude import ClaudeDriver
from agiraph.outside.codex import CodexDriver
from agiraph.outside.driver import Driver
from agiraph.outside.gemini import GeminiDriver
from agiraph.outside.launching import Job
from agiraph.outside.opencode import OpenCodeDriver
from agiraph.outside.plain import PlainDriver
from agiraph.outside.served import FolderFiles


def _acp_driver(job: Job) -> Driver:
    return AcpDriver(job, FolderFiles(job.folder, (job.home, *job.readable)))


DRIVERS: dict[str, Callable[[Job], Driver]] = {
    "claude": ClaudeDriver,
    "codex": CodexDriver,
    "gemini": GeminiDriver,
    "opencode": OpenCodeDriver,
    "plain": PlainDriver,
    "acp": _acp_driver,
}


def driver_for(job: Job) -> Driver:
    """Return the driver of this start; InvalidInput for one that this installation lacks."""
    name = job.agent.preset.driver
    if name not in DRIVERS:
        raise InvalidInput(f"the driver '{name}' is not here (possible: {', '.join(DRIVERS)})")
    return DRIVERS[name](job)

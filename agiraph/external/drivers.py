"""The table of drivers: the class for each `driver` name of a preset."""

from agiraph.external.acp import AcpDriver
from agiraph.external.claude import ClaudeDriver
from agiraph.external.driver import Driver
from agiraph.external.launching import AgentLaunch
from agiraph.external.one_shot import CodexDriver, GeminiDriver, OpenCodeDriver, PlainDriver
from agiraph.external.preset import DriverName

DRIVERS: dict[DriverName, type[Driver]] = {
    "claude": ClaudeDriver,
    "codex": CodexDriver,
    "gemini": GeminiDriver,
    "opencode": OpenCodeDriver,
    "plain": PlainDriver,
    "acp": AcpDriver,
}


def driver_for(launch: AgentLaunch) -> Driver:
    """Return a new driver for a start, by the `driver` of the agent's preset."""
    return DRIVERS[launch.agent.preset.driver](launch)

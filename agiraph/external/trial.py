"""Trial: whether an agent's own sandbox works here, found out by running something in it.

Codex shuts its commands in by user namespaces. Where the kernel forbids them, as Docker does by
default, each of its commands fails, and Codex goes on without any.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from agiraph.core.config import SandboxConfig
from agiraph.core.errors import InvalidInput
from agiraph.external.preset import ExternalAgent, load_agents, meant_by
from agiraph.tools.sandbox.sandbox import Sandbox, standing_wall

PROGRAM = "{program}"
TRIAL_SECONDS = 10.0
SHOWN_CHARACTERS = 300
NO_REASONS = ("WARNING:", "note:", "stack backtrace:")
USAGE_ERROR = 2


def check_agent_command(
    agent_command: str | None, home: Path, config: SandboxConfig, environ: Mapping[str, str]
) -> None:
    """Raise InvalidInput unless an autonomous worker can be run with this command here."""
    agent = meant_by(agent_command or "", load_agents(home), environ)
    agent.required()
    if agent.preset.trial:
        require_shut_in(agent, standing_wall(config), environ)


def why_not_shut_in(agent: ExternalAgent, wall: Sandbox, environ: Mapping[str, str]) -> str:
    """Return why this agent cannot work here, and what can be done, '' if it can.

    Behind a sandbox of Agiraph's it needs none of its own. Blocks for some tenths of a second the
    first time in a process.
    """
    if wall.is_up or not agent.preset.trial or agent.program is None:
        return ""
    words = [agent.program if word == PROGRAM else word for word in agent.preset.trial]
    problem = _tried(tuple(words), environ.get("PATH", os.defpath))
    if not problem:
        return ""
    advice = f" ({wall.advice})" if wall.advice else ""
    return (
        f"its own sandbox does not work ({problem}), and there is none of Agiraph's: "
        f"{wall.why_down}{advice}. To let it run in none, see docs/outside.md"
    )


def require_shut_in(agent: ExternalAgent, wall: Sandbox, environ: Mapping[str, str]) -> None:
    """Raise InvalidInput with the reason if this agent cannot work here."""
    if why := why_not_shut_in(agent, wall, environ):
        raise InvalidInput(f"the outside agent '{agent.name}' cannot work here: {why}")


@lru_cache(maxsize=16)
def _tried(command: tuple[str, ...], path: str) -> str:
    """Return why a trial failed, '' if it did not, or if an older version knows no such trial."""
    program = shutil.which(command[0], path=path)
    if program is None:
        return f"{command[0]} is not installed"
    with tempfile.TemporaryDirectory() as home:
        temporary = os.path.join(home, "tmp")
        os.mkdir(temporary)  # plain: of this trial alone
        try:
            ended = subprocess.run(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TRIAL_SECONDS,
                check=False,
                cwd=home,
                env={"PATH": path, "HOME": home, "TMPDIR": temporary},
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    if ended.returncode in (0, USAGE_ERROR):
        return ""
    lines = ended.stderr.decode("utf-8", "replace").splitlines()
    said = [line.strip() for line in lines if line.strip() and not line.startswith(NO_REASONS)]
    return said[-1][:SHOWN_CHARACTERS] if said else f"exit code {ended.returncode}"

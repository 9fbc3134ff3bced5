"""The outcome of a run: its result, what was spent, and the recording of its model calls."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import Usage
from agiraph.http.api import AgentView, ApiError, NotReachable
from agiraph.storage.files import is_file, open_file
from agiraph.storage.home import Home
from cli.commands.files import pieces
from cli.progress import RunProgress
from cli.screen import TerminalScreen

if TYPE_CHECKING:
    from agiraph.http.client import Client


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run, as `--json` prints it."""

    agent: str
    run: str | None
    status: str
    result: str | None
    output: str | None
    usage: Usage
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "agent": self.agent,
            "run": self.run,
            "status": self.status,
            "result": self.result,
            "output": self.output,
            "usage": self.usage.model_dump(mode="json") | {"tokens": self.usage.tokens},
            "seconds": round(self.seconds, 3),
        }


def outcome_of(
    home: Path, client: "Client", agent: AgentView, progress: RunProgress, seconds: float
) -> RunOutcome:
    """Return the outcome of an agent's run, its result read over the API."""
    output = Home(home).agent(agent.id).run(agent.run).output if agent.run else None
    result = _result(client, agent)
    is_there = output is not None and is_file(output)
    return RunOutcome(
        agent.id,
        agent.run,
        agent.status,
        result,
        str(output) if is_there else None,
        _usage(client, agent, progress),
        seconds,
    )


def _result(client: "Client", agent: AgentView) -> str | None:
    """Return the content of `_output.md`, else the result in the agent's record."""
    try:
        found = client.read_file(agent.id, "_output.md", run=agent.run)
        return b"".join(pieces(client, agent.id, found, agent.run)).decode("utf-8", "replace")
    except (ApiError, NotReachable):
        return agent.result


def _usage(client: "Client", agent: AgentView, progress: RunProgress) -> Usage:
    """Return the usage in the broker's ledger, else the sum over the events."""
    try:
        return client.usage(agent=agent.id).total
    except (ApiError, NotReachable):
        return progress.usage


def copy_recording(made: Path, wanted: Path, screen: TerminalScreen) -> None:
    """Copy a run's recording to `wanted`, readable only by its owner; report it, or why not."""
    if not is_file(made):
        screen.note(f"nothing was recorded: {made} does not exist", "bad")
        return
    try:
        with os.fdopen(open_file(made, anyones=True), "rb") as source:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            descriptor = os.open(wanted, flags, 0o600)  # plain: where the person wants it
            with os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(source, file)
    except OSError as error:
        raise InvalidInput(
            f"{wanted}: cannot be written ({error.strerror}); the recording is {made}"
        ) from None
    screen.note(f"recorded: {wanted}")

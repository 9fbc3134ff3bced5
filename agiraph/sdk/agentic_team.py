"""AgenticTeamMCPClient: the Agentic Team's tools of our MCP server, called in this process.

The server is in memory: no other program is started for it, and no port is opened. It uses the
supervisor of its home, like the rest of the Python API.
"""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from agiraph import __version__
from agiraph.core.errors import InvalidInput, Unavailable
from agiraph.http.api import RoleTeamRunView, RoleTeamView
from agiraph.http.mcp_server.clients import ApiClients
from agiraph.http.mcp_server.results import (
    RoleAgentsResult,
    RoleHealthResult,
    RoleValidationResult,
)
from agiraph.sdk.supervision import supervised
from agiraph.storage.home import home_at
from agiraph.storage.project_file import chosen_home

if TYPE_CHECKING:
    from mcp import Client

OnProgress = Callable[[str], Awaitable[None] | None]
Result = TypeVar("Result", bound=BaseModel)


class AgenticTeamMCPClient:
    """A client of the Agentic Team, over the Model Context Protocol in memory.

    `home` is a folder, by default the home of the command line; `model` is provider/model of the
    roles that name no agent. Each call has its own connection, and its supervisor as `Runtime`
    does; in an `async with` block one connection and one supervisor are kept. Needs `agiraph[mcp]`.
    """

    def __init__(
        self, *, home: str | os.PathLike[str] | None = None, model: str | None = None
    ) -> None:
        self.home = home_at(home) if home is not None else chosen_home()
        self._model = model
        self._kept: AsyncExitStack | None = None
        self._client: Client | None = None

    async def execute_task(
        self,
        task: str,
        max_turns: int | None = None,
        *,
        offline: bool = False,
        input: str | os.PathLike[str] | None = None,
        wait_seconds: float = 3600,
        on_progress: OnProgress | None = None,
    ) -> RoleTeamRunView:
        """Give a task to the team, and return its turns and its `final_output`.

        `on_progress` is called with a description of each turn. A team that has not ended after
        `wait_seconds`, or whose call is cancelled, continues: `turns` shows its state. Raises
        InvalidInput with the server's message for invalid arguments.
        """
        if not task.strip():
            raise InvalidInput("the task is empty")
        arguments = {
            "task": task,
            "max_turns": max_turns,
            "model": self._model,
            "offline": offline,
            "input_dir": None if input is None else str(Path(input).absolute()),
            "wait_seconds": wait_seconds,
        }

        async def progress(_done: float, _of: float | None, words: str | None) -> None:
            told = on_progress(words or "") if on_progress is not None else None
            if inspect.isawaitable(told):
                await told

        return await self._call("execute", RoleTeamRunView, arguments, progress)

    async def turns(self, agent: str) -> RoleTeamRunView:
        """Return the turns of an agent's team."""
        return await self._call("turns", RoleTeamRunView, {"agent": agent})

    async def list_agents(self) -> RoleAgentsResult:
        """Return the roles, and the agent of each role."""
        return await self._call("list_agents", RoleAgentsResult, {"model": self._model})

    async def config(self) -> RoleTeamView:
        """Return the team: its roles, its lead and its limits."""
        return await self._call("config", RoleTeamView)

    async def validate(self, *, offline: bool = False) -> RoleValidationResult:
        """Return whether each role has an agent that can work here."""
        arguments = {"offline": offline, "model": self._model}
        return await self._call("validate", RoleValidationResult, arguments)

    async def health(self) -> RoleHealthResult:
        """Return whether the team can work, with the network and without."""
        return await self._call("health", RoleHealthResult, {"model": self._model})

    async def __aenter__(self) -> "AgenticTeamMCPClient":
        """Open a connection and a supervisor for the block; return this client."""
        async with AsyncExitStack() as stack:
            self._client = await stack.enter_async_context(self._connected())
            self._kept = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the connection, and stop the supervisor unless it is used by others."""
        kept, self._kept, self._client = self._kept, None, None
        if kept is not None:
            await kept.aclose()

    async def _call(
        self,
        tool: str,
        kind: type[Result],
        arguments: dict[str, Any] | None = None,
        progress: Any = None,
    ) -> Result:
        async with AsyncExitStack() as stack:
            client = self._client
            if client is None:
                client = await stack.enter_async_context(self._connected())
            answer = await client.call_tool(
                f"agentic_team_{tool}", arguments or {}, progress_callback=progress
            )
        if answer.is_error:
            said = "\n".join(getattr(part, "text", "") for part in answer.content)
            raise InvalidInput(said.removeprefix(f"Error executing tool agentic_team_{tool}: "))
        return kind.model_validate(answer.structured_content)

    @asynccontextmanager
    async def _connected(self) -> "AsyncIterator[Client]":
        """Yield an MCP client of a server in this process.

        Its home has a supervisor in the block.
        """
        try:
            from mcp import Client
        except ImportError:
            raise Unavailable("the MCP SDK is not installed: pip install 'agiraph[mcp]'") from None
        from agiraph.http.mcp_server.toolset import make_server

        supervisor = supervised(self.home)
        await asyncio.to_thread(supervisor.__enter__)
        clients = ApiClients(self.home, None, is_shared=False)
        try:
            async with Client(make_server(clients, __version__)) as client:
                yield client
        finally:
            await clients.close()
            await asyncio.to_thread(supervisor.__exit__, None, None, None)

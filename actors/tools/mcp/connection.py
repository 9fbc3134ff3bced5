"""McpConnection: connects to a server when it is needed, and stores the catalog of its tools.

The server is started with the first request, and again with the next request after it has died. The
catalog is stored in the home for all processes that build a toolbox; this process is its writer.
"""

import asyncio
import importlib.util
from collections import deque
from collections.abc import Mapping

from actors.runtime.runtime import Runtime
from actors.tools.mcp.command_line import command_of
from actors.tools.mcp.mcp_calls import list_all
from actors.tools.mcp.pipes import over_pipes
from actors.tools.mcp.session import McpSession, ServerFailed
from actors.tools.mcp.transports import Transport, over_http
from agiraph.agent.summary import one_line
from agiraph.core.errors import Refused
from agiraph.core.naming import error_line
from agiraph.mcp.catalog import (
    ServedTool,
    ToolCatalog,
    cut_instructions,
    in_words,
    make_catalog,
)
from agiraph.mcp.secrets import filled_in, read_secrets, redacted, secrets_of
from agiraph.settings.mcp_servers import McpServerConfig, fingerprint
from agiraph.storage.files import replace_file

RETRY_SECONDS = 2.0
"""A server that could not be started is not tried again sooner: requests fail at once."""
LIST_SECONDS = 5.0
"""The shortest time between two listings: a server may report a change after each of them."""
LINE_LIMIT = 2000
LINES_SHOWN = 3
SHOWN_OF_LINE = 200
"""The shown characters of each of the last LINES_SHOWN lines of a server that does not start."""
NO_SDK = "the MCP SDK is not installed: pip install 'agiraph[mcp]'"


class McpConnection:
    """The connection with one server, and its catalog.

    `environ` contains the variables that the server's settings name.
    """

    def __init__(
        self, runtime: Runtime, server: str, settings: McpServerConfig, environ: Mapping[str, str]
    ) -> None:
        self._runtime = runtime
        self._server = server
        self._settings = settings
        self._environ = environ
        self._file = runtime.home.system.tools / f"{server}.json"
        self._session: McpSession | None = None
        self._connecting = asyncio.Lock()
        self._failed_at = float("-inf")
        self._changed = asyncio.Event()
        self._secrets: tuple[str, ...] = ()
        self._said: deque[str] = deque(maxlen=LINES_SHOWN)
        self.catalog = ToolCatalog(server=server)

    async def session(self) -> McpSession:
        """Return a connected session. Raises Refused if the server cannot be used."""
        async with self._connecting:
            if self._session is not None and self._session.is_up:
                return self._session
            clock = self._runtime.clock
            if self.catalog.problem and clock.monotonic() < self._failed_at + RETRY_SECONDS:
                raise Refused(self.catalog.problem)
            try:
                return await self._connect()
            except (Refused, OSError) as error:
                self._failed_at = clock.monotonic()
                problem = self._unusable(error)
                said = "; it wrote: ".join(filter(None, (self.said_in(error), self._last_words())))
                self._store(ToolCatalog(server=self._server, problem=problem, said=said))
                raise Refused(problem) from None

    async def current_catalog(self, *, refresh: bool) -> ToolCatalog:
        """Return the server's catalog; `problem` in it says why its tools cannot be used."""
        try:
            session = await self.session()
        except Refused:
            return self.catalog  # it contains the problem
        try:
            if refresh or self._changed.is_set():
                await self._list_tools(session)
        except Refused as error:
            update = {"problem": self._unusable(error), "said": self.said_in(error)}
            return self.catalog.model_copy(update=update)
        return self.catalog

    def tool(self, tool: str) -> ServedTool:
        """Return the tool with this name at the server. Raises Refused if there is none."""
        found = self.catalog.tool(tool)
        if found is None:
            raise Refused(f"server '{self._server}' has no tool '{tool}' now")
        return found

    def redacted(self, text: str) -> str:
        """Return a text without this server's secrets."""
        return redacted(text, self._secrets)

    def _unusable(self, error: Exception) -> str:
        return self.redacted(f"server '{self._server}' cannot be used: {error}")

    def said_in(self, error: Exception) -> str:
        """Return the server's own text in an error as one short line, '' if there is none."""
        return error_line(self.redacted(error.said)) if isinstance(error, ServerFailed) else ""

    def _last_words(self) -> str:
        """Return the last lines on stderr of the server, joined by ' / '."""
        return " / ".join(self._said)

    async def close(self) -> None:
        """Close the connection, which ends a server's local process."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def report_change(self) -> None:
        """Record that the server's tools may have changed."""
        self._changed.set()

    async def follow_changes(self) -> None:
        """List the tools again after each report of a change, at most every LIST_SECONDS; forever.

        All reports within that time cause one further listing.
        """
        while True:
            await self._changed.wait()
            session = self._session
            if session is None or not session.is_up:
                self._changed.clear()
                continue
            try:
                await self._list_tools(session)
            except Refused as error:
                reason, said = str(error), self.said_in(error) or None
                self._runtime.log.warning("its tools could not be listed", reason=reason, said=said)
            await asyncio.sleep(LIST_SECONDS)

    async def _connect(self) -> McpSession:
        await self.close()
        self._said.clear()
        session = McpSession(self._server, self.report_change, self._log_line)
        await session.open(self._transport(session), self._runtime.config.mcp.start_seconds)
        try:
            await self._list_tools(session)
        except BaseException:
            await session.close()
            raise
        self._session = session
        self._runtime.log.info("connected", tools=len(self.catalog.tools))
        return session

    def _transport(self, session: McpSession) -> Transport:
        secrets = read_secrets(self._runtime.home.system.secrets)
        known = {**secrets, **self._environ}
        self._secrets = secrets_of(self._settings, self._environ, secrets)
        settings = filled_in(self._server, self._settings, known)
        if importlib.util.find_spec("mcp") is None:
            raise Refused(NO_SDK)
        if settings.url:
            return over_http(settings.url, settings.headers, session.reject)
        command = command_of(settings, self._environ, self._runtime.home.path)
        return over_pipes(command, self._log_line)

    def _log_line(self, line: str) -> None:
        text = self.redacted(line)[:LINE_LIMIT]
        self._runtime.log.info("its server says", line=text)
        if text.strip():
            self._said.append(one_line(text, SHOWN_OF_LINE))

    async def _list_tools(self, session: McpSession) -> None:
        """Create and store the catalog. Raises Refused if the server does not list its tools."""
        self._changed.clear()
        client = session.client
        offers = client.server_capabilities
        seconds = self._runtime.config.mcp.start_seconds
        try:
            async with asyncio.timeout(seconds):
                session.left_out = ()
                listed = await list_all(session, "tools") if offers.tools else []
        except TimeoutError:
            raise Refused(f"it did not list its tools within {seconds:g} s") from None
        about = client.server_info
        tools, left_out = make_catalog(
            self._server,
            self._settings,
            listed,
            has_resources=offers.resources is not None,
            has_prompts=offers.prompts is not None,
        )
        left_out = (*session.left_out, *left_out)
        if left_out:
            what = self.redacted(in_words(left_out)[:LINE_LIMIT])
            self._runtime.log.warning("tools are left out", what=what)
        self._store(
            ToolCatalog(
                server=self._server,
                title=error_line(about.title or about.name) if about else "",
                version=error_line(about.version) if about else "",
                instructions=cut_instructions(client.instructions or ""),
                tools=tools,
                left_out=left_out,
            )
        )

    def _store(self, catalog: ToolCatalog) -> None:
        found_at = self._runtime.clock.now()
        update = {"settings": fingerprint(self._settings), "found_at": found_at}
        self.catalog = catalog.model_copy(update=update)
        replace_file(self._file, self.catalog.model_dump_json() + "\n")

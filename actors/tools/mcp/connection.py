"""McpConnection: has the connection with a server when it is needed, and knows what the server
offers.

The server is started with the first question, and again with the next one after it has died. What
it offers is written into the home for everybody who builds a toolbox; this process is its writer.
"""

import asyncio
import os
from collections.abc import Mapping

from actors.runtime.background_tasks import BackgroundTasks
from actors.runtime.runtime import Runtime
from actors.tools.mcp.command_line import command_of
from actors.tools.mcp.mcp_calls import list_all
from actors.tools.mcp.session import McpSession
from actors.tools.mcp.transports import Transport, over_http, over_pipes
from agiraph.core.errors import Refused
from agiraph.core.mcp_settings import McpServerConfig, fingerprint
from agiraph.mcp.catalog import ServedTool, ToolCatalog, cut_instructions, make_catalog
from agiraph.mcp.secrets import blotted, filled_in, read_secrets, secrets_of
from agiraph.storage.files import replace_file

AGAIN_SECONDS = 2.0
"""A server that could not be started is not tried again sooner: its askers are told at once."""
LINE_LIMIT = 2000
NO_SDK = "the MCP SDK is not installed: pip install 'agiraph[mcp]'"


class McpConnection:
    """The connection with one server, and its catalog."""

    def __init__(
        self, runtime: Runtime, server: str, settings: McpServerConfig, environ: Mapping[str, str]
    ) -> None:
        """Keep `server`; `environ` holds the variables that its settings name."""
        self._runtime = runtime
        self._server = server
        self._settings = settings
        self._environ = environ
        self._file = runtime.home.system.tools / f"{server}.json"
        self._link: McpSession | None = None
        self._turn = asyncio.Lock()
        self._failed_at = float("-inf")
        self._changed = asyncio.Event()
        self._secrets: tuple[str, ...] = ()
        self._side = BackgroundTasks()
        self.catalog = ToolCatalog(server=server)

    async def link(self) -> McpSession:
        """Return a connection that stands; raises Refused with why there is none."""
        async with self._turn:
            if self._link is not None and self._link.is_up:
                return self._link
            now = self._runtime.clock.monotonic()
            if self.catalog.problem and now < self._failed_at + AGAIN_SECONDS:
                raise Refused(self.catalog.problem)
            try:
                return await self._connected()
            except (Refused, OSError) as error:
                self._failed_at = self._runtime.clock.monotonic()
                problem = self.told(f"server '{self._server}' cannot be used: {error}")
                self._found(ToolCatalog(server=self._server, problem=problem))
                raise Refused(problem) from None

    async def known(self, *, afresh: bool) -> ToolCatalog:
        """Return what the server offers, or why that is not known; never raises Refused."""
        try:
            link = await self.link()
        except Refused:
            return self.catalog  # it tells why
        try:
            if afresh or self._changed.is_set():
                await self._look(link)
        except Refused as error:
            problem = self.told(f"server '{self._server}' cannot be used: {error}")
            return self.catalog.model_copy(update={"problem": problem})
        return self.catalog

    def tool(self, tool: str) -> ServedTool:
        """Return the tool that the server calls so; raises Refused for one there is not."""
        found = self.catalog.tool(tool)
        if found is None:
            raise Refused(f"server '{self._server}' has no tool '{tool}' now")
        return found

    def told(self, text: str) -> str:
        """Return a text without this server's secrets."""
        return blotted(text, self._secrets)

    async def close(self) -> None:
        """Let the server go."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()
        await self._side.stop()

    async def watch(self) -> None:
        """Look again whenever the server says that its tools have changed; returns never."""
        while True:
            await self._changed.wait()
            link = self._link
            if link is None or not link.is_up:
                self._changed.clear()
                continue
            try:
                await self._look(link)
            except Refused as error:
                self._runtime.log.warning("its tools could not be listed", reason=str(error))

    # --- connecting ------------------------------------------------------------------------------

    async def _connected(self) -> McpSession:
        before, self._link = self._link, None
        if before is not None:
            await before.close()
        link = McpSession(self._server, self._changed.set)
        try:
            await link.open(self._transport(link), self._runtime.config.mcp.start_seconds)
        except ModuleNotFoundError as error:
            raise Refused(NO_SDK) from error
        try:
            await self._look(link)
        except BaseException:
            await link.close()
            raise
        self._link = link
        self._runtime.log.info("connected", tools=len(self.catalog.tools))
        return link

    def _transport(self, link: McpSession) -> Transport:
        secrets = read_secrets(self._runtime.home.system.secrets)
        known = {**secrets, **self._environ}
        self._secrets = secrets_of(self._settings, self._environ, secrets)
        settings = filled_in(self._server, self._settings, known)
        _require_sdk()
        if settings.url:
            return over_http(settings.url, settings.headers, link.reject)
        command = command_of(settings, self._environ, self._runtime.home.path)
        return over_pipes(command, self._errors())

    def _errors(self) -> int:
        """Return a descriptor; what a server writes into it goes into our log, line by line."""
        read, write = os.pipe()
        self._side.start(self._log_lines(read))
        return write

    async def _log_lines(self, read: int) -> None:
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", 0)
        )
        try:
            while True:
                try:
                    line = await reader.readline()
                except ValueError:
                    continue  # longer than any line for people
                if not line:
                    return
                said = line.decode(errors="replace").rstrip()[:LINE_LIMIT]
                self._runtime.log.info("its server says", line=self.told(said))
        finally:
            transport.close()

    # --- the catalog -----------------------------------------------------------------------------

    async def _look(self, link: McpSession) -> None:
        """Have the server list its tools; raises Refused if it does not within its time."""
        self._changed.clear()
        client = link.client
        offers = client.server_capabilities
        seconds = self._runtime.config.mcp.start_seconds
        try:
            async with asyncio.timeout(seconds):
                listed = await list_all(link, "tools") if offers.tools else []
        except TimeoutError:
            raise Refused(f"it did not list its tools within {seconds:g} s") from None
        about = client.server_info
        self._found(
            ToolCatalog(
                server=self._server,
                title=(about.title or about.name) if about else "",
                version=about.version if about else "",
                instructions=cut_instructions(client.instructions or ""),
                tools=make_catalog(
                    self._server,
                    self._settings,
                    listed,
                    has_resources=offers.resources is not None,
                    has_prompts=offers.prompts is not None,
                ),
            )
        )

    def _found(self, catalog: ToolCatalog) -> None:
        """Keep what was found out, for those that build a toolbox, too."""
        found_at = self._runtime.clock.now()
        update = {"settings": fingerprint(self._settings), "found_at": found_at}
        self.catalog = catalog.model_copy(update=update)
        replace_file(self._file, self.catalog.model_dump_json() + "\n")


def _require_sdk() -> None:
    """Import the SDK, before anything is started that would need it; raises Refused."""
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError:
        raise Refused(NO_SDK) from None

"""ReaderProcess: a separate process for parsing untrusted content, called over its pipes.

It is started by the first request, exits with its parent, and is killed when it takes too long or
when the request is cancelled; the next request starts another process. It runs in the sandbox, if
that works.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgpack

import agiraph
from agiraph.core.errors import Refused
from agiraph.tools.sandbox.own_code import own_code
from agiraph.tools.sandbox.sandbox import Sandbox

JsonObject = dict[str, Any]
HEAD_BYTES = 4
LONGEST_ANSWER = 64 * 1024 * 1024
SEEN = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class ReaderProcess:
    """One process running `agiraph.tools.web.reader`; requests are serialised.

    The process gets no key from `environ`; in a `sandbox` it sees no private file, nothing of this
    `home`.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        sandbox: Sandbox | None = None,
        home: Path | None = None,
        memory_mb: int = 0,
        *,
        has_network: bool = False,
    ) -> None:
        self._wall, self._home, self._has_network = sandbox, home, has_network
        self._environ = {
            name: value
            for name, value in environ.items()
            if name in SEEN or name.upper() in PROXIES or name.startswith("PYTHONDONT")
        } | {"PYTHONPATH": str(Path(agiraph.__file__).parent.parent)}
        self._memory_mb = memory_mb
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process's id, None before the first request."""
        return self._process.pid if self._process is not None else None

    async def ask(self, request: JsonObject, within_seconds: float) -> JsonObject:
        """Return the reader's answer. Raises Refused if there is none within the time."""
        async with self._turn:
            try:
                async with asyncio.timeout(within_seconds):
                    answer = await self._exchange(request)
            except TimeoutError:
                await self.close()
                raise Refused(f"it takes longer than {within_seconds:g} s") from None
            except (EOFError, ConnectionError):
                await self.close()
                raise Refused("its reader crashed") from None
            except BaseException:
                await self.close()  # no code would read the answer
                raise
        if not answer.pop("ok"):
            raise Refused(str(answer["reason"]))
        return answer

    async def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.wait()

    async def _exchange(self, request: JsonObject) -> JsonObject:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await self._begun()
        assert process.stdin is not None
        assert process.stdout is not None
        data = msgpack.packb(request)
        process.stdin.write(len(data).to_bytes(HEAD_BYTES, "big") + data)
        await process.stdin.drain()
        size = int.from_bytes(await process.stdout.readexactly(HEAD_BYTES), "big")
        if size > LONGEST_ANSWER:
            raise EOFError("an answer too long to be one")
        answer: JsonObject = msgpack.unpackb(await process.stdout.readexactly(size))
        return answer

    async def _begun(self) -> asyncio.subprocess.Process:
        argv = [sys.executable, "-P", "-m", "agiraph.tools.web.reader", str(self._memory_mb)]
        if self._wall is not None:
            argv = self._wall.around_helper(
                argv, readable=own_code(), home=self._home, has_network=self._has_network
            )
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=self._environ,
            cwd=os.path.sep,
        )

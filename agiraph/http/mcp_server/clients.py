"""ApiClients: clients of the HTTP API that use only the caller's own token."""

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

from agiraph.http.client import AsyncClient
from agiraph.http.discovery import read_cert, read_gateway_address
from agiraph.http.errors import ApiError
from agiraph.http.remotes import Remote

KEPT = 16
NOT_ALLOWED = 401
SCHEME = "bearer "


class ApiClients:
    """The clients of one home, one for each token; the last few are kept open.

    They use `token`, or the home's own if that is None. `is_shared`: callers send their own tokens,
    and no other token is used for them. With a `remote` the home is on another machine; `token` is
    then set.
    """

    def __init__(
        self, home: Path, token: str | None, *, is_shared: bool, remote: Remote | None = None
    ) -> None:
        self._home = home
        self._remote = remote
        self._token = token
        self._is_shared = is_shared
        self._kept: OrderedDict[tuple[str, str], AsyncClient] = OrderedDict()
        self._own: AsyncClient | None = None

    async def client(self, headers: Mapping[str, str] | None) -> AsyncClient:
        """Return the API client for the MCP caller with these HTTP headers.

        `headers` are None for a caller over stdio. Raises NotReachable, ApiError.
        """
        if not self._is_shared and self._token is None:
            self._own = self._own or AsyncClient.for_home(self._home)
            return self._own
        token = bearer_of(headers or {}) if self._is_shared else self._token
        if not token:
            raise ApiError(NOT_ALLOWED, "no token: send `Authorization: Bearer ...`")
        remote = self._remote
        url = remote.url if remote is not None else read_gateway_address(self._home)[0]
        found = self._kept.pop((url, token), None)
        if found is None and remote is not None:
            found = AsyncClient(url, token, ca=remote.ca or None)
        elif found is None:
            found = AsyncClient(url, token, cert=read_cert(self._home))
        self._kept[url, token] = found
        if len(self._kept) > KEPT:
            _, oldest = self._kept.popitem(last=False)
            await oldest.close()
        return found

    async def close(self) -> None:
        """Close all connections."""
        for client in [*self._kept.values(), *([self._own] if self._own else [])]:
            await client.close()
        self._kept.clear()


def bearer_of(headers: Mapping[str, str]) -> str:
    """Return the token in a request's Authorization header, '' without one."""
    value = headers.get("authorization", "")
    return value[len(SCHEME) :].strip() if value.lower().startswith(SCHEME) else ""

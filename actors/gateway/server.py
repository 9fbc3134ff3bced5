"""Where and how the gateway listens: its port, TLS, and the limits of its connections.

It listens on other addresses than loopback only with TLS, or if the settings explicitly allow it.
"""

import socket
import ssl

from actors.runtime.http_server import App, ConnectionLimits, HttpServer, listen
from agiraph.core.errors import Refused
from agiraph.settings.config import HttpConfig

FRAME_LIMIT = 4096
FIRST_PORT = 8765
PORTS_TRIED = 100


def bind(http: HttpConfig, own_port: int | None) -> socket.socket:
    """Return a socket that listens on `http.port`; if that is 0, on the port of the home.

    This is `own_port`; without one, or if another program uses it, the first free port from
    FIRST_PORT, or any port if none of PORTS_TRIED is free. A port that stays the same keeps
    bookmarks, open pages and tunnels valid. Raises Refused if the gateway cannot listen.
    """
    own = [own_port] if own_port else []
    ports = [http.port] if http.port else [*own, *range(FIRST_PORT, FIRST_PORT + PORTS_TRIED), 0]
    try:
        return listen(http.host, ports, http.stall_seconds)
    except OSError as error:
        raise Refused(
            f"cannot listen on {http.host}:{http.port} ({error.strerror}); "
            "set http.host and http.port"
        ) from error


def url_of(listener: socket.socket, scheme: str = "http") -> str:
    """Return the URL at which this machine reaches a listening socket."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def tls_of(http: HttpConfig) -> ssl.SSLContext | None:
    """Return the TLS context, None without TLS. Raises Refused, which names the invalid setting.

    Also refuses settings that would open the API to the network without encryption.
    """
    refusal = http.why_refused()
    if refusal is not None:
        raise Refused(refusal)
    if not http.tls_cert:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(http.tls_cert, http.tls_key)
    except OSError as error:  # ssl.SSLError is a subclass
        raise Refused(
            f"http.tls_cert '{http.tls_cert}' and http.tls_key '{http.tls_key}' cannot be used "
            f"({error.strerror or error})"
        ) from None
    return context


def server_of(
    app: App, listener: socket.socket, http: HttpConfig, tls: ssl.SSLContext | None = None
) -> HttpServer:
    """Return the server of `app` within the limits of the settings.

    uvicorn's limit on a head is twice the settings': the access middleware answers 431 before it.
    """
    limits = ConnectionLimits(
        connections=http.connections,
        head_bytes=2 * http.header_bytes,
        head_seconds=http.head_seconds,
    )
    return HttpServer(
        app,
        listener,
        limits,
        tls=tls,
        ws="websockets-sansio",
        ws_max_size=FRAME_LIMIT,
        ws_per_message_deflate=False,
    )

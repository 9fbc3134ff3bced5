"""TLS: the connection goes to an address, the certificate is held against the host's name."""

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from agiraph.core.errors import Refused
from agiraph.settings.config import load_config
from agiraph.tools.web.fetching import FetchedPage, PageFetcher

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the key")

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nsecret"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a key and a certificate for the name example.com."""
    folder = tmp_path_factory.mktemp("tls")
    key, file = folder / "key.pem", folder / "certificate.pem"
    names = ("-subj", "/CN=example.com", "-addext", "subjectAltName=DNS:example.com")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-keyout", str(key), "-out", str(file), *names),
        ],
        check=True,
        capture_output=True,
    )
    return file


async def fetch(certificate: Path, host: str) -> FetchedPage:
    """Fetch from a server that has the certificate, under another host's name if need be."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    config = load_config().web.model_copy(update={"allow_private": True})
    fetcher = PageFetcher(config, resolve)
    try:
        async with asyncio.timeout(20):
            return await fetcher.fetch(f"https://{host}:{port}/")
    finally:
        await fetcher.close()
        server.close()


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return certificate


async def test_certificate_for_the_host_is_accepted(trusted: Path) -> None:
    assert (await fetch(trusted, "example.com")).body == b"secret"


async def test_a_certificate_for_another_host_is_refused(trusted: Path) -> None:
    with pytest.raises(Refused, match=r"bank\.example cannot be read: .*certificate"):
        await fetch(trusted, "bank.example")


async def test_untrusted_certificate_is_refused(certificate: Path) -> None:
    with pytest.raises(Refused, match=r"example\.com cannot be read: .*certificate"):
        await fetch(certificate, "example.com")

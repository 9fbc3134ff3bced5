"""Whom a client takes for the gateway when it speaks TLS."""

import ssl
from pathlib import Path

END = "-----END CERTIFICATE-----"


def trust_of(url: str, cert: Path | None) -> ssl.SSLContext | bool:
    """Return what httpx verifies with: nothing without TLS, else `cert` or the known authorities.

    With `cert` (a PEM file) exactly its first certificate is trusted, under whatever name it is
    called: on its own machine a gateway is reached as 127.0.0.1, which its certificate need not
    name. Raises OSError if the file cannot be read or holds none.
    """
    if not url.startswith("https:"):
        return False
    if cert is None:
        return True
    text = cert.read_text(encoding="ascii", errors="replace")  # plain: named by the person
    own, mark, _ = text.partition(END)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=own[own.find("-----BEGIN") :] + mark + "\n")
    return context

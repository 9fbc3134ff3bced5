"""Connecting: nothing is imported before it is needed, and loopback needs no proxy."""

import subprocess
import sys
from pathlib import Path

import certifi
import pytest

from agiraph.foreign.proxies import is_loopback
from agiraph.llm.connect import connect
from agiraph.llm.network import trusted
from agiraph.models.registry import load_presets

IMPORTS = """
import sys
import agiraph.llm.connect, agiraph.models.registry, agiraph.models.prices, actors.broker.main
print([name for name in ("anthropic", "openai", "httpx", "httpx2") if name in sys.modules])
"""


def test_no_sdk_is_imported_before_a_provider_is_made() -> None:
    got = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True, timeout=60
    )
    assert got.stdout.strip() == "[]"


@pytest.mark.parametrize("service", ["anthropic", "openai", "openai-responses", "google"])
async def test_all_services_are_called_by_the_same_http_library(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # OpenAI's SDK checks for httpx as soon as its import has begun: calls that were made while a
    # thread imported it, for another service, failed.
    monkeypatch.setitem(sys.modules, "httpx", None)
    preset = load_presets()[service]
    provider = connect(
        service, {service: preset}, {(preset.key_names or ("",))[0]: "a-key"}, timeout_seconds=5
    )
    await provider.close()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://localhost:8080", True),
        ("http://[::1]:8080/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1/v1", False),
        ("not a url", False),
    ],
)
def test_loopback_urls_are_recognized(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


def test_all_services_share_one_tls_context_with_the_configured_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = trusted()
    assert trusted() is usual
    file = tmp_path / "one.pem"
    end = "-----END CERTIFICATE-----\n"
    file.write_text(Path(certifi.where()).read_text().partition(end)[0] + end)
    with monkeypatch.context() as changed:
        changed.setenv("SSL_CERT_FILE", str(file))
        assert len(trusted().get_ca_certs()) == 1
    assert trusted() is usual

"""Connecting: nothing is imported before it is needed, and loopback needs no proxy."""

import subprocess
import sys

import pytest

from agiraph.llm.network import is_loopback

IMPORTS = """
import sys
import agiraph.llm.connect, agiraph.llm.providers.service, actors.broker.main
print([name for name in ("anthropic", "openai", "httpx") if name in sys.modules])
"""


def test_no_http_client_is_imported_before_a_provider_is_made() -> None:
    got = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True, timeout=60
    )
    assert got.stdout.strip() == "[]"


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
def test_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected

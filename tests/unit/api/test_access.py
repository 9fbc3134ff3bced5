"""Tokens and names: how they are read, compared and allowed."""

from pathlib import Path

import pytest

from agiraph.api.auth.credential_store import load_token
from agiraph.api.auth.request_headers import TrustedHosts, bearer, cookies


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", None), ("Bearer ", None)],
)
def test_the_bearer_token_is_read(header: str, token: str | None) -> None:
    assert bearer([(b"authorization", header.encode())]) == token


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("ours=abc", ["abc"]),
        ("x=1; ours=abc; y=2; ours=def", ["abc", "def"]),
        ("xours=abc; ours=", []),
    ],
)
def test_cookies_of_the_gateway_are_read(header: str, found: list[str]) -> None:
    assert cookies([(b"cookie", header.encode())], "ours") == found


def test_a_name_that_is_configured_is_allowed_beside_the_loopback() -> None:
    names = TrustedHosts("atlas.lan")
    assert names.allow("atlas.lan:80")
    assert names.allow("localhost")
    assert not names.allow("192.168.1.5")


def test_wildcard_address_accepts_any_ip_but_no_foreign_name() -> None:
    names = TrustedHosts("0.0.0.0")
    assert names.allow("192.168.1.5:99")
    assert names.allow("[fe80::1]")
    assert not names.allow("evil.example")


@pytest.mark.parametrize(
    "header", ["", " ", ":80", "[]", "[::1", "[::1]x", "localhost:", "localhost:x", "²"]
)
def test_malformed_host_is_refused(header: str) -> None:
    for host in ("127.0.0.1", "0.0.0.0", ""):
        assert not TrustedHosts(host, "").allow(header)


def test_an_empty_token_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "system" / "token"
    first = load_token(path)
    assert load_token(path) == first
    path.write_text("")
    second = load_token(path)
    assert len(second) >= 32
    assert second != first


def test_a_token_file_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("x" * 50)
    (tmp_path / "token").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="token"):
        load_token(tmp_path / "token")

"""Which proxy a request uses, for values of the variables that people really have."""

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.foreign.proxies import proxy_for

URL = "https://api.example.com/v1"
PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"HTTPS_PROXY": PROXY}, PROXY),
        ({"https_proxy": PROXY, "HTTPS_PROXY": "http://other:1"}, PROXY),
        ({"HTTP_PROXY": PROXY}, None),
        ({"ALL_PROXY": PROXY}, PROXY),
        ({"HTTPS_PROXY": PROXY, "ALL_PROXY": "socks4://1"}, PROXY),
        ({"HTTPS_PROXY": "proxy:3128"}, PROXY),
        ({"HTTPS_PROXY": " ", "ALL_PROXY": ""}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "localhost, .example.com"}, None),
        ({"HTTPS_PROXY": PROXY, "no_proxy": "*.example.com"}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "example.com:443"}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "example.com:80"}, PROXY),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "ample.com,[::1],::1/128,127.0.0.0/8,[x,a:b:c"}, PROXY),
    ],
)
def test_proxy_of_a_service_comes_from_the_environment(
    environ: dict[str, str], expected: str | None
) -> None:
    assert proxy_for(URL, environ) == expected


@pytest.mark.parametrize(
    ("listed", "url", "is_exempt"),
    [
        ("10.0.0.0/8", "http://10.1.2.3:8000", True),
        ("10.0.0.0/8", "http://11.1.2.3", False),
        ("10.1.2.3:8000", "http://10.1.2.3:8000", True),
        ("10.1.2.3:8001", "http://10.1.2.3:8000", False),
        ("fd00::/8", "http://[fd00::1]:8000", True),
        ("[fd00::1]", "http://[fd00::1]", True),
        ("[fd00::1]:8000", "http://[fd00::1]:8000", True),
        ("fd00::1", "http://[fd00::2]", False),
        ("10.0.0.0/99", "http://10.1.2.3", False),
    ],
)
def test_no_proxy_exempts_addresses_and_networks(listed: str, url: str, is_exempt: bool) -> None:
    found = proxy_for(url, {"ALL_PROXY": PROXY, "NO_PROXY": listed})
    assert found == (None if is_exempt else PROXY)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1",
        "http://[::1]:1/v1",
        "http://localhost:8080",
        "http://0.0.0.0:11434/v1",
        "http://[::ffff:127.0.0.1]:1",
    ],
)
@pytest.mark.parametrize("value", [PROXY, "socks4://127.0.0.1:1", "http://", "//[", "http://a:x"])
def test_loopback_address_never_uses_a_proxy(url: str, value: str) -> None:
    assert proxy_for(url, {"ALL_PROXY": value, "HTTP_PROXY": value}) is None


@pytest.mark.parametrize(
    "value", ["socks4://h:1", "ftp://h", "http://", "http://[", "http://h:99999", "socks5://h:1"]
)
def test_unusable_proxy_is_refused_by_the_name_of_its_variable(value: str) -> None:
    with pytest.raises(InvalidInput, match="all_proxy"):
        proxy_for(URL, {"all_proxy": value})


def test_password_of_a_proxy_is_not_shown() -> None:
    with pytest.raises(InvalidInput) as refused:
        proxy_for(URL, {"HTTPS_PROXY": "socks4://user:secret@h:1"})
    assert "secret" not in str(refused.value)

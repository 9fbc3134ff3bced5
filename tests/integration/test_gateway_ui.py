"""The web UI's files at a real gateway: served to every client that uses its host name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.gateway import GatewayHome, running_gateway


def call(url: str, method: str = "GET", path: str = "/", **named: Any) -> httpx.Response:
    return httpx.request(method, url + path, trust_env=False, verify=False, **named)


@pytest.fixture
def gateway_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatewayHome]:
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / "index.html").write_text('<meta nonce="__NONCE__">')
    (dist / "assets" / "m.js").write_text("1")
    monkeypatch.setattr("agiraph.api.app.ui_folder", lambda: dist)
    with running_gateway(tmp_path / "home") as gateway_home:
        yield gateway_home


def test_the_files_need_no_session_and_are_not_in_the_audit(
    gateway_home: GatewayHome, url: str
) -> None:
    for path in ("/ui/", "/ui/agents/x", "/ui/assets/m.js"):
        assert call(url, path=path).status_code == 200, path
    assert call(url, "HEAD", "/ui/assets/m.js").content == b""
    browser = {"Accept": "text/html,*/*;q=0.8"}
    led = call(url, path="/", headers=browser)
    assert (led.status_code, led.headers["location"]) == (307, "/ui/")
    assert call(url, path="/").status_code == 401
    assert call(url, "POST", "/ui/").status_code == 401
    assert call(url, path="/agents", headers=browser).status_code == 401
    audited = gateway_home.home.human.audit.read_text().splitlines()
    assert len(audited) == 3  # the refused requests


def test_ui_files_are_served_only_under_own_host_names(gateway_home: GatewayHome, url: str) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        assert call(url, path="/ui/", headers=headers).status_code == 403
    assert '"path":"/ui/"' in gateway_home.home.human.audit.read_text()


@pytest.mark.parametrize(
    "path", ["/ui/../../etc/passwd", "/ui/%2e%2e/%2e%2e/etc/passwd", "/ui/assets/..%2f..%2fx"]
)
def test_path_cannot_leave_the_bundle(url: str, path: str) -> None:
    asked = httpx.Request("GET", url, headers={"Host": url.removeprefix("http://")})
    asked.url = asked.url.copy_with(raw_path=path.encode())
    with httpx.Client(trust_env=False, verify=False) as client:
        answer = client.send(asked)
    assert (answer.status_code, "root:" in answer.text) in [
        (200, False),
        (404, False),
        (401, False),
    ]

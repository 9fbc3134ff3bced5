"""The web UI's files over HTTP: paths, encodings, policies."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient

from agiraph.api.ui_bundle import FOREVER, UiBundle, is_of_ui

INDEX = '<meta property="csp-nonce" nonce="__NONCE__"><script type="module" src="/ui/assets/m.js">'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.js").write_text("the neighbour's")
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / ".vite").mkdir()
    (dist / ".vite" / "manifest.json").write_text("{}")
    (dist / "index.html").write_text(INDEX)
    (dist / "icon.svg").write_text("<svg/>")
    (dist / "assets" / "m-Ab_1.js").write_text("plain")
    (dist / "assets" / "m-Ab_1.js.br").write_bytes(b"br")
    (dist / "assets" / "m-Ab_1.js.gz").write_bytes(b"gz")
    (dist / "assets" / "odd.bin").write_bytes(b"x")
    return dist


@pytest.fixture
def client(folder: Path) -> TestClient:
    return TestClient(UiBundle(folder), follow_redirects=False)


def test_the_page_has_a_new_nonce_each_time_and_is_never_kept(client: TestClient) -> None:
    first, second = client.get("/ui/"), client.get("/ui/")
    nonces = [re.findall(r'nonce="([^"]+)"', one.text) for one in (first, second)]
    assert nonces[0] != nonces[1]
    assert len(nonces[0][0]) >= 22
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert first.headers["cache-control"] == "no-store"
    policy = first.headers["content-security-policy"]
    assert f"style-src 'self' 'nonce-{nonces[0][0]}';" in policy
    assert "script-src 'self';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_each_path_of_the_router_is_answered_with_the_page(client: TestClient) -> None:
    for path in ("agents/x", "agents/x/files/a/report.html", "agents/x/files/m.js", "index.html"):
        assert "csp-nonce" in client.get(f"/ui/{path}").text, path


def test_built_assets_are_immutable_and_use_the_smallest_encoding(client: TestClient) -> None:
    accepted = {
        "gzip, deflate, br": ("br", "br"),
        "gzip": ("gz", "gzip"),
        "br;q=0, GZIP;q=0.5": ("gz", "gzip"),
        "identity": ("plain", None),
        "": ("plain", None),
    }
    for given, (body, encoding) in accepted.items():
        headers = {"Accept-Encoding": given}
        with client.stream("GET", "/ui/assets/m-Ab_1.js", headers=headers) as answer:
            assert b"".join(answer.iter_raw()).decode() == body
        assert answer.headers.get("content-encoding") == encoding
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        assert answer.headers["cache-control"] == FOREVER
        assert answer.headers["vary"] == "Accept-Encoding"
    icon = client.get("/ui/icon.svg")
    assert (icon.headers["content-type"], icon.headers["cache-control"]) == (
        *("image/svg+xml", "no-cache"),
    )


def test_every_response_has_security_headers(client: TestClient) -> None:
    for path in ("/", "/ui", "/ui/", "/ui/icon.svg", "/ui/assets/gone.js"):
        answer = client.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff", path
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert "camera=()" in answer.headers["permissions-policy"]


def test_missing_asset_is_not_answered_with_the_page(client: TestClient) -> None:
    for path in ("gone.js", "", "odd.bin", "m-Ab_1.js.br", "m-Ab_1.js/x.js"):
        answer = client.get(f"/ui/assets/{path}")
        assert (answer.status_code, "csp-nonce" in answer.text) == (404, False), path


@pytest.mark.parametrize(
    "path",
    [
        "../secret.js",
        "%2e%2e/secret.js",
        "..%2fsecret.js",
        "assets/../../secret.js",
        "assets/%2e%2e/%2e%2e/secret.js",
        "assets/..%5c..%5csecret.js",
        "/etc/hosts.js",
        "%2Fetc/hosts.txt",
        ".vite/manifest.json",
        "assets/m.js%00.txt",
        "assets/" + "a" * 5000 + ".js",
    ],
)
def test_path_cannot_leave_the_bundle(folder: Path, path: str) -> None:
    answer = UiBundle(folder).answer(unquote(path), [])
    assert "neighbour" not in bytes(answer.body).decode()
    assert answer.status_code in (200, 404)
    assert answer.status_code == 404 or b"csp-nonce" in answer.body


def test_missing_bundle_is_explained_and_found_without_a_restart(
    tmp_path: Path,
) -> None:
    client = TestClient(UiBundle(tmp_path / "dist"))
    answer = client.get("/ui/agents/x")
    assert (answer.status_code, "<code>make ui</code>" in answer.text) == (503, True)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.html").write_text(INDEX)
    assert client.get("/ui/agents/x").status_code == 200


def test_a_browser_is_led_from_the_root_and_a_program_is_not(client: TestClient) -> None:
    for path in ("/", "/ui"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["location"]) == (307, "/ui/")

    def scope(method: str, path: str, accept: str = "*/*", type: str = "http") -> bool:
        headers = [(b"accept", accept.encode())]
        return is_of_ui({"type": type, "method": method, "path": path, "headers": headers})

    assert scope("GET", "/", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
    assert not scope("GET", "/")
    assert not scope("GET", "/", "application/json")
    assert scope("GET", "/ui")
    assert scope("HEAD", "/ui/x")
    assert not scope("POST", "/ui/x")
    assert not scope("GET", "/uix")
    assert not scope("GET", "/agents", "text/html")
    assert not scope("GET", "/ui/x", type="websocket")

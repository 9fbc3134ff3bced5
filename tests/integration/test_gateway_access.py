"""Access to the gateway: token, Host, Origin, cookies, size; and the secrets on disk."""

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from agiraph.api.app import ROUTERS
from agiraph.api.auth.scopes import is_open
from agiraph.http.client import read_gateway_address
from tests.fakes.gateway import AGENT, GatewayHome, running_gateway


def endpoints(family: APIRouter) -> list[tuple[str, str]]:
    """Return the method and a path of every HTTP endpoint of a family."""
    return [
        (method, re.sub(r"{[^}]*}", "x", route.path))
        for route in family.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods or ())
    ]


ROUTES = [
    *(one for family in ROUTERS for one in endpoints(family) if not is_open(*one)),
    ("GET", "/openapi.json"),
    ("GET", "/nothing/here"),
]


@pytest.fixture(scope="module")
def gateway_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path_factory.mktemp("home")) as gateway_home:
        gateway_home.add_agent()
        yield gateway_home


@pytest.fixture(scope="module", autouse=True)
def hang_up() -> Iterator[None]:
    yield
    HTTP.close()


@pytest.fixture
def browser(gateway_home: GatewayHome) -> str:
    """Return the Cookie header of a browser that has logged in."""
    return log_in(gateway_home, "control")


def log_in(gateway_home: GatewayHome, scope: str) -> str:
    """Log in by a login link; return the Cookie header of the answer."""
    url, token = read_gateway_address(gateway_home.home.path)
    own = bearer(token)
    link = call(url, "POST", "/login-links", headers=own, json={"scope": scope}).json()
    code = link["path"].partition("#")[2]
    answer = call(url, "POST", "/login", json={"code": code}, headers={"Origin": url})
    return answer.headers["set-cookie"].partition(";")[0]


HTTP = httpx.Client(trust_env=False, verify=False)


def call(url: str, method: str = "GET", path: str = "/health", **named: object) -> httpx.Response:
    HTTP.cookies.clear()
    return HTTP.request(method, url + path, **named)  # type: ignore[arg-type]


def bearer(token: str, **others: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", **others}


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_needs_the_token(url: str, method: str, path: str) -> None:
    for headers in ({}, bearer("wrong"), {"Authorization": "Basic eDp5"}, {"Cookie": "x=y"}):
        answer = call(url, method, path, headers=headers)
        assert answer.status_code == 401
        assert method == "HEAD" or "token" in answer.json()["detail"]
        assert answer.headers["www-authenticate"] == "Bearer"


CHANGING = [one for one in ROUTES if one[0] in ("POST", "PUT", "PATCH", "DELETE")]
FORGED: list[dict[str, str]] = [
    {},
    {"Referer": "{url}/ui/"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "{url}.evil.example"},
    {"Origin": "{url}/"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "{localhost}"},
    {"Origin": "{url}", "Sec-Fetch-Site": "same-site"},
    {"Origin": "{url}", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "{url}", "Sec-Fetch-Site": "Cross-Site"},
    {"Sec-Fetch-Site": "same-origin"},
    {"X-HTTP-Method-Override": "GET"},
    {"Content-Type": "text/plain"},
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Authorization": "Basic eDp5"},
]
"""Headers that a page of another origin can make a browser send along with its cookie."""


@pytest.mark.parametrize("forged", FORGED)
def test_no_page_of_another_origin_changes_anything_with_a_browsers_cookie(
    url: str, browser: str, forged: dict[str, str]
) -> None:
    assert len(CHANGING) > 25
    localhost = url.replace("127.0.0.1", "localhost")
    named = {key: value.format(url=url, localhost=localhost) for key, value in forged.items()}
    for method, path in CHANGING:
        headers = {"Cookie": browser, **named}
        answer = call(url, method, path, headers=headers, content=b"{}")
        assert answer.status_code == 403, (method, path)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_page_of_another_origin_reads_anything_with_a_browsers_cookie(
    url: str, browser: str, site: str
) -> None:
    for method, path in ROUTES:
        headers = {"Cookie": browser, "Sec-Fetch-Site": site, "Origin": url}
        assert call(url, method, path, headers=headers).status_code == 403, (method, path)
        del headers["Origin"]
        assert call(url, method, path, headers=headers).status_code == 403, (method, path)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin", "none"])
def test_token_is_accepted_regardless_of_the_sending_page(
    url: str, token: str, browser: str, site: str
) -> None:
    """A browser adds a cookie by itself, but no token: a page that has one was given it."""
    for more in ({}, {"Cookie": browser}):
        headers = bearer(token, **{"Sec-Fetch-Site": site}, **more)
        assert call(url, "GET", "/agents", headers=headers).status_code == 200
        assert call(url, "POST", "/entities/x/x", headers=headers, json={}).status_code != 403
        foreign = headers | {"Origin": "http://evil.example"}
        assert call(url, "GET", "/agents", headers=foreign).status_code == 403


def test_the_whole_api_is_among_the_routes_that_were_tried() -> None:
    assert len(ROUTES) > 35
    assert ("POST", "/entities/x/x") in ROUTES


def test_answer_links_need_no_token_and_are_not_in_the_audit(
    gateway_home: GatewayHome, url: str
) -> None:
    assert call(url, "POST", "/answer/signed-secret").status_code == 404
    assert call(url, path="/answer").status_code == 401
    assert call(url, path="/answers/x").status_code == 401
    assert call(url, "POST", "/answer/x", headers={"Origin": "http://evil"}).status_code == 403
    text = gateway_home.home.human.audit.read_text()
    assert "/answer/..." in text
    assert "signed-secret" not in text


def test_token_in_the_url_is_refused_with_advice(url: str, token: str) -> None:
    for query in (f"token={token}", "access_token=x", f"x=1&anything={token}", "TOKEN="):
        for headers in ({}, bearer(token)):
            answer = call(url, path=f"/health?{query}", headers=headers)
            assert answer.status_code == 400
            assert "token in a URL is refused" in answer.json()["detail"]
            assert "rotate" in answer.json()["detail"]
            assert token not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "LOCALHOST:80", "[::1]:9"])
def test_loopback_host_names_are_accepted(url: str, token: str, host: str) -> None:
    assert call(url, headers=bearer(token, Host=host)).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"]
)
def test_a_foreign_origin_is_refused_even_with_the_token(url: str, token: str, origin: str) -> None:
    answer = call(url, headers=bearer(token, Origin=origin))
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_own_origin_is_accepted_and_no_response_allows_others(url: str, token: str) -> None:
    answer = call(url, headers=bearer(token, Origin=url))
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    preflight = call(
        url, "OPTIONS", headers={"Origin": url, "Access-Control-Request-Method": "POST"}
    )
    assert preflight.status_code == 401


def test_form_of_a_foreign_page_is_not_parsed_as_json(url: str, token: str) -> None:
    headers = bearer(token, **{"Content-Type": "text/plain"})
    answer = call(url, "POST", "/agents/survey/nudge", headers=headers, content=b'{"message": "x"}')
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer {token}", "Origin": "http://evil.example"}, 403),
        ({"Cookie": "{browser}"}, 403),
        ({"Cookie": "{browser}", "Origin": "http://evil.example"}, 403),
    ],
)
def test_a_websocket_is_refused_before_its_handshake(
    url: str, token: str, browser: str, headers: dict[str, str], status: int
) -> None:
    given = {name: value.format(token=token, browser=browser) for name, value in headers.items()}
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(
            f"ws{url[4:]}/agents/{AGENT}/events",
            additional_headers=given,
            proxy=None,
            open_timeout=5,
        ),
    ):
        pass
    assert refused.value.response.status_code == status


def test_websocket_opens_with_a_cookie_of_the_own_page(url: str, browser: str) -> None:
    with connect(
        f"ws{url[4:]}/agents/{AGENT}/events",
        additional_headers={"Cookie": browser, "Origin": url},
        proxy=None,
    ):
        pass


def test_the_token_is_for_this_user_alone_and_stays_the_same(tmp_path: Path) -> None:
    with running_gateway(tmp_path) as gateway_home:
        path = gateway_home.home.system.token
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        token = path.read_text()
        path.chmod(0o644)
    with running_gateway(tmp_path) as gateway_home:
        assert path.read_text() == token
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_call_is_in_the_audit_and_no_secret_is(
    gateway_home: GatewayHome, url: str, token: str, browser: str
) -> None:
    before = len(gateway_home.home.human.audit.read_text().splitlines())
    call(url, "POST", "/agents/survey/nudge", headers=bearer(token), json={"message": "secret"})
    call(url, "GET", "/agents?after=words", headers={"Cookie": browser})
    call(url, "GET", f"/agents/{token}", headers=bearer(token))
    call(url, "GET", "/agents/x%0d%0ay", headers=bearer("wrong"))
    text = gateway_home.home.human.audit.read_text()
    begun, nudged, read, leaked, refused = (json.loads(line) for line in text.splitlines()[before:])
    assert (begun["id"], begun["status"]) == (nudged["id"], None)
    assert (nudged["method"], nudged["path"], nudged["status"], nudged["who"]) == (
        *("POST", "/agents/survey/nudge", 200, "home"),
    )
    assert (read["path"], read["status"], read["who"]) == ("/agents", 200, "home")
    assert len(read["login"]) == 8
    assert leaked["path"] == "/agents/[redacted]"
    assert (refused["path"], refused["status"], refused["who"]) == ("/agents/x\r\ny", 401, None)
    for secret in (token, "secret", "words", browser.partition("=")[2]):
        assert secret not in text
    assert stat.S_IMODE(gateway_home.home.human.audit.stat().st_mode) == 0o600


def test_no_answer_and_no_log_repeats_the_token(
    gateway_home: GatewayHome, url: str, token: str
) -> None:
    for headers in (bearer(token), bearer(token, Origin="http://evil.example")):
        assert token not in call(url, path="/agents/nobody", headers=headers).text
    assert token not in "".join(gateway_home.runtime.log.lines)

"""Tokens, scopes and logins through the API of a gateway that really listens."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from agiraph.api.access_middleware import SECRET_NAMES
from agiraph.api.app import ROUTERS
from agiraph.api.auth.scopes import WEBSOCKET, rules_of
from agiraph.core.models import ProposedAction
from agiraph.http.api import ApiError, CreateTokenRequest
from agiraph.http.api.access import SCOPES, Scope
from agiraph.http.client import Client
from agiraph.messages.question import AskQuestion
from cli.main import agiraph
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, GatewayHome, running_gateway

HTTP = httpx.Client(trust_env=False, verify=False, timeout=30)
RULES = [rule for rule in rules_of(ROUTERS) if rule.scope is not None]


@pytest.fixture(scope="module")
def gateway_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path_factory.mktemp("home")) as gateway_home:
        gateway_home.add_agent()
        gateway_home.log_events("agent.created")
        yield gateway_home


@pytest.fixture(scope="module", autouse=True)
def hang_up() -> Iterator[None]:
    yield
    HTTP.close()


@pytest.fixture(autouse=True)
def clean(gateway_home: GatewayHome) -> Iterator[None]:
    yield
    with gateway_home.client() as client:
        for token in client.tokens():
            if token.status == "active" and token.name != "home":
                client.revoke_token(token.name)
        for login in client.logins():
            client.end_login(login.id)


def call(method: str, url: str, token: str | None = None, **named: Any) -> httpx.Response:
    HTTP.cookies.clear()
    headers = named.pop("headers", {})
    if token is not None:
        headers = {"Authorization": f"Bearer {token}", **headers}
    return HTTP.request(method, url, headers=headers, **named)


def add(client: Client, scope: Scope, **more: Any) -> str:
    secret = client.add_token(CreateTokenRequest(name=f"a-{scope}", scope=scope, **more)).token
    assert secret is not None
    return secret


def follow(url: str, token: str) -> ClientConnection:
    return connect(
        f"ws{url[4:]}/agents/{AGENT}/events",
        additional_headers={"Authorization": f"Bearer {token}"},
        proxy=None,
    )


# --- scopes ---


def test_empty_idempotency_key_is_refused_on_every_changing_route(client: Client, url: str) -> None:
    secret = add(client, "control")
    changing = [rule for rule in RULES if rule.method in ("POST", "PUT", "PATCH", "DELETE")]
    assert len(changing) > 25
    for rule in changing:
        path = re.sub(r"{[^}]*}", "-", rule.template)
        answer = call(rule.method, url + path, secret, json={}, headers={"Idempotency-Key": ""})
        assert answer.status_code == 400, rule
        assert "the header Idempotency-Key is empty" in answer.json()["detail"]


@pytest.mark.parametrize("scope", SCOPES)
def test_token_may_use_exactly_the_routes_of_its_scope(
    client: Client, url: str, scope: Scope
) -> None:
    secret = add(client, scope)
    for rule in RULES:
        if rule.method == WEBSOCKET:
            continue
        # no agent is named `-`: an authorized request gets 404, and nothing happens
        path = re.sub(r"{[^}]*}", "-", rule.template)
        if SCOPES.index(scope) >= SCOPES.index(rule.scope):
            if "{" not in rule.template and rule.method != "GET":
                continue  # it would act; the tests of its own family call it
            answer = call(rule.method, url + path, secret)
            assert "needs the scope" not in answer.text, rule
        else:
            answer = call(rule.method, url + path, secret, json={})
            assert answer.status_code == 403, rule
            if rule.method == "HEAD":
                continue
            assert f"needs the scope '{rule.scope}'" in answer.json()["detail"]
            assert f"'a-{scope}' has '{scope}'" in answer.json()["detail"]


def test_openapi_document_has_the_scope_of_every_call(client: Client, url: str) -> None:
    document = call("GET", f"{url}/openapi.json", add(client, "read")).json()
    assert document["security"] == [{"token": []}, {"browser": []}]
    calls = [one for calls in document["paths"].values() for one in calls.values()]
    assert len(calls) > 40
    assert {one.get("x-scope") for one in calls} == set(SCOPES)
    asked = {one["name"] for call in calls for one in call.get("parameters", ())}
    assert not asked & SECRET_NAMES  # these are refused in a query
    assert document["paths"]["/agents/{agent}/send"]["post"]["x-scope"] == "talk"


def test_a_reader_follows_events_and_a_talker_talks(client: Client, url: str) -> None:
    reader, talker = add(client, "read"), add(client, "talk")
    with follow(url, reader) as socket:
        assert json.loads(socket.recv(timeout=5))["type"] == "agent.created"
    path, body = f"{url}/agents/{AGENT}/send", {"message": "How far are you?"}
    assert call("POST", path, reader, json=body).status_code == 403
    assert call("POST", path, talker, json=body).status_code == 200
    assert call("POST", f"{url}/entities/{AGENT}/stop", talker).status_code == 403
    assert call("GET", f"{url}/whoami", talker).json()["name"] == "a-talk"


def ask(gateway_home: GatewayHome, id: str, **more: Any) -> None:
    asks = AskQuestion(question_id=id, agent=AGENT, from_name="Ada", question="Which?", **more)
    gateway_home.arrive(arrived(asks, f"{AGENT}/coordinator"))


def test_a_token_answers_in_its_own_name(
    gateway_home: GatewayHome, client: Client, url: str
) -> None:
    ask(gateway_home, "q-mine")
    with Client(url, add(client, "talk")) as talker:
        answered = talker.answer("q-mine", "The first", by="somebody else")
    assert answered.answered_by == "a-talk"


def test_approval_requires_the_scope_control(
    gateway_home: GatewayHome, client: Client, url: str
) -> None:
    rules = "rules: [{name: all, tool: bash, action: ask}]"
    (gateway_home.home.path / "approvals.yaml").write_text(rules)
    about = ProposedAction(tool="bash", subject="ls", rule="all", remember="ls")
    ask(gateway_home, "q-open", kind="approval", about=about)
    with Client(url, add(client, "talk")) as talker:
        for answer in (talker.answer, lambda id, text: talker.respond(AGENT, text)):
            with pytest.raises(ApiError, match="scope 'control'") as refused:
                answer("q-open", "allow always")
            assert refused.value.status == 403
    assert client.answer("q-open", "deny").answered_by == "human"


# --- tokens ---


def test_token_and_its_revocation_take_effect_at_once(client: Client, url: str) -> None:
    secret = add(client, "read")
    assert call("GET", f"{url}/agents", secret).status_code == 200
    client.revoke_token("a-read")
    answer = call("GET", f"{url}/agents", secret)
    assert answer.status_code == 401
    assert "revoked" in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert [token.status for token in client.tokens() if token.name == "a-read"] == ["revoked"]


def test_connections_of_an_ended_token_are_closed(client: Client, url: str) -> None:
    for end in (client.revoke_token, client.rotate_token):
        with follow(url, add(client, "read")) as socket:
            socket.recv(timeout=5)
            end("a-read")
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=5)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008
        if end == client.rotate_token:
            client.revoke_token("a-read")


def test_event_stream_ends_with_its_token(client: Client, url: str) -> None:
    headers = {
        "Authorization": f"Bearer {add(client, 'read')}",
        "Accept": "text/event-stream",
    }
    path = f"{url}/agents/{AGENT}/events"
    with HTTP.stream("GET", path, headers=headers) as stream:
        lines = stream.iter_lines()
        while next(lines) != "event: agent.created":
            pass
        client.revoke_token("a-read")
        with pytest.raises(httpx.ProtocolError):
            list(lines)
    assert call("GET", path, headers=headers).status_code == 401


def test_expired_token_is_refused_and_its_connections_end(client: Client, url: str) -> None:
    secret = add(client, "read", expires_in_seconds=0.5)
    with follow(url, secret) as socket:
        socket.recv(timeout=5)
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=5)
    answer = call("GET", f"{url}/agents", secret)
    assert answer.status_code == 401
    assert "expired" in answer.json()["detail"]
    with pytest.raises(InvalidStatus), follow(url, secret):
        pass


def test_a_client_of_a_home_follows_a_rotation_of_its_token(
    gateway_home: GatewayHome, client: Client
) -> None:
    first = gateway_home.home.system.token.read_text()
    with gateway_home.client() as other:
        assert other.health().pid
        assert client.rotate_token("home").token is None
        assert gateway_home.home.system.token.read_text() != first
        assert other.health().pid
    assert call("GET", f"{client.url}/health", first.strip()).status_code == 401
    assert client.whoami().name == "home"


def test_the_secret_is_shown_once(client: Client, url: str) -> None:
    secret = add(client, "control")
    assert secret.startswith("agt_")
    for path in ("/tokens", "/whoami"):
        assert secret not in call("GET", url + path, secret).text
    with pytest.raises(ApiError) as refused:
        add(client, "control")
    assert refused.value.status == 409


@pytest.mark.parametrize(
    "body",
    [
        {"name": "Home Office"},
        {"name": "../x"},
        {"name": ""},
        {"name": "x", "scope": "root"},
        {"name": "x", "expires_in_seconds": -1},
        {"name": "x", "expires_in_seconds": 1e300},
        {"name": "x", "calls_per_second": 0},
        {"name": "x", "colour": "red"},
    ],
)
def test_invalid_token_request_is_refused(
    gateway_home: GatewayHome, url: str, body: dict[str, Any]
) -> None:
    own = gateway_home.home.system.token.read_text().strip()
    assert call("POST", f"{url}/tokens", own, json=body).status_code == 422


# --- logins ---


def log_in(client: Client, **wanted: Any) -> tuple[httpx.Response, str]:
    """Return the answer to a browser's login and the code that it came with."""
    code = client.create_login_link(**wanted).path.partition("#")[2]
    form = {"code": code}
    return call("POST", f"{client.url}/login", data=form, headers={"Origin": client.url}), code


def cookie_of(answer: httpx.Response) -> dict[str, str]:
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_the_page_of_a_link_runs_nothing_but_its_own_script(url: str) -> None:
    page = call("GET", f"{url}/login")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["cache-control"] == "no-store"
    assert not re.search(r"(src|href)=", page.text)
    for kind in ("script", "style"):
        (inner,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page.text, re.S)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_a_browser_logs_in_once_by_a_link(
    gateway_home: GatewayHome, client: Client, url: str
) -> None:
    answer, code = log_in(client, scope="talk")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/")
    attributes = answer.headers["set-cookie"].lower().split("; ")
    assert {"httponly", "samesite=strict", "path=/", "max-age=604800"} <= set(attributes)
    assert "secure" not in attributes  # it speaks no TLS here
    assert not any(part.startswith("domain") for part in attributes)
    cookie = cookie_of(answer)
    assert "may <strong>talk</strong>" in call("GET", f"{url}/login", headers=cookie).text
    own = cookie | {"Origin": url}
    assert call("POST", f"{url}/agents/{AGENT}/nudge", headers=own, json={"message": "x"})
    assert call("POST", f"{url}/consoles", headers=own).status_code == 403
    again = call("POST", f"{url}/login", data={"code": code}, headers={"Origin": url})
    assert again.status_code == 403
    assert "used already" in again.text
    assert "set-cookie" not in again.headers
    written = gateway_home.home.human.audit.read_text() + gateway_home.home.human.tokens.read_text()
    assert code not in written
    assert cookie["Cookie"].partition("=")[2] not in written


def test_login_link_leads_to_its_page(client: Client, url: str) -> None:
    page = "/ui/agents/survey-abc123/files/a%20b?as=raw&x=1"
    path, _, code = client.create_login_link(next=page).path.partition("#")
    shown = call("GET", f"{url}{path}").text
    assert f'name="next" value="{html.escape(page)}"' in shown
    form = {"code": "wrong", "next": page}
    refused = call("POST", f"{url}/login", data=form, headers={"Origin": url})
    assert (refused.status_code, "agiraph login</code>" in refused.text) == (403, True)
    assert f'value="{html.escape(page)}"' in refused.text
    answer = call("POST", f"{url}/login", data=form | {"code": code}, headers={"Origin": url})
    assert (answer.status_code, answer.headers["location"]) == (303, page)
    inside = call("GET", f"{url}{path}", headers=cookie_of(answer)).text
    assert f'href="{html.escape(page)}">Open the web UI' in inside


ELSEWHERE = (
    *("https://evil.example/", "//evil.example/ui/", "/\\evil.example", "/agents", "", "/ui"),
    *("/ui/../agents", "/ui/%2e%2E/agents", "/ui/..%5cagents", "/ui/x\r\nSet-Cookie: a=b"),
    *("/ui\\evil", "/ui/<script>", "javascript:alert(1)", "/ui/" + "x" * 2000, "/ui/ü"),
)


@pytest.mark.parametrize("page", ELSEWHERE)
def test_login_redirect_stays_within_the_web_ui(client: Client, url: str, page: str) -> None:
    with pytest.raises(ValueError, match="must be a path of the web UI"):
        client.create_login_link(next=page)
    assert 'name="next" value="/ui/"' in call("GET", f"{url}/login", params={"next": page}).text
    code = client.create_login_link().path.partition("#")[2]
    form = {"code": code, "next": page}
    answer = call("POST", f"{url}/login", data=form, headers={"Origin": url})
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/")


@pytest.mark.parametrize(
    "named",
    [
        {"json": {"code": "x"}},
        {"json": {}},
        {"json": {"code": 3}},
        {"data": {"other": "x"}},
        {"content": b"\xff", "headers": {"Content-Type": "application/json"}},
        {"json": {"code": "x"}, "headers": {"Origin": "http://evil.example"}},
        {"json": {"code": "x"}, "headers": {"Sec-Fetch-Site": "cross-site"}},
        {"data": {"code": "<script>"}, "headers": {"Origin": "null"}},
    ],
)
def test_a_login_without_a_good_code_opens_nothing(url: str, named: dict[str, Any]) -> None:
    answer = call("POST", f"{url}/login", **named)
    assert answer.status_code in (403, 422)
    assert "set-cookie" not in answer.headers
    assert "<script>x" not in answer.text


def test_a_foreign_page_can_do_nothing_with_a_browsers_cookie(client: Client, url: str) -> None:
    cookie = cookie_of(log_in(client)[0])
    nudge = f"{url}/agents/{AGENT}/nudge"
    for headers in (
        cookie,  # no Origin
        cookie | {"Origin": "http://evil.example"},
        cookie | {"Origin": "null"},
        cookie | {"Origin": url.replace("127.0.0.1", "localhost")},  # another name, another origin
        cookie | {"Origin": url, "Sec-Fetch-Site": "same-site"},
        cookie | {"Origin": url, "Sec-Fetch-Site": "cross-site"},
    ):
        body = {"message": "x"}
        assert call("POST", nudge, headers=dict(headers), json=body).status_code == 403
        assert call("POST", nudge, headers=dict(headers), data=body).status_code == 403
    for site in ("cross-site", "same-site"):  # <img>, <script>, fetch with no-cors
        headers = cookie | {"Sec-Fetch-Site": site}
        assert call("GET", f"{url}/agents", headers=headers).status_code == 403
    for site in ("same-origin", "none"):
        headers = cookie | {"Sec-Fetch-Site": site}
        assert call("GET", f"{url}/agents", headers=headers).status_code == 200


def test_cookie_of_another_home_is_ignored(client: Client, url: str) -> None:
    cookie = cookie_of(log_in(client)[0])["Cookie"]
    name = cookie.partition("=")[0]
    for headers in ({"Cookie": f"agiraph_00000000=x; {cookie}"}, {"Cookie": f"{name}=x; {cookie}"}):
        assert call("GET", f"{url}/agents", headers=headers).status_code == 200


def test_a_browser_logs_out_and_is_logged_out(client: Client, url: str) -> None:
    cookie = cookie_of(log_in(client, scope="read")[0]) | {"Origin": url}
    answer = call("POST", f"{url}/logout", headers=dict(cookie))
    assert answer.status_code == 303
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    assert call("GET", f"{url}/agents", headers=dict(cookie)).status_code == 401
    cookie = cookie_of(log_in(client)[0])
    (login,) = client.logins()
    client.end_login(login.id)
    assert call("GET", f"{url}/agents", headers=cookie).status_code == 401
    assert call("POST", f"{url}/logout", add(client, "control")).status_code == 409


def test_login_survives_a_restart_of_the_gateway(tmp_path: Path) -> None:
    with running_gateway(tmp_path) as gateway_home, gateway_home.client() as client:
        cookie = cookie_of(log_in(client)[0])
        secret = add(client, "read")
    with running_gateway(tmp_path) as gateway_home, gateway_home.client() as client:
        assert call("GET", f"{client.url}/agents", headers=cookie).status_code == 200
        assert call("GET", f"{client.url}/agents", secret).status_code == 200


# --- the commands ---


def run(gateway_home: GatewayHome, *args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(agiraph, [*args, "--home", str(gateway_home.home.path)])
    return result.exit_code, result.stdout, result.stderr


def test_token_commands_add_list_and_revoke(gateway_home: GatewayHome, url: str) -> None:
    code, secret, said = run(
        gateway_home, "tokens", "add", "ci", "--scope", "talk", "--expires", "1d"
    )
    assert code == 0
    assert "only once" in said
    assert call("GET", f"{url}/agents", secret.strip()).status_code == 200
    assert re.search(r"^ci +talk +active ", run(gateway_home, "tokens")[1], re.M)
    listed = json.loads(run(gateway_home, "tokens", "list", "--json")[1])
    assert [token["name"] for token in listed if token["status"] == "active"] == ["home", "ci"]
    assert "token" not in listed[1]
    rotated = json.loads(run(gateway_home, "tokens", "rotate", "ci", "--grace", "1m", "--json")[1])
    for one in (secret.strip(), rotated["token"]):
        assert call("GET", f"{url}/agents", one).status_code == 200
    assert run(gateway_home, "tokens", "revoke", "ci")[1] == "revoked: ci\n"
    assert call("GET", f"{url}/agents", rotated["token"]).status_code == 401
    assert run(gateway_home, "tokens", "rotate", "home")[0] == 0
    assert run(gateway_home, "tokens", "revoke", "home")[0] == 1
    code, _, said = run(gateway_home, "tokens", "add", "No Good")
    assert (code, "at most 40" in said) == (2, True)


def test_login_commands_create_links_and_end_logins(gateway_home: GatewayHome, url: str) -> None:
    code, link, said = run(gateway_home, "login", "--scope", "read", "--for", "1h")
    assert code == 0
    assert link.startswith(f"{url}/login#")
    assert "once" in said
    form = {"code": link.strip().partition("#")[2]}
    headers = {"Origin": url, "User-Agent": b"Fire\x9b2Jfox"}
    answer = call("POST", f"{url}/login", data=form, headers=headers)
    assert answer.status_code == 303
    assert "max-age=3600" in answer.headers["set-cookie"].lower()
    (login,) = json.loads(run(gateway_home, "logins", "--json")[1])
    assert login["browser"].startswith("Fire")
    assert "\u009b" not in login["browser"]
    assert login["id"] in run(gateway_home, "logout", login["id"])[1]
    assert run(gateway_home, "logout", login["id"])[0] == 2
    assert run(gateway_home, "logout", "--all")[1] == "logged out: none\n"
    assert run(gateway_home, "logout")[0] == 2
    other = run(gateway_home, "login", "--at", "https://atlas.example/")[1]
    assert other.startswith("https://atlas.example/login#")

"""Where the gateway listens: never in the clear to the network unasked; with TLS; and killed."""

import json
import shutil
import ssl
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from actors.supervisor.main import command
from agiraph.core.errors import Refused
from agiraph.http.api import ApiError, CreateTokenRequest, NotReachable
from agiraph.http.client import Client
from agiraph.http.client.connection import trust_of
from cli.main import agiraph
from tests.fakes.gateway import AGENT, GatewayHome, running_gateway
from tests.integration.commands import Commands
from tests.integration.raw_connection import RawConnection, ask
from tests.integration.waiting import until

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")


def certificate(folder: Path, name: str = "atlas.example") -> tuple[Path, Path]:
    """Return a certificate that vouches for itself, and its key."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    subprocess.run(
        ["openssl", "req", "-x509", *kind, "-keyout", key, "-out", cert, "-subj", f"/CN={name}"],
        check=True,
        capture_output=True,
    )
    return cert, key


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.168.1.5", "atlas.lan", "127.0.0.1.evil"])
def test_a_supervisor_does_not_open_the_api_to_the_network_unasked(
    tmp_path: Path, host: str
) -> None:
    args = ["--home", str(tmp_path), "--http", f"{host}:0"]
    result = CliRunner().invoke(command, args, obj={})
    assert result.exit_code == 2
    for word in (host.strip("[]"), "http.tls_cert", "http.insecure"):
        assert word in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("http", "expected"),
    [
        ({"host": "0.0.0.0"}, "http.insecure"),
        ({"tls_cert": "/x/cert.pem"}, "both of them"),
        ({"tls_cert": "/x/cert.pem", "tls_key": "/x/key.pem"}, "cannot be used"),
    ],
)
def test_gateway_refuses_insecure_settings(
    tmp_path: Path, http: dict[str, str], expected: str
) -> None:
    with pytest.raises(Refused, match=expected), running_gateway(tmp_path, **http):
        pass


def test_insecure_gateway_listens_only_if_configured_and_warns(tmp_path: Path) -> None:
    with running_gateway(
        tmp_path, host="0.0.0.0", insecure=True, names=["Atlas.example"]
    ) as gateway_home:
        assert "OPEN TO THE NETWORK WITHOUT TLS" in gateway_home.runtime.log.lines[0]
        with gateway_home.client() as client:
            token = gateway_home.home.system.token.read_text().strip()
            for host, status in (("Atlas.example", 200), ("evil.example", 403)):
                with RawConnection(client.url) as raw:
                    raw.send(
                        *("GET /health HTTP/1.1", f"Host: {host}"),
                        *(f"Authorization: Bearer {token}", "Connection: close"),
                        host=False,
                    )
                    assert raw.status() == status


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def gateway_home(tmp_path: Path, files: tuple[Path, Path]) -> Iterator[GatewayHome]:
    cert, key = files
    bounds = {"tls_cert": str(cert), "tls_key": str(key), "head_seconds": 0.4}
    with running_gateway(tmp_path, **bounds) as gateway_home:
        gateway_home.add_agent()
        gateway_home.log_events("agent.created")
        yield gateway_home


@needs_openssl
def test_own_clients_verify_the_configured_certificate(
    gateway_home: GatewayHome, tmp_path: Path
) -> None:
    with gateway_home.client() as client:
        assert client.url.startswith("https://127.0.0.1:")
        assert client.health().pid
        with client.follow_events(AGENT) as follower:
            event = follower.next(within_seconds=10)
            assert event is not None
            assert event.type == "agent.created"
        token = gateway_home.home.system.token.read_text().strip()
        with (
            Client(client.url, token) as stranger,
            pytest.raises(NotReachable, match="certificate"),
        ):
            stranger.health()
        other = certificate(tmp_path, "other.example")[0]
        with (
            Client(client.url, token, cert=other) as misled,
            pytest.raises(NotReachable, match="certificate"),
        ):
            misled.health()
        assert ask(client.url.replace("https", "http"), token, "/health")[0] == 0


@needs_openssl
def test_cookie_of_a_tls_gateway_is_secure(gateway_home: GatewayHome) -> None:
    with gateway_home.client() as client:
        trust = trust_of(client.url, Path(gateway_home.runtime.config.http.tls_cert))
        assert isinstance(trust, ssl.SSLContext)
        code = client.create_login_link().path.partition("#")[2]
        with httpx.Client(verify=trust, trust_env=False, base_url=client.url) as http:
            answer = http.post("/login", json={"code": code}, headers={"Origin": client.url})
            assert "secure" in answer.headers["set-cookie"].lower().split("; ")
            plain = client.url.replace("https", "http")
            refused = http.get("/health", headers={"Origin": plain})
            assert refused.status_code == 403
            assert "origin" in refused.json()["detail"]


@needs_openssl
def test_keys_and_audit_outlive_a_gateway_that_is_killed_by_a_call(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    """The whole way, with real processes: settings, supervisor, commands, TLS, kill -9."""
    commands = Commands(tmp_path / "home")
    home, (cert, key) = commands.home, files
    home.mkdir()
    (home / "agiraph.yaml").write_text(f"http: {{tls_cert: {cert}, tls_key: {key}}}\n")
    with commands.supervisor(), Client.for_home(home) as client:
        first = client.health().pid
        secret = client.add_token(CreateTokenRequest(name="ci", scope="control")).token
        assert secret is not None
        code = client.create_login_link(scope="read").path.partition("#")[2]
        trust = trust_of(client.url, cert)
        with httpx.Client(verify=trust, trust_env=False) as http:
            origin = {"Origin": client.url}
            answer = http.post(f"{client.url}/login", json={"code": code}, headers=origin)
            cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
            with Client(client.url, secret, cert=cert, patience_seconds=0) as ci:
                try:
                    ci.act("human", "kill")
                except NotReachable:
                    pass  # it died before it could answer
            until(lambda: _pid(client) not in (None, first), "another gateway")
            http.headers.clear()
            assert http.get(f"{client.url}/agents", headers=cookie).status_code == 200
            again = http.post(f"{client.url}/login", json={"code": code}, headers=origin)
            assert again.status_code == 403
        assert run(home, "tokens", "revoke", "ci") == "revoked: ci\n"
        with (
            Client(client.url, secret, cert=cert) as ci,
            pytest.raises(ApiError, match="revoked"),
        ):
            ci.health()
    lines = [json.loads(line) for line in (home / "human/audit.jsonl").read_text().splitlines()]
    kills = [line for line in lines if line["path"] == "/entities/human/kill"]
    assert (kills[0]["who"], kills[0]["status"]) == ("ci", None)
    everything = "".join(
        path.read_text(errors="replace")
        for path in home.rglob("*")
        if path.is_file() and not path.is_symlink() and path != home / "system" / "token"
    )
    own = (home / "system" / "token").read_text().strip()
    for hidden in (secret, code, cookie["Cookie"].partition("=")[2], own):
        assert hidden not in everything
    for name in ("human/tokens.json", "human/audit.jsonl", "system/token"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600


def _pid(client: Client) -> int | None:
    try:
        return client.health().pid
    except NotReachable:
        return None


def run(home: Path, *args: str) -> str:
    result = CliRunner().invoke(agiraph, [*args, "--home", str(home)])
    assert result.exit_code == 0, result.stderr
    return result.stdout

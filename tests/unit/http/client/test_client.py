"""The typed clients: one definition of each call, keys on changes, retries during restarts."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from agiraph.http.api import AgentView, ApiError, CreateAgentRequest, NotReachable, SentView
from agiraph.http.client import AsyncClient, Client
from agiraph.http.client.call import ApiCall
from agiraph.http.client.connection import ApiCalls
from agiraph.http.errors import GatewayAway
from tests.unit.http.client.test_coverage import verbs

SENT = {"id": "00", "to": ["coordinator"], "ts": 1.0}
KEY = "Idempotency-Key"
KEYED = {"Authorization": "Bearer t"}

Handler = Callable[[httpx.Request], httpx.Response]


def client_of(handler: Handler, patience_seconds: float = 5.0) -> Client:
    """Return a client whose gateway is a function; it has answered once."""
    client = Client("http://gateway", "t", patience_seconds=patience_seconds)
    client._http.close()
    client._http = httpx.Client(
        base_url="http://gateway", transport=httpx.MockTransport(handler), headers=KEYED
    )
    client._has_answered = True
    return client


class FlakyGateway:
    """A gateway that fails its first calls; records requests."""

    def __init__(self, deaths: int, error: type[httpx.TransportError] = httpx.ReadError) -> None:
        self.deaths = deaths
        self.error = error
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if len(self.requests) <= self.deaths:
            raise self.error("gone")
        return httpx.Response(200, json=SENT)


def test_a_call_that_a_restart_broke_is_made_again_under_the_same_key() -> None:
    gateway = FlakyGateway(deaths=2)
    with client_of(gateway) as client:
        sent: SentView = client.send("shop", "hello")
    assert sent.id == "00"
    keys = {request.headers[KEY] for request in gateway.requests}
    assert (len(gateway.requests), len(keys)) == (3, 1)


def test_two_calls_have_two_keys_and_a_callers_own_key_is_used() -> None:
    gateway = FlakyGateway(deaths=0)
    with client_of(gateway) as client:
        client.send("shop", "hello")
        client.send("shop", "hello")
        client.send("shop", "hello", key="mine")
    one, other, own = (request.headers[KEY] for request in gateway.requests)
    assert one != other
    assert own == "mine"


def test_reading_call_has_no_idempotency_key() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert KEY not in request.headers
        return httpx.Response(200, json=[])

    with client_of(answer) as client:
        assert client.agents() == []
        assert client.search_memory("shop", "heat") == []


def test_client_does_not_wait_for_a_gateway_it_never_reached() -> None:
    gateway = FlakyGateway(deaths=9, error=httpx.ConnectError)
    with client_of(gateway) as client:
        client._has_answered = False
        with pytest.raises(NotReachable):
            client.agents()
    assert len(gateway.requests) == 1


def test_retries_end_with_the_patience_or_with_an_expected_shutdown() -> None:
    gateway = FlakyGateway(deaths=10**9)
    with client_of(gateway, patience_seconds=0.0) as client, pytest.raises(NotReachable):
        client.agents()
    with client_of(gateway) as client:
        client._is_expected = lambda: False
        with pytest.raises(NotReachable):
            client.agents()
    assert len(gateway.requests) == 2


def test_a_call_that_took_too_long_is_not_made_again() -> None:
    gateway = FlakyGateway(deaths=1, error=httpx.ReadTimeout)
    with client_of(gateway) as client, pytest.raises(NotReachable):
        client.send("shop", "hello")
    assert len(gateway.requests) == 1


@pytest.mark.parametrize(
    ("response", "detail", "type"),
    [
        (httpx.Response(404, json={"detail": "no 'x'", "type": "urn:x"}), "no 'x'", "urn:x"),
        (httpx.Response(502, text="<html>"), "the gateway answered 502", "about:blank"),
        (httpx.Response(503, json=["?"]), "the gateway answered 503", "about:blank"),
    ],
)
def test_a_refusal_is_an_error_with_its_reason(
    response: httpx.Response, detail: str, type: str
) -> None:
    with client_of(lambda request: response) as client, pytest.raises(ApiError) as error:
        client.agents()
    assert (error.value.detail, error.value.type) == (detail, type)
    assert error.value.status == response.status_code


async def test_async_client_repeats_calls_like_the_sync_client() -> None:
    gateway = FlakyGateway(deaths=1)
    async with AsyncClient("http://gateway", "t") as client:
        await client._http.aclose()
        client._http = httpx.AsyncClient(
            base_url="http://gateway", transport=httpx.MockTransport(gateway), headers=KEYED
        )
        client._has_answered = True
        sent: SentView = await client.send("shop", "hello", to="Ada")
        assert sent.to == ("coordinator",)
    assert [request.url.path for request in gateway.requests] == ["/agents/shop/send"] * 2


def test_response_of_another_home_at_a_reused_port_is_ignored(
    tmp_path: Path,
) -> None:
    def answers(request: httpx.Request) -> httpx.Response:
        if request.url.port == 8765:
            return httpx.Response(401, json={"detail": "unknown token"})
        return httpx.Response(200, json=[])

    found: list[Callable[[], tuple[str, str]]] = [
        lambda: ("http://gateway:8766", "t"),
        _restarting,
    ]
    with client_of(answers) as client:
        client._http.base_url = client.url = "http://gateway:8765"
        client._home = tmp_path
        client._is_expected = lambda: True
        client._door = lambda: (found.pop() if len(found) > 1 else found[0])()
        assert client.agents() == []
    assert client.url == "http://gateway:8766"


def _restarting() -> tuple[str, str]:
    raise GatewayAway("its gateway has ended and is being restarted")


def test_every_call_is_documented_and_has_a_name_that_help_shows() -> None:
    assert len(verbs()) > 30
    assert all(verb.__doc__ for verb in verbs().values())
    with Client("http://gateway", "t") as client:
        assert client.create_agent.__name__ == "create_agent"


def test_name_that_would_change_the_path_is_refused_before_sending() -> None:
    with client_of(FlakyGateway(deaths=0)) as client:
        for name in ("", ".", ".."):
            with pytest.raises(ApiError, match="there is no"):
                client.agent(name)
    call: ApiCall[AgentView] = ApiCalls.create_agent._describe(None, CreateAgentRequest(goal="x"))
    assert (call.method, call.path, call.timeout_seconds) == ("POST", "/agents", 60.0)

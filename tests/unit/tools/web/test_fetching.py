"""Fetching a page: redirects, sizes, encodings, addresses, and names that change their answer."""

import asyncio

import pytest

from agiraph.core.errors import Refused
from agiraph.settings.config import WebConfig, load_config
from agiraph.tools.web.addresses import why_refused
from agiraph.tools.web.fetching import FetchedPage, PageFetcher, Resolve, resolve
from tests.fakes.site import FakeSite

AGENT = "Agiraph (test)"


def settings(**over: object) -> WebConfig:
    values: dict[str, object] = {"max_bytes": 100_000, "allow_private": True, "user_agent": AGENT}
    return load_config().web.model_copy(update=values | over)


def answering(*answers: list[str]) -> tuple[Resolve, list[str]]:
    """Return a resolver with one answer a look-up, the last repeated, and its requests."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return answers[min(len(asked), len(answers)) - 1]

    return resolve, asked


async def fetch(
    url: str, resolve: Resolve = resolve, proxy: str | None = None, **over: object
) -> FetchedPage:
    environ = {"HTTP_PROXY": proxy} if proxy else {}
    fetcher = PageFetcher(settings(**over), resolve, environ)
    try:
        async with asyncio.timeout(20):
            return await fetcher.fetch(url)
    finally:
        await fetcher.close()


async def test_fetched_page_has_status_type_and_body(site: FakeSite) -> None:
    got = await fetch(f"{site.url}/article")
    assert (got.status, got.mime, got.is_whole) == (200, "text/html", True)
    assert b"Chips" in got.body
    assert site.requests[0].headers["Host"] == f"127.0.0.1:{site.port}"
    assert site.requests[0].headers["User-Agent"] == AGENT


async def test_redirects_are_followed_up_to_a_bound(site: FakeSite) -> None:
    assert (await fetch(f"{site.url}/redirect/5")).url == f"{site.url}/article"
    with pytest.raises(Refused, match="more than 5 times"):
        await fetch(f"{site.url}/redirect/6")


async def test_circular_redirects_are_refused(site: FakeSite) -> None:
    with pytest.raises(Refused, match="in a circle"):
        await fetch(f"{site.url}/loop/a")
    assert site.paths() == ["/loop/a", "/loop/b"]


@pytest.mark.parametrize(
    "where", ["ftp://example.com/x", "file:///etc/passwd", "javascript:alert(1)"]
)
async def test_a_redirect_out_of_the_web_is_refused(site: FakeSite, where: str) -> None:
    with pytest.raises(Refused, match="scheme"):
        await fetch(f"{site.url}/to?url={where}")


async def test_long_body_is_cut_while_streaming(site: FakeSite) -> None:
    got = await fetch(f"{site.url}/huge")
    assert (len(got.body), got.is_whole) == (100_000, False)


async def test_a_compressed_bomb_never_makes_more_than_the_limit(site: FakeSite) -> None:
    got = await fetch(f"{site.url}/bomb")
    assert (len(got.body), got.is_whole) == (100_000, False)


@pytest.mark.parametrize("name", ["gzip", "deflate", "bare"])
async def test_compressed_bodies_are_read(site: FakeSite, name: str) -> None:
    assert (await fetch(f"{site.url}/coded/{name}")).body == b"squeezed words"


@pytest.mark.parametrize(("name", "why"), [("br", "encoding 'br'"), ("damaged", "damaged")])
async def test_undecodable_body_is_refused_with_the_reason(
    site: FakeSite, name: str, why: str
) -> None:
    with pytest.raises(Refused, match=why):
        await fetch(f"{site.url}/coded/{name}")


async def test_a_body_that_is_just_as_long_as_allowed_is_whole(site: FakeSite) -> None:
    got = await fetch(f"{site.url}/coded/gzip", max_bytes=len(b"squeezed words"))
    assert got.is_whole
    assert not (await fetch(f"{site.url}/coded/gzip", max_bytes=3)).is_whole


async def test_port_without_a_listener_is_reported() -> None:
    with pytest.raises(Refused, match=r"127\.0\.0\.1 cannot be read"):
        await fetch("http://127.0.0.1:9/")


async def test_a_name_that_cannot_be_resolved_is_refused() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise OSError(-2, "Name or service not known")

    with pytest.raises(Refused, match=r"no-such-host\.example cannot be resolved"):
        await fetch("http://no-such-host.example/", resolve)


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("127.0.0.1", "this machine"),
        ("[::1]", "this machine"),
        ("localhost", "local name"),
        ("printer.local", "local name"),
        ("10.1.2.3", "private"),
        ("169.254.169.254", "link-local"),
        ("[::ffff:127.0.0.1]", "this machine"),
    ],
)
async def test_local_hosts_are_refused_before_anything_is_asked(host: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        await fetch(f"http://{host}/", allow_private=False)


async def test_a_public_name_with_a_private_address_is_refused() -> None:
    resolve, asked = answering(["127.0.0.1"])
    with pytest.raises(Refused, match="not fetched"):
        await fetch("http://example.com/", resolve, allow_private=False)
    assert asked == ["example.com"]


@pytest.mark.parametrize("spelled", ["2130706433", "0x7f.1", "0177.0.0.1"])
async def test_obfuscated_ip_address_is_refused(spelled: str) -> None:
    with pytest.raises(Refused):
        await fetch(f"http://{spelled}/", allow_private=False)


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge addresses as ever, but take the site's own for a public one."""
    monkeypatch.setattr(
        "agiraph.tools.web.fetching.why_refused",
        lambda address: None if address == "127.0.0.1" else why_refused(address),
    )


@pytest.mark.usefixtures("public")
async def test_connection_uses_the_checked_address(site: FakeSite) -> None:
    """A name is looked up once a hop: a second answer has no effect."""
    resolve, asked = answering(["127.0.0.1"], ["10.0.0.1"])
    url = f"http://example.com:{site.port}/article"
    assert (await fetch(url, resolve, allow_private=False)).status == 200
    assert asked == ["example.com"]
    assert site.requests[0].headers["Host"] == f"example.com:{site.port}"


@pytest.mark.usefixtures("public")
async def test_redirect_is_checked_again(site: FakeSite) -> None:
    resolve, _ = answering(["127.0.0.1"], ["169.254.169.254"])
    url = f"http://example.com:{site.port}/to?url=http://metadata.example/latest"
    with pytest.raises(Refused, match=r"metadata\.example is not fetched: its address is link-loc"):
        await fetch(url, resolve, allow_private=False)
    assert site.paths() == ["/to"]


async def test_the_next_address_is_tried_when_one_does_not_answer(site: FakeSite) -> None:
    resolve, _ = answering(["127.0.0.2", "127.0.0.1"])
    assert (await fetch(f"http://example.com:{site.port}/article", resolve)).status == 200


async def test_proxy_resolves_the_host_name(site: FakeSite) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise AssertionError("the proxy resolves")

    fetched = await fetch("http://example.com/article", resolve, site.url, allow_private=False)
    assert fetched.status == 200
    assert site.requests[0].headers["Host"] == "example.com"
    with pytest.raises(Refused, match="not fetched"):
        await fetch("http://192.168.1.1/", resolve, site.url, allow_private=False)

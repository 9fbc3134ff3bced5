"""Each search service's wire format, against a server that speaks all of them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agiraph.core.errors import InvalidInput, Refused
from agiraph.settings.config import load_config
from agiraph.tools.web.key_names import KEY_NAMES
from agiraph.tools.web.searching import WebSearch
from agiraph.tools.web.services import (
    NAMES,
    SERVICES,
    SearchHit,
    advice,
    chosen,
    service_named,
    why_unusable,
)
from tests.fakes.site import FakeSite, SiteRequest
from tests.unit.tools.web.inline import InlineReader

KEYS = {"BRAVE_API_KEY": "bk", "SERPER_API_KEY": "sk", "TAVILY_API_KEY": "tk"}


async def search(
    site: FakeSite,
    name: str,
    query: str = " chips 2026 ",
    environ: Mapping[str, str] = KEYS,
    at: str = "",
) -> list[SearchHit]:
    path = {"searxng": "", "duckduckgo": "/duckduckgo/"}.get(name, f"/{at or name}")
    values = {"search": name, "search_url": f"{site.url}{path}", "results": 3}
    config = load_config().web.model_copy(update=values)
    asking = WebSearch(config, environ, InlineReader(), pause_seconds=0)
    try:
        return await asking.hits(query)
    finally:
        await asking.close()


def asked(site: FakeSite) -> SiteRequest:
    [seen] = site.requests
    return seen


@pytest.mark.parametrize("name", ["brave", "serper", "tavily", "searxng"])
async def test_every_search_service_returns_the_same_hits(site: FakeSite, name: str) -> None:
    assert await search(site, name) == [
        SearchHit(f"Result {n}", f"https://example.com/{n}", f"About {n}.") for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("name", "method", "path", "header", "given"),
    [
        (
            *("brave", "GET", "/brave", ("X-Subscription-Token", "bk")),
            {"q": ["chips 2026"], "count": ["3"], "text_decorations": ["false"]},
        ),
        ("serper", "POST", "/serper", ("X-API-KEY", "sk"), {"q": "chips 2026", "num": 3}),
        (
            *("tavily", "POST", "/tavily", ("Authorization", "Bearer tk")),
            {"query": "chips 2026", "max_results": 3},
        ),
        ("searxng", "GET", "/search", None, {"q": ["chips 2026"], "format": ["json"]}),
    ],
)
async def test_each_search_service_receives_its_request_format(
    site: FakeSite, name: str, method: str, path: str, header: tuple[str, str] | None, given: Any
) -> None:
    await search(site, name, environ=KEYS if header else {})
    seen = asked(site)
    assert (seen.method, seen.path) == (method, path)
    assert header is None or seen.headers[header[0]] == header[1]
    assert (json.loads(seen.body) if method == "POST" else seen.query) == given


async def test_duckduckgo_is_asked_by_its_library(site: FakeSite) -> None:
    pytest.importorskip("ddgs")
    hits = await search(site, "duckduckgo", environ={})
    assert [hit.url for hit in hits] == [f"https://example.com/{n}" for n in (1, 2, 3)]
    assert (asked(site).method, asked(site).path) == ("POST", "/duckduckgo/")


async def test_busy_search_service_is_retried(site: FakeSite) -> None:
    site.troubles = [429, 503]
    assert len(await search(site, "brave")) == 3
    assert len(site.requests) == 3


@pytest.mark.parametrize(
    ("troubles", "expected", "times"),
    [
        ([429] * 3, "brave has been asked too often", 3),
        ([401], "brave refuses the key in BRAVE_API_KEY", 1),
        (
            [422],
            r"answered 422:\n\[its own text \w+, untrusted.*\]\n\{\"error\": \"no\"\}\n\[end",
            1,
        ),
    ],
)
async def test_refusal_of_a_search_service_is_reported(
    site: FakeSite, troubles: list[int], expected: str, times: int
) -> None:
    site.troubles = troubles
    with pytest.raises(Refused, match=expected):
        await search(site, "brave")
    assert len(site.requests) == times


async def test_an_answer_of_another_service_is_refused(site: FakeSite) -> None:
    with pytest.raises(Refused, match="tavily gave an answer that cannot be read"):
        await search(site, "tavily", at="brave")


async def test_unreachable_search_service_is_reported(site: FakeSite) -> None:
    site.close()
    with pytest.raises(Refused, match="serper cannot be reached"):
        await search(site, "serper")
    site.__post_init__()


async def test_empty_query_and_missing_key_are_refused(site: FakeSite) -> None:
    with pytest.raises(InvalidInput, match="query is empty"):
        await search(site, "brave", query="  ")
    with pytest.raises(Refused, match=r"BRAVE_API_KEY is not set \(export BRAVE_API_KEY=..."):
        await search(site, "brave", environ={})
    assert not site.requests


@pytest.mark.parametrize(
    ("search", "url", "environ", "name"),
    [
        ("auto", "", {}, "duckduckgo"),
        ("auto", "http://searx", {}, "searxng"),
        ("auto", "", {"TAVILY_API_KEY": "t", "SERPER_API_KEY": "s"}, "serper"),
        ("auto", "http://x", {"TAVILY_API_KEY": "t"}, "tavily"),
        ("tavily", "", {"BRAVE_API_KEY": "b"}, "tavily"),
    ],
)
def test_the_service_follows_from_settings_and_keys(
    search: str, url: str, environ: dict[str, str], name: str
) -> None:
    assert chosen(search, url, environ) == name


def test_unusable_search_service_has_a_reason_and_advice() -> None:
    for name in NAMES:
        reason = why_unusable(name, "", {}, has_ddgs=False)
        assert reason
        assert advice(name)
        assert why_unusable(name, "http://x", KEYS, has_ddgs=True) is None
    with pytest.raises(InvalidInput, match=r"unknown search service 'bing' \(known: brave"):
        service_named("bing")


def test_key_names_match_the_table_of_services() -> None:
    assert {service.key_env for service in SERVICES if service.key_env} == KEY_NAMES

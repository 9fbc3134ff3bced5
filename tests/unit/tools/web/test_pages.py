"""PageReader: the text of a url's body, robots.txt, and the cache."""

from types import SimpleNamespace

import httpx
import pytest

from agiraph.core.clock import SystemClock
from agiraph.core.errors import Refused
from agiraph.settings.config import WebConfig, load_config
from agiraph.tools.web.fetching import PageFetcher
from agiraph.tools.web.pages import PageCache, PageReader, PageText
from tests.fakes.site import FakeSite
from tests.unit.tools.web.inline import InlineReader


def settings(**over: object) -> WebConfig:
    return load_config().web.model_copy(update={"allow_private": True} | over)


async def read(*urls: str, **over: object) -> PageText:
    """Read pages one after the other with the same reader; return the last."""
    config = settings(**over)
    fetcher = PageFetcher(config)
    pages = PageReader(config, fetcher, InlineReader(), SystemClock())
    try:
        return [await pages.page(url) for url in urls][-1]
    finally:
        await fetcher.close()


async def test_a_page_becomes_markdown_without_menus_and_scripts(site: FakeSite) -> None:
    page = await read(f"{site.url}/article")
    assert page.title == "Chips in 2026"
    assert "grown by a third" in page.text
    assert "| Acme | 61 % |" in page.text
    assert f"]({site.url}/more" in page.text
    for noise in ("alert(1)", "Cookies"):
        assert noise not in page.text


async def test_the_links_of_a_page_are_listed_once(site: FakeSite) -> None:
    listed = (await read(f"{site.url}/article")).text.partition("## Links of this page")[2]
    assert listed.split("\n- ")[1:] == [
        f"[Menu]({site.url}/menu)",
        f"[the next page]({site.url}/more)",
    ]


@pytest.mark.parametrize("name", ["utf8", "header", "cp1252", "nonsense"])
async def test_text_is_decoded_from_every_encoding(site: FakeSite, name: str) -> None:
    assert (await read(f"{site.url}/text/{name}")).text == "Größe: 5 € – „gut“"


async def test_declared_encoding_of_a_page_is_used(site: FakeSite) -> None:
    assert "Größe" in (await read(f"{site.url}/meta")).text


async def test_undecodable_bytes_are_replaced(site: FakeSite) -> None:
    assert (await read(f"{site.url}/text/lying")).text.startswith("caf\N{REPLACEMENT CHARACTER}")


async def test_json_is_shown_unchanged(site: FakeSite) -> None:
    assert (await read(f"{site.url}/text/json")).text == '{"size": 5}'
    assert (await read(f"{site.url}/text/bare")).text == "plain words"


@pytest.mark.parametrize(
    ("name", "content_type"),
    [("pdf", "application/pdf"), ("png", "image/png"), ("unnamed", "unknown kind")],
)
async def test_content_that_is_not_text_is_refused_by_type(
    site: FakeSite, name: str, content_type: str
) -> None:
    with pytest.raises(Refused, match=rf"{content_type}.*possible: HTML, text, JSON, XML"):
        await read(f"{site.url}/text/{name}")


async def test_error_status_is_refused_with_its_number(site: FakeSite) -> None:
    with pytest.raises(Refused, match="answered 404 Not Found"):
        await read(f"{site.url}/status/404")


async def test_too_long_page_is_marked(site: FakeSite) -> None:
    page = await read(f"{site.url}/huge", max_bytes=10_000)
    assert page.note == "[longer than 10000 bytes: the rest was not read]"
    assert len(page.text) == 10_000


async def test_deeply_nested_page_is_refused(site: FakeSite) -> None:
    with pytest.raises(Refused, match="cannot be read: it is nested too deep"):
        await read(f"{site.url}/nested")


async def test_page_forbidden_by_robots_is_refused(site: FakeSite) -> None:
    site.robots = "User-agent: *\nAllow: /article\nDisallow: /\n"
    assert (await read(f"{site.url}/article")).title == "Chips in 2026"
    with pytest.raises(Refused, match=r"robots\.txt does not allow it"):
        await read(f"{site.url}/more")
    assert "/more" not in site.paths()


async def test_robots_rules_for_agiraph_apply(site: FakeSite) -> None:
    site.robots = "User-agent: *\nAllow: /\n\nUser-agent: agiraph\nDisallow: /more*page$\n"
    assert (await read(f"{site.url}/article")).title
    with pytest.raises(Refused, match="does not allow"):
        await read(f"{site.url}/more/any/page")


async def test_robots_are_checked_at_each_redirect(site: FakeSite) -> None:
    site.robots = "User-agent: *\nDisallow: /article\n"
    with pytest.raises(Refused, match="/article is not fetched"):
        await read(f"{site.url}/redirect/2")
    assert site.paths() == ["/redirect/2", "/redirect/1"]


async def test_robots_are_fetched_once_per_site(site: FakeSite) -> None:
    site.robots = "User-agent: *\nAllow: /\n"
    await read(f"{site.url}/article", f"{site.url}/more")
    assert [seen.path for seen in site.requests].count("/robots.txt") == 1


async def test_unreadable_robots_refuse_all_pages_and_missing_ones_none(
    site: FakeSite,
) -> None:
    site.robots_status = 503
    with pytest.raises(Refused, match="cannot be read now"):
        await read(f"{site.url}/article")
    site.robots_status = 403
    assert (await read(f"{site.url}/article")).title


async def test_robots_may_be_ignored_by_the_settings(site: FakeSite) -> None:
    site.robots = "User-agent: *\nDisallow: /\n"
    assert (await read(f"{site.url}/article", robots=False)).title
    assert "/robots.txt" not in [seen.path for seen in site.requests]


async def test_repeated_page_comes_from_the_cache(site: FakeSite) -> None:
    await read(f"{site.url}/article", f"{site.url}/article#part")
    assert site.paths() == ["/article"]
    await read(f"{site.url}/article", f"{site.url}/article", cache_seconds=0)
    assert site.paths() == ["/article"] * 3


async def test_each_further_address_is_permitted_also_if_the_page_is_in_memory(
    site: FakeSite,
) -> None:
    config, asked = settings(), list[str]()

    async def permit(url: httpx.URL) -> None:
        asked.append(url.path)
        if len(asked) > 4:
            raise Refused("not there")

    fetcher = PageFetcher(config)
    pages, url = (
        PageReader(config, fetcher, InlineReader(), SystemClock()),
        f"{site.url}/redirect/2",
    )
    try:
        await pages.page(url, permit=permit)
        assert asked == ["/redirect/1", "/article"]
        await pages.page(url, permit=permit)
        assert asked == ["/redirect/1", "/article"] * 2
        with pytest.raises(Refused, match="not there"):
            await pages.page(url, permit=permit)
    finally:
        await fetcher.close()
    assert site.paths() == ["/redirect/2", "/redirect/1", "/article"]


async def test_cached_page_has_its_age_and_is_fetched_again_when_too_old(
    site: FakeSite,
) -> None:
    config, now = settings(), 1000.0
    clock = SimpleNamespace(now=lambda: now, monotonic=lambda: now)
    fetcher = PageFetcher(config)
    pages, url = PageReader(config, fetcher, InlineReader(), clock), f"{site.url}/article"
    try:
        assert (await pages.page(url, since=900.0)).age is None
        now = 1045.0
        assert (await pages.page(url, since=900.0)).age == 45.0
        assert (await pages.page(url, since=1010.0)).age is None
        assert (await pages.page(url, fresh=True)).age is None
    finally:
        await fetcher.close()
    assert site.paths() == ["/article"] * 3


def test_page_cache_is_bounded_in_number_and_time() -> None:
    now = 0.0
    kept = PageCache(2, 10.0, lambda: now)
    for key in "abc":
        kept.put(key, key)
    assert [kept.get(key) for key in "abc"] == [None, "b", "c"]
    now = 10.0
    assert kept.get("c") is None

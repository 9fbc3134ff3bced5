"""Reading: the content of a page as Markdown, without its menus and scripts.

Runs only in the reader process: untrusted content is parsed here, with large libraries.
`trafilatura` finds a page's main text best; if it is not installed, or finds none, the whole
article, main part or body of the page is used, with `markdownify`.
"""

import importlib.util
import re
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from bs4 import BeautifulSoup, Tag

from agiraph.tools.web.decoding import decoded

ROBOTS_NAME = "Agiraph"
NOISE = (
    *("script", "style", "noscript", "template", "nav", "footer", "aside", "form", "iframe"),
    *("svg", "canvas", "button", "dialog", "object", "embed"),
)
SHORTEST_ARTICLE = 200
LINKS = 40
LONGEST_LINK_TEXT = 100


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """One page: its title, its text as Markdown, and its links."""

    title: str
    markdown: str
    links: tuple[tuple[str, str], ...]


def read_page(body: bytes, charset: str, url: str) -> ParsedPage:
    """Return the content of an HTML page."""
    html = decoded(body, charset, is_markup=True)
    soup = BeautifulSoup(html, "html.parser")
    title = _words(soup.title) if soup.title else ""
    links = _links(soup, url)
    main = _main_text(html, url)
    return ParsedPage(title or _heading(soup), main or _whole_text(soup, url), links)


def _main_text(html: str, url: str) -> str:
    """Return the main text found by trafilatura, '' if it is missing or finds too little."""
    if importlib.util.find_spec("trafilatura") is None:
        return ""
    import trafilatura

    found = trafilatura.extract(
        html,
        url=url,
        output_format="markdown",
        include_links=True,
        include_tables=True,
        include_comments=False,
        favor_recall=True,
    )
    text = (found or "").strip()
    return text if len(text) >= SHORTEST_ARTICLE else ""


def _whole_text(soup: BeautifulSoup, url: str) -> str:
    """Return all text of a page, in its order."""
    import markdownify

    for tag in soup.find_all(NOISE):
        tag.decompose()
    part = soup.find("article") or soup.find("main") or soup.body or soup
    for link in part.find_all("a", href=True):
        link["href"] = _absolute(str(link["href"]), url)
    for image in part.find_all("img"):
        image.replace_with(str(image.get("alt", "")))
    text: str = markdownify.MarkdownConverter(heading_style="ATX").convert_soup(part)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip()


def _heading(soup: BeautifulSoup) -> str:
    first = soup.find("h1")
    return _words(first) if isinstance(first, Tag) else ""


def _links(soup: BeautifulSoup, url: str) -> tuple[tuple[str, str], ...]:
    """Return the first links to other pages, each once, with their words."""
    found: dict[str, str] = {}
    for link in soup.find_all("a", href=True):
        where = _absolute(str(link["href"]), url).partition("#")[0]
        words = _words(link)[:LONGEST_LINK_TEXT]
        if words and where.startswith(("http://", "https://")) and where != url:
            found.setdefault(where, words)
        if len(found) == LINKS:
            break
    return tuple((words, where) for where, words in found.items())


def _absolute(href: str, url: str) -> str:
    try:
        joined = urljoin(url, href.strip())
        urlsplit(joined)
    except ValueError:
        return ""
    return joined


def _words(tag: Tag) -> str:
    return " ".join(tag.get_text(" ").split())


def allows(body: bytes, url: str) -> bool:
    """Whether the rules of a robots.txt allow us to fetch a page.

    Patterns of an untrusted site may take very long to match: call this in a process that can be
    killed.
    """
    from protego import Protego

    rules = Protego.parse(decoded(body))
    return bool(rules.can_fetch(url, ROBOTS_NAME))

"""The pages lead where they say, have their place in the site, and name things that there are."""

import re
from pathlib import PurePosixPath
from typing import Any

import pytest
import yaml

from agiraph.core.event_types import BY_NAME
from agiraph.messages.authorization import MESSAGES
from agiraph.settings.config import configs_folder
from tests.unit.pages import HISTORY, PAGES, ROOT, Page, PagePiece

SETTINGS: dict[str, dict[str, Any]] = yaml.safe_load(
    (configs_folder() / "agiraph.yaml").read_text("utf-8")
)
NAMES = {*BY_NAME, *(message.TYPE for message in MESSAGES)} | {
    f"{section}.{key}" for section, values in SETTINGS.items() for key in values
}
LIKE_A_SETTING = re.compile(rf"^((?:{'|'.join(SETTINGS)})\.[a-z_]+)(\*?)(?=$|[:=,. ])")
INDEX = "docs/index.md"
FILES = (".json", ".jsonl", ".md")


def test_every_page_has_its_place_in_the_site_and_in_the_index() -> None:
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    in_site = re.findall(r"^ +- [^:\n]+: (\S+\.md)$", settings.partition("\nnav:")[2], re.M)
    assert sorted(in_site) == PAGES
    linked = {_target(INDEX, link.text) for link in Page(INDEX).links()}
    assert set(PAGES) - {INDEX} <= linked
    assert INDEX in {_target("README.md", link.text) for link in Page("README.md").links()}


def _target(page: str, link: str) -> str:
    """Return the path of a link's target from the root of the repository."""
    target = (ROOT / page).parent.joinpath(link.partition("#")[0]).resolve()
    return target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""


@pytest.mark.parametrize("name", PAGES)
def test_every_link_has_a_target_in_the_site(name: str) -> None:
    in_site = re.search(r"^PAGES = \$\(wildcard (.*)\)$", (ROOT / "Makefile").read_text(), re.M)
    assert in_site
    for place, link in Page(name).links():
        path = link.partition("#")[0]
        if not path or re.match(r"https?:", path):
            continue
        target = (ROOT / name).parent.joinpath(path).resolve()
        assert target.is_file(), f"{place}: {path}"
        known = PurePosixPath(target.relative_to(ROOT))
        assert any(_is_one(known, pattern) for pattern in in_site[1].split()), f"{place}: {path}"


def _is_one(path: PurePosixPath, pattern: str) -> bool:
    return path.parent == PurePosixPath(pattern).parent and path.match(pattern)


def shown(name: str) -> list[PagePiece]:
    page = Page(name)
    return [*page.code_lines(), *page.quoted()]


@pytest.mark.parametrize("name", PAGES)
def test_every_make_target_and_python_module_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    for place, text in shown(name):
        for words in re.findall(r"(?:^|&& )make((?: [a-z-]+)+)(?= |$)", text):
            assert set(words.split()) <= targets, f"{place}: {text}"
        for module in re.findall(r"python -m ((?:benchmarks|tests)[\w.]*)", text):
            path = ROOT / module.replace(".", "/")
            assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), place


@pytest.mark.parametrize("name", [page for page in PAGES if page != HISTORY])
def test_every_setting_that_is_named_exists(name: str) -> None:
    for place, text in Page(name).quoted():
        match = LIKE_A_SETTING.match(text)
        if match is None or match[1].endswith(FILES):
            continue
        word, has_more = match.groups()
        is_known = any(known.startswith(word) for known in NAMES) if has_more else word in NAMES
        assert is_known, f"{place}: there is no setting, event or message {word!r}"

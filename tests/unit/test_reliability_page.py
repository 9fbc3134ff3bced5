"""docs/reliability.md names only tests, files and commands that there are."""

import re
from pathlib import Path

import click
import pytest

from cli.main import agiraph

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", PAGE)))
FILES = sorted(set(re.findall(r"`((?:agiraph|actors|transport|cli|benchmarks)/[\w/.]+)`", PAGE)))
COMMANDS = sorted(set(re.findall(r"`agiraph ([a-z]+)", PAGE)))


def test_every_line_of_the_page_names_its_proof() -> None:
    rows = [row for row in PAGE.splitlines() if row.startswith("| **")]
    assert len(rows) >= 10
    assert not [row for row in rows if "`tests/" not in row]


@pytest.mark.parametrize("name", TESTS)
def test_every_test_that_is_named_exists(name: str) -> None:
    path, _, test = name.partition("::")
    source = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^(async def {test}\(|def {test}\(|{test} = \w+\.TestCase$)", source, re.M)


@pytest.mark.parametrize("name", FILES)
def test_every_file_that_is_named_exists(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_is_named_exists(name: str) -> None:
    assert agiraph.get_command(click.Context(agiraph), name) is not None

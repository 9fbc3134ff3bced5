"""A public class name exists once in the product."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("agiraph", "actors", "transport", "cli")
CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)

SHARED: dict[str, str] = {
    "Role": "what an entity does in its loop and, in Python programs, who does what on a team",
    "Scheduler": "of triggers and, in Python programs, of the nodes of a graph",
    "Runtime": "an actor's and, in Python programs, what carries out tasks: both are the field's",
    "NodeFailed": "an event of the board, and what a stream of the Python API tells of it",
}
"""Names that several classes have, each with the reason why no other name would be clearer."""


def modules_of(root: Path = ROOT) -> dict[str, list[str]]:
    """Return the modules that define each public class at their top level."""
    places: dict[str, list[str]] = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            for name in CLASS.findall(path.read_text(encoding="utf-8")):
                places[name].append(path.relative_to(root).as_posix())
    return places


@pytest.fixture(scope="module")
def places() -> dict[str, list[str]]:
    return modules_of()


def test_public_class_name_is_unique_in_the_product(places: dict[str, list[str]]) -> None:
    assert len(places) > 500, "the folders of the product were not found"
    several = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in several.items() if name not in SHARED} == {}


def test_a_shared_name_has_a_reason_and_is_shared(places: dict[str, list[str]]) -> None:
    assert all(SHARED.values())
    assert [name for name in SHARED if len(places.get(name, [])) < 2] == []


def test_duplicate_class_name_is_found(tmp_path: Path) -> None:
    for folder in FOLDERS[:2]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.py").write_text("class Same:\n    pass\n")
    assert modules_of(tmp_path) == {"Same": ["agiraph/one.py", "actors/one.py"]}

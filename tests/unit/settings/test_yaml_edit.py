"""Values of a person's YAML are changed in its lines; comments and all else stay."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import Refused
from agiraph.settings.yaml_edit import YamlChange, edited
from agiraph.settings.yaml_text import read_yaml

OWN = """\
# mine
models:  # all of them
  default: a/b   # strong
  worker: c/d

run: {max_nodes: 3}  # short
rules:
  # the first one
  - name: one
    action: ask
  - {name: two, action: deny}  # always
names: [x, y]
last: "é: # no comment"
"""


def set_(text: str, *path: str | int, to: Any) -> str:
    return edited(text, [YamlChange(path, to)])


def removed(text: str, *path: str | int) -> str:
    return edited(text, [YamlChange(path, is_removal=True)])


@pytest.mark.parametrize(
    ("path", "value", "line", "instead"),
    [
        (("models", "default"), "e/f", "default: a/b   # strong", "default: e/f   # strong"),
        (("models", "default"), None, "default: a/b   # strong", "default: null   # strong"),
        (("run", "max_nodes"), 4, "{max_nodes: 3}  # short", "{max_nodes: 4}  # short"),
        (("rules", 1, "action"), "ask", "action: deny}  # always", "action: ask}  # always"),
        (("rules", 0, "action"), "deny", "action: ask\n", "action: deny\n"),
        (("names", 0), "yes", "[x, y]", "['yes', y]"),
        (("names",), [], "[x, y]", "[]"),
        (("last",), "a\nb", '"é: # no comment"', '"a\\nb"'),
    ],
)
def test_only_the_value_changes(
    path: tuple[str | int, ...], value: Any, line: str, instead: str
) -> None:
    assert set_(OWN, *path, to=value) == OWN.replace(line, instead)


def test_new_key_is_inserted_after_its_neighbours() -> None:
    assert set_(OWN, "models", "offline", to=True) == OWN.replace(
        "  worker: c/d\n", "  worker: c/d\n  offline: true\n"
    )
    assert set_(OWN, "run", "max_depth", to=2) == OWN.replace(
        "{max_nodes: 3}", "{max_nodes: 3, max_depth: 2}"
    )
    assert set_(OWN, "web", "robots", to=False) == f"{OWN}\nweb:\n  robots: false\n"
    assert set_("", "web", "robots", to=False) == "web:\n  robots: false\n"
    assert set_("# only\n", "a", to=1) == "# only\n\na: 1\n"
    assert set_("models:\nrun: {}\n", "models", "default", to="a/b") == (
        "models:\n  default: a/b\nrun: {}\n"
    )


def test_items_are_added_and_removed() -> None:
    added = set_(OWN, "rules", 2, to={"name": "three", "action": "allow"})
    assert added == OWN.replace("# always\n", "# always\n  - {name: three, action: allow}\n")
    assert removed(OWN, "rules", 1) == OWN.replace("  - {name: two, action: deny}  # always\n", "")
    assert set_("rules: []\n", "rules", 0, to={"a": 1}) == "rules:\n  - {a: 1}\n"


def test_section_is_removed_with_its_last_key() -> None:
    assert removed(OWN, "models", "worker") == OWN.replace("  worker: c/d\n", "")
    assert removed(OWN, "run", "max_nodes") == OWN.replace("run: {max_nodes: 3}  # short\n", "")
    assert removed(OWN, "run", "nothing") == OWN
    assert removed("a: 1\n", "a") == ""


def test_impossible_change_is_refused() -> None:
    with pytest.raises(Refused, match=r"names\.2\.x"):
        edited("names: &n [1, 2]\nothers: *n\n", [YamlChange(("names", 2, "x"), 3)])
    with pytest.raises(Refused):
        set_("a: 1\n", "a", "b", to=2)


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
KEYS = st.text(alphabet="abcé-", min_size=1, max_size=3)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)


@given(st.lists(st.tuples(KEYS, KEYS, VALUES), max_size=5))
def test_changed_settings_are_read_back(settings: list[tuple[str, str, Any]]) -> None:
    text, wanted = "# mine\n", dict[str, dict[str, Any]]()
    for section, key, value in settings:
        text = set_(text, section, key, to=value)
        wanted.setdefault(section, {})[key] = value
    assert (read_yaml(text) or {}) == wanted
    assert text.startswith("# mine\n")

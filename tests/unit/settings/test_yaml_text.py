"""YAML that a stranger wrote becomes no more than its length says, and takes no long time."""

import subprocess
import sys

import pytest
import yaml

from agiraph.board.plans.plan import parse_plan
from agiraph.core.errors import InvalidInput
from agiraph.settings.yaml_text import DEEPEST, read_yaml

LAUGHS = "nodes:\n- &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"- &{here} [{','.join([f'*{before}'] * 9)}]\n"
    for before, here in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (LAUGHS, "an alias counts as all it holds"),
        ("a: &a {k: 1}\nb:\n" + "  <<: *a\n" * 60_000, "values"),
        ("[" * 100_000, "levels deep"),
        ("{a: " * 100_000, "levels deep"),
        ("- " * 100_000, "levels deep"),
        ("&a [*a]", "stands in itself"),
        ("a: " + "9" * 400_000, "a number of 400000 characters"),
        ("a: " + ":".join(["59"] * 100_000), "a number of 299999 characters"),
        ("a: 0x" + "f" * 400_000, "a number of"),
        ('a: !!int "' + "9" * 400_000 + '"', "a number of 400000 characters"),
        ("a: 2020-13-45", "month"),
        ("a: !!timestamp soon", "cannot be read"),
        ('a: !!int ""', "cannot be read"),
        ("x" * 1_000_001, "1000001 characters"),
        ("run: {}\na: 1\nrun: {}", "the key 'run' is in line 1 already"),
        ("a:\n  - {x: 1, y: {}, x: 2}", "the key 'x' is in line 2 already"),
        ('a: 1\n"a": 2', "the key 'a' is in line 1 already"),
    ],
    ids=lambda value: value[:12],
)
def test_excessive_yaml_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(yaml.YAMLError) as refused:
        read_yaml(text)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &a [1, 2]\nb: *a", {"a": [1, 2], "b": [1, 2]}),
        ("base: &b {x: 1}\nmore: {<<: *b, y: 2}", {"base": {"x": 1}, "more": {"x": 1, "y": 2}}),
        ("n: 12345678901234567890", {"n": 12345678901234567890}),
        ("1: a\n'1': b", {1: "a", "1": "b"}),
        ("- {a: b, b: a}\n- {a: a}", [{"a": "b", "b": "a"}, {"a": "a"}]),
        (f"digest: {'9' * 64}", {"digest": int("9" * 64)}),
        (f"text: {'feed a bad cafe ' * 40}", {"text": ("feed a bad cafe " * 40).strip()}),
        ("[" * DEEPEST + "]" * DEEPEST, None),
    ],
)
def test_ordinary_text_is_read_as_ever(text: str, value: object) -> None:
    found = read_yaml(text)
    assert value is None or found == value


def test_plan_with_expanding_aliases_is_refused_before_expansion() -> None:
    with pytest.raises(InvalidInput, match=r"plan:\d+: is not YAML \(more than 20000 values"):
        parse_plan(LAUGHS)
    with pytest.raises(InvalidInput, match="characters"):
        parse_plan("x" * 300_000)


def test_expanding_aliases_take_little_memory() -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29));"
        "from tests.unit.settings.test_yaml_text import LAUGHS;"
        "from agiraph.board.plans.plan import parse_plan\n"
        "try: parse_plan(LAUGHS)\n"
        "except Exception as error: print(type(error).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "InvalidInput", done.stderr

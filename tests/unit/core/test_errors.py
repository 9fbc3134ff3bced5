"""An unknown name: the likely name, and a short list of the known names."""

import pytest

from agiraph.core.errors import unknown

MANY = [f"agent-{number}" for number in range(500)]


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("x", [], "unknown thing 'x' (known: none)"),
        ("bob", ["alice", "Bobby"], "unknown thing 'bob', did you mean 'Bobby'? (known: Bobby, al"),
        ("minuts", ["t-1 (minutes)"], "did you mean 'minutes'? (known: t-1 (minutes))"),
        ("zzz", MANY, "'zzz' (known: agent-0, agent-1, agent-10, agent-100, agent-101 and 495 mo"),
        ("agnt-77", MANY, "did you mean 'agent-77' or '"),
        ("agnt-77", MANY, "(known: agent-77, "),
    ],
)
def test_nearest_known_names_come_first_and_the_rest_is_counted(
    name: str, known: list[str], expected: str
) -> None:
    assert expected in str(unknown("thing", name, known))

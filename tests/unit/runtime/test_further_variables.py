"""Who is given a secret is told from who is not: the spawner may see nothing of it."""

from pathlib import Path

import pytest

from actors.runtime.launch import ActorLaunch
from actors.supervisor.launcher import further_variables

ENVIRON = {"PATH": "/bin", "ANTHROPIC_API_KEY": "sk-ant-x", "BRAVE_API_KEY": "b", "AGIRAPH_X": "1"}


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("broker", {"ANTHROPIC_API_KEY"}),
        ("web", {"BRAVE_API_KEY"}),
        ("worker", set()),
        ("coordinator", set()),
        ("recorder", set()),
    ],
)
def test_what_a_process_may_see_beyond_the_spawner(kind: str, names: set[str]) -> None:
    launch = ActorLaunch(
        address=kind, kind=kind, incarnation=1, ticket=b"", router_url="", home=Path("/"),
        args={}, config={},
    )  # fmt: skip
    assert further_variables(launch, ENVIRON) == names

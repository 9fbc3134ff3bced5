"""A team of three that exchanges messages is recorded, and replayed to its end every time."""

from pathlib import Path

import pytest

from tests.fakes.model_server import Reply, Responder, SeenRequest, call, calls
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, bash, finish_with, node, publish, spawn, tell, write

TEAM = ("ada", "bob", "eve")
BOARD = call("check_board")


def member(name: str, *others: str) -> list[Reply | Responder]:
    """Return the steps of a worker that reports its work to the others and the coordinator."""
    return [
        calls(*(tell(other, f"{name} begins") for other in others)),
        write(f"{name}.md", f"a fact of {name}"),
        BOARD,
        tell("coordinator", f"{name} has a fact"),
        calls(call("check_messages"), call("list_shared_values")),
        bash(f"cat {name}.md"),
        tell("*", f"{name} is done"),
        publish(f"a fact of {name}"),
    ]


def lead(seen: SeenRequest) -> Reply:
    """Hire the team, look at the board between the messages, and end when all have published."""
    if seen.step == 0:
        return calls(*map(spawn, TEAM))
    if seen.step == 1:
        return calls(*(node(f"{name}-fact", name) for name in TEAM))
    if seen.step == 2:
        return BOARD
    ended = all(f"{name} completed node" in seen.said for name in TEAM)
    waits = seen.results("wait")
    done = ended or (waits and '"interrupted_by_message": false' in waits[-1])
    return finish_with("check_board")(seen) if done else (WAIT if seen.step % 2 else BOARD)


@pytest.mark.slow
def test_team_is_replayed_repeatedly_under_any_name(live_home: LiveHome, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    parts = {name: member(name, *(other for other in TEAM if other != name)) for name in TEAM}
    live_home.plays(coordinator=lead, **parts)
    assert live_home.lead("Gather facts", "--record", str(file)).code == 0
    live_home.server.requests.clear()
    for name in ("r", "once-more-by-a-long-name"):
        again = live_home.lead("Gather facts", "--model", f"replay/{file}", "--name", name)
        assert again.code == 0, again.progress
        assert {name: again.published(f"{name}-fact") for name in TEAM} == {
            name: {f"{name}.md": f"a fact of {name}"} for name in TEAM
        }
    assert live_home.server.requests == [], "no provider was asked"

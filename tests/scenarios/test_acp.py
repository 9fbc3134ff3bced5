"""An agent that speaks the Agent Client Protocol as a worker: a real process, scripted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import acp_agent
from tests.fakes.model_server import call
from tests.scenarios.house import JsonObject, Outcome
from tests.scenarios.outside import led, once_told
from tests.scenarios.place import Place, whole_lines

Steps = list[JsonObject]


@pytest.fixture
def scripted(place: Place, tmp_path: Path) -> Callable[..., str]:
    """Return a maker of agent commands: the scripted agent with these turns."""
    known = {"driver": "acp", "command": ["python3", acp_agent.__file__]}
    shown = [str(Path(acp_agent.__file__).parent), str(tmp_path)]
    presets: dict[str, Any] = {"scripted": {**known, "resume": ["{options}"], "readable": shown}}
    (place.home / "agents.yaml").write_text(json.dumps(presets))

    def command(*turns: Steps) -> str:
        script = tmp_path / "script.json"
        script.write_text(json.dumps(turns))
        return f"scripted {script}"

    return command


def told_by(outcome: Outcome) -> list[str]:
    """Return what the outside agent has said, in order."""
    [worker] = (outcome.run / "workers").iterdir()
    records = whole_lines(worker / "conversation.jsonl")
    return [record["text"] for record in records if record["kind"] == "said"]


def test_it_tells_asks_is_interrupted_and_goes_on_in_one_session(
    place: Place, scripted: Callable[..., str]
) -> None:
    holding = {"local": "_outbox.md", "content": "@coordinator: I hold\n\n"}
    command = scripted(
        [
            {"say": "I look."},
            {"plan": ["look", "write"]},
            {"tool": "ls", "kind": "execute", "input": {"command": "ls"}, "gives": "nothing yet"},
            {"write": "made.txt", "content": "made through the worker\n"},
            {"read": "made.txt"},
            {"read": "/etc/passwd"},
            {"ask": "make it", "kind": "execute", "input": {"command": "make"}},
            {"cost": 0.25},
            holding,
            {"hold": True},
        ],
        [{"local": "_result.md", "content": "Made made.txt.\n"}, {"say": "All done."}],
    )
    stop = call("send_message", to="ann", content="that is enough", mode="interrupt")
    place.plays(coordinator=led("ann", command, once_told("I hold", stop)))
    outcome = place.lead("Have it made")
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert outcome.published("ann-tool") == {
        "made.txt": "made through the worker\n",
        "_result.md": "Made made.txt.\n",
    }
    said = told_by(outcome)
    assert said[:2] == ["I look.", "Plan:\n- [ ] look\n- [ ] write"]
    assert any("{'content': 'made through the worker\\n'}" in text for text in said)
    assert any("is outside of" in text for text in said)
    assert "outcome once" in "".join(said)
    assert said[-1] == "All done."
    [called] = [e["data"] for e in outcome.events("tool.called") if e["entity"] == "ann"][:1]
    assert (called["tool"], called["arguments"]) == ("bash", {"command": "ls"})
    assert len(outcome.events("outside.started")) == 1
    [ended] = outcome.events("outside.ended")
    assert (ended["data"]["cost_usd"], ended["data"]["input_tokens"]) == (0.25, 20)


def test_one_that_dies_takes_its_session_up_again_and_is_told_nothing_twice(
    place: Place, scripted: Callable[..., str]
) -> None:
    command = scripted(
        [
            {"say": "I begin."},
            {"die": 9, "unless": "died.txt"},
            {"local": "_result.md", "content": "Done after all.\n"},
        ]
    )
    place.plays(coordinator=led("bea", command))
    outcome = place.lead("Have it made")
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert outcome.published("bea-tool")["_result.md"] == "Done after all.\n"
    sessions = [e["data"]["session"] for e in outcome.events("outside.started")]
    assert sessions == ["", "s1"]
    assert "REPLAYED" not in "".join(told_by(outcome))

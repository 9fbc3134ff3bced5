"""A worker whose process dies again and again: given up, its cause told, the team goes on."""

from collections.abc import Iterator

import pytest

from tests.fakes.model_server import call, calls
from tests.scenarios.place import Place, one_worker, placed

SETTINGS = "supervisor:\n  intensity: 1\n"
FACTS = call("write_file", path="facts.md", content="one fact")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("home")
    (home / "agiraph.yaml").write_text(SETTINGS)
    with placed(home) as place:
        yield place


def test_a_worker_that_is_given_up_leaves_notes_and_its_coordinator_plans_again(
    place: Place,
) -> None:
    again = [
        call("spawn_worker", name="bob"),
        call("create_work_node", name="bob-facts", task="Write facts.md", worker="bob"),
        call("wait", nodes=["bob-facts"]),
        call("finish", summary="Done by bob"),
    ]
    sleeper = call("bash", command="sleep 300.018")
    place.plays(
        coordinator=[*one_worker("ada")[:3], *again],
        ada=[sleeper, sleeper],
        bob=[calls(FACTS), call("publish", summary="one fact")],
    )

    def meanwhile() -> None:
        place.await_call(place.worker(place.agent("again"), "ada"), "bash")
        place.kill("worker ada")
        place.server.wait_for(lambda seen: seen.is_for("ada") and seen.step == 1)
        place.kill("worker ada")

    outcome = place.lead("Find a fact", "--name", "again", meanwhile=meanwhile)
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    assert outcome.published("bob-facts") == {"facts.md": "one fact"}
    failed = outcome.events("node.failed")[0]["data"]["reason"]
    assert "2 times within 60 s (last: killed by SIGKILL" in failed
    notes = next((outcome.run / "nodes").glob("ada-facts-*/failure_notes.md"))
    assert notes.relative_to(outcome.run).as_posix() in failed
    assert "# Why 'ada-facts' failed" in notes.read_text()
    assert "Kind: signal" in notes.read_text()
    told = [str(turn) for turn in outcome.conversation() if "failure_notes.md" in str(turn)]
    assert told, "the coordinator's mind has been told where to look"
    crashes = outcome.events("child.crashed")
    assert [crash["data"]["why"]["signal"] for crash in crashes] == [9, 9]
    assert crashes[0]["data"]["why"]["step"].startswith("busy: ")

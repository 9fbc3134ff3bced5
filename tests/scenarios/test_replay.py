"""A run is recorded and replayed without a provider; a run whose model fails falls back."""

import json
from pathlib import Path

from agiraph.llm.recording.request_matching import masked
from tests.fakes.model_server import Reply, SeenRequest, server_error
from tests.scenarios.place import Place
from tests.scenarios.steps import bash, one_worker, publish, write

FACT = bash("ls $AGIRAPH_INPUT > fact.md; cat fact.md")


def test_a_run_is_played_again_and_says_where_it_differs(place: Place, tmp_path: Path) -> None:
    file, folder = tmp_path / "calls.jsonl", tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    place.plays(coordinator=one_worker("ada"), ada=[FACT, publish("listed")])
    recorded = place.lead("List it", "--input", str(folder), "--record", str(file))
    assert recorded.code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert place.server.key not in file.read_text()
    assert len(file.read_text().splitlines()) == 6
    place.server.requests.clear()
    model = ("--model", f"replay/{file}")
    again = place.lead("List it", "--input", str(folder), *model)
    assert again.code == 0, again.progress
    assert masked(again.result["result"]) == masked(recorded.result["result"])
    assert again.published("ada-facts") == recorded.published("ada-facts")
    (folder / "b.txt").write_text("b")
    other = place.lead("List it", "--input", str(folder), *model)
    assert other.code == 1
    assert "the replay diverged at call 2 of" in other.progress
    assert "the result of bash, differs" in other.progress
    assert place.server.requests == [], "no provider was asked"
    missing = place.command("run", "List it", "--model", f"replay/{tmp_path}/none.jsonl")
    assert (missing.returncode, "No such file" in missing.stderr) == (2, True)


def test_another_model_answers_in_the_place_of_one_that_fails(drowsy_place: Place) -> None:
    place = drowsy_place
    steps = [write("fact.md", "x"), publish("done")]

    def work(seen: SeenRequest) -> Reply:
        return server_error() if seen.api == "anthropic" else steps[seen.step]

    place.plays(coordinator=one_worker("ada"), ada=work)
    outcome = place.complete(
        "Write a fact", "--model", "openai/lead", "--worker-model", "weak/fake"
    )
    told = outcome.events("model.fallback")
    assert (told[0]["data"]["model"], told[0]["data"]["to"]) == ("weak/fake", "openai/other")
    assert told[0]["entity"].startswith(f"{outcome.result['agent']}/ada")
    [worker] = outcome.run.glob("workers/ada-*/conversation.jsonl")
    records = [json.loads(line) for line in worker.read_text().splitlines()]
    [notice] = [r["content"] for r in records if "From here on" in r.get("content", "")]
    assert "openai/other answers, in place of weak/fake" in notice

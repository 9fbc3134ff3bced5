"""A run is recorded and replayed without a provider; a run whose model fails falls back."""

import json
from pathlib import Path

from agiraph.llm.recording.request_matching import masked
from tests.fakes.model_server import Reply, SeenRequest, server_error
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import bash, one_worker, publish, write

FACT = bash("ls $AGIRAPH_INPUT > fact.md; cat fact.md")


def test_run_is_replayed_and_a_divergence_is_located(live_home: LiveHome, tmp_path: Path) -> None:
    file, folder = tmp_path / "calls.jsonl", tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    live_home.plays(coordinator=one_worker("ada"), ada=[FACT, publish("listed")])
    recorded = live_home.lead("List it", "--input", str(folder), "--record", str(file))
    assert recorded.code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert live_home.server.key not in file.read_text()
    assert len(file.read_text().splitlines()) == 6
    live_home.server.requests.clear()
    model = ("--model", f"replay/{file}")
    again = live_home.lead("List it", "--input", str(folder), *model)
    assert again.code == 0, again.progress
    assert masked(again.result["result"]) == masked(recorded.result["result"])
    assert again.published("ada-facts") == recorded.published("ada-facts")
    (folder / "b.txt").write_text("b")
    other = live_home.lead("List it", "--input", str(folder), *model)
    assert other.code == 1
    assert "the replay diverged at call 2 of" in other.progress
    assert "the result of bash, differs" in other.progress
    assert live_home.server.requests == [], "no provider was asked"
    missing = live_home.command("run", "List it", "--model", f"replay/{tmp_path}/none.jsonl")
    assert (missing.returncode, "No such file" in missing.stderr) == (2, True)


def test_fallback_model_replaces_a_failing_one(parking_home: LiveHome) -> None:
    live_home = parking_home
    steps = [write("fact.md", "x"), publish("done")]

    def work(seen: SeenRequest) -> Reply:
        return server_error() if seen.api == "anthropic" else steps[seen.step]

    live_home.plays(coordinator=one_worker("ada"), ada=work)
    outcome = live_home.complete(
        "Write a fact", "--model", "openai/lead", "--worker-model", "weak/fake"
    )
    told = outcome.events("model.fallback")
    assert (told[0]["data"]["model"], told[0]["data"]["to"]) == ("weak/fake", "openai/other")
    assert told[0]["entity"].startswith(f"{outcome.result['agent']}/ada")
    [worker] = outcome.run.glob("workers/ada-*/conversation.jsonl")
    records = [json.loads(line) for line in worker.read_text().splitlines()]
    [notice] = [r["content"] for r in records if "From here on" in r.get("content", "")]
    assert "openai/other answers, in place of weak/fake" in notice

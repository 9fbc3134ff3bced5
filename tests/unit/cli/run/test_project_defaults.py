"""`agiraph run` in a project: defaults of its file, and their place in `agiraph config`."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.fakes import AGENT, FakeClient, command, json_of, summary

FILE = """
home = "~/.agiraph-shop"
[run]
model = "openai/gpt-5"
worker-model = "openai/gpt-5-mini"
budget = [2, "500k-tokens"]
input = "."
timeout = "5m"
cycle = "2h"
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a file, which is the current folder."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / ".agiraph.toml").write_text(FILE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AGIRAPH_HOME", raising=False)
    monkeypatch.chdir(folder)
    return folder


def begun(*words: str) -> tuple[Any, str]:
    """Return the requests of a run to the gateway, and its stderr."""
    client = FakeClient(record=summary(status="completed" if "--agent" in words else "working"))
    client.script.append(client.end("completed", "done"))
    told = command(client, "run", "Survey", *words)
    assert told.exit_code == 0, told.stderr
    return client.did[0][-1], told.stderr


def test_project_file_sets_defaults_of_run_and_is_named(shop: Path) -> None:
    asked, told = begun()
    assert (asked.model, asked.worker_model) == ("openai/gpt-5", "openai/gpt-5-mini")
    assert (asked.budget_usd, asked.budget_tokens) == (2.0, 500_000)
    assert (asked.input, asked.cycle_seconds) == (str(shop), None)
    used = "--model, --worker-model, --input, --budget, --timeout"
    assert told.startswith(f".agiraph.toml: {used}\n")
    assert "model openai/gpt-5: from .agiraph.toml" in told
    assert ".agiraph.toml" not in begun("-q")[1]


def test_command_line_option_overrides_the_project_file(shop: Path) -> None:
    asked, told = begun("-m", "anthropic/x", "--budget", "7", "--mode", "infinite")
    assert (asked.model, asked.budget_usd, asked.budget_tokens) == ("anthropic/x", 7.0, None)
    assert asked.cycle_seconds == 7200
    assert "model anthropic/x: from --model" in told
    assert begun("-m", "replay/calls")[0].worker_model == f"replay/{shop}/calls"


def test_a_further_goal_keeps_the_model_and_the_input_of_the_last_run(shop: Path) -> None:
    asked, _ = begun("--agent", AGENT)
    assert (asked.model, asked.worker_model, asked.input) == (None, None, None)
    assert asked.budget_usd == 2.0


def test_timeout_of_the_project_file_does_not_apply_to_a_detached_run(shop: Path) -> None:
    assert "--timeout" not in begun("--detach")[1]


def test_project_file_may_lower_but_not_raise_the_budget(shop: Path) -> None:
    home = shop.parent / ".agiraph-shop"
    home.mkdir()
    (home / "agiraph.yaml").write_text("budgets: {run_usd: 0.5, run_tokens: 900000}")
    asked, _ = begun()
    assert (asked.budget_usd, asked.budget_tokens) == (0.5, 500_000)
    assert begun("--budget", "7")[0].budget_usd == 7.0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mode = 'eternal'", "run.mode: 'eternal' is not one of 'finite', 'infinite'"),
        ("budget = '500k'", "run.budget: '500k' is no budget"),
        ("timeout = 'soon'", "run.timeout: the time 'soon' is no length of time"),
        ("input = 'nowhere'", "run.input: "),
    ],
)
def test_invalid_value_is_refused_with_file_and_key(shop: Path, line: str, expected: str) -> None:
    (shop / ".agiraph.toml").write_text(f"[run]\n{line}\n")
    client = FakeClient()
    result = command(client, "run", "x")
    assert (result.exit_code, client.did) == (2, [])
    assert f"{shop}/.agiraph.toml: {expected}" in result.stderr


def test_every_command_uses_its_home(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"home {shop.parent}/.agiraph-shop" in command(None, "nudge", "a", "b").stderr
    assert "home /tmp/named" in command(None, "--home", "/tmp/named", "nudge", "a", "b").stderr
    monkeypatch.setenv("AGIRAPH_HOME", "/tmp/other")
    assert "home /tmp/other" in command(None, "nudge", "a", "b").stderr


def test_config_shows_the_source_of_each_value(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = shop.parent / ".agiraph-shop"
    home.mkdir()
    settings = home / "agiraph.yaml"
    settings.write_text("budgets: {when_spent: stop}\nmodels: {default: openai/gpt-5}\n")
    file = str(shop / ".agiraph.toml")

    def found(*words: str) -> dict[str, tuple[Any, str]]:
        rows = json_of(command(None, "config", "--json", *words))
        return {row["key"]: (row["value"], row["from"]) for row in rows}

    told = found()
    assert told["home"] == (str(home), file)
    assert told["run.model"] == ("openai/gpt-5", file)
    assert told["run.budget"] == ("2, 500k-tokens", file)
    assert told["run.when-spent"] == ("stop", str(settings))
    assert told["models.default"] == ("openai/gpt-5", str(settings))
    (shop / ".agiraph.toml").unlink()
    assert found("--home", str(home))["home"] == (str(home), "--home")
    assert found("--home", str(home))["run.model"] == ("openai/gpt-5", str(settings))
    monkeypatch.setenv("AGIRAPH_HOME", str(home))
    assert found()["home"] == (str(home), "AGIRAPH_HOME")
    monkeypatch.delenv("AGIRAPH_HOME")
    assert found()["run.when-spent"] == ("ask", "default")

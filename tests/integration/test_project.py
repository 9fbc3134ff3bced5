"""A project's `.agiraph.toml`, by the real command line: a run of its model, budget and home."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.fakes.front_door import run_here
from tests.integration.commands import Commands


@pytest.fixture
def person(tmp_path: Path) -> Commands:
    """A person whose home directory has a project in it, and no AGIRAPH_HOME."""
    (tmp_path / "shop" / "data").mkdir(parents=True)
    (tmp_path / "shop" / "data" / "a.txt").write_text("one\n")
    commands = Commands(tmp_path / ".agiraph-shop", {"HOME": str(tmp_path)})
    del commands.environ["AGIRAPH_HOME"]
    return commands


def told(person: Commands, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a folder of the project."""
    return run_here(words, cwd=person.home.parent / "shop" / "data", environ=person.environ)


def test_a_run_in_a_project_has_its_defaults_and_its_home(person: Commands) -> None:
    file = person.home.parent / "shop" / ".agiraph.toml"
    file.write_text(
        "home = '~/.agiraph-shop'\n"
        "[run]\nmodel = 'script/survey'\ninput = 'data'\nbudget = '90m-tokens'\ntimeout = '2m'\n"
    )
    data = person.home.parent / "shop" / "data"
    done = person.run("--json", "run", "Survey", cwd=data)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert (outcome["status"], "one" in outcome["result"]) == ("completed", True)
    assert outcome["output"].startswith(f"{person.home}/agents/")
    first, *_ = done.stderr.splitlines()
    assert first == ".agiraph.toml: --model, --input, --budget, --timeout"
    [agent] = json.loads(told(person, "agents", "--json").stdout)
    assert agent["id"] == outcome["agent"]
    rows = json.loads(told(person, "config", "--json").stdout)
    found = {row["key"]: (row["value"], row["from"]) for row in rows}
    assert found["home"] == (str(person.home), str(file))
    assert found["run.budget"] == ("90m-tokens", str(file))


@pytest.mark.parametrize("command", [("run", "x"), ("agents",), ("config",)], ids=" ".join)
def test_project_file_with_a_forbidden_setting_is_refused(
    person: Commands, command: tuple[str, ...]
) -> None:
    project = person.home.parent / "shop"
    (project / ".agiraph.toml").write_text(f"home = '{project}/.agiraph'\n")
    done = told(person, *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{project}/.agiraph.toml: home: " in done.stderr
    assert not (project / ".agiraph").exists()

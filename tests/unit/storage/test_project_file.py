"""The file of a project: its search path, and its allowed settings."""

import os
from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.storage.home import HOME_VARIABLE
from agiraph.storage.project_file import NAME, chosen_home, project_file


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's home directory, with a project in it that is the current folder."""
    (tmp_path / "work" / "shop" / "src").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path / "work" / "shop")
    return tmp_path


def write(folder: Path, text: str) -> Path:
    file = folder / NAME
    file.write_text(text)
    return file


def test_the_nearest_file_at_or_above_the_folder_counts(person: Path) -> None:
    shop = person / "work" / "shop"
    assert project_file(shop / "src") is None
    above = write(person, "[run]\nmode = 'infinite'\n")
    assert (found := project_file(shop / "src")) is not None
    assert (found.path, found.run) == (above, {"mode": "infinite"})
    own = write(shop, "")
    assert (found := project_file(shop / "src")) is not None
    assert (found.path, found.home, found.run) == (own, None, {})


def test_the_search_ends_at_the_home_directory(
    person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(person, "")
    monkeypatch.setenv("HOME", str(person / "work"))
    assert project_file() is None


def test_a_file_of_another_user_does_not_count(
    person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(person / "work", "nonsense")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert project_file() is None


def test_values_are_texts_as_on_the_command_line(person: Path) -> None:
    write(
        person / "work" / "shop",
        "[run]\nmodel = 'openai/gpt-5'\nbudget = [2, '500k-tokens']\ntimeout = 90\ninput = 'src'",
    )
    assert (found := project_file()) is not None
    assert found.run == {
        "model": "openai/gpt-5",
        "budget": ["2", "500k-tokens"],
        "timeout": "90",
        "input": str(person / "work" / "shop" / "src"),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hom = 'x'", "unknown key 'hom', did you mean 'home'? (known: home, run)"),
        ("[sandbox]\nmode = 'off'", "unknown key 'sandbox'"),
        ("[channels.x]\nkind = 'webhook'", "unknown key 'channels'"),
        ("[run]\nmodle = 'x'", "unknown key 'run.modle', did you mean 'run.mode' or 'run.model'?"),
        ("[run]\nrecord = 'x'", "unknown key 'run.record'"),
        ("[run]\nagent = 'x'", "unknown key 'run.agent'"),
        ("run = 3", "run: expected a table, [run]"),
        ("[run]\nmodel = 3", "run.model: 3 is not a text"),
        ("[run]\nbudget = true", "run.budget: True is not a text or a number"),
        ("[run]\nbudget = [[2]]", "run.budget: [2] is not a text or a number"),
        ("[run]\ntimeout = [2]", "run.timeout: [2] is not a text or a number"),
        ("[run", "is not TOML (Expected"),
        ("home = '/srv/team'", "home: '/srv/team' is not in your home directory (possible: "),
        ("home = '.agiraph'", "home: '.agiraph' is not in your home directory"),
        ("home = '~/.agiraph-x/../work'", "is not in your home directory"),
        ("home = '~/work'", "is not in your home directory"),
        ("home = 3", "home: 3 is not in your home directory"),
        ("[run]\ninput = '/etc'", "run.input: '/etc' is not in "),
        ("[run]\ninput = '../..'", "run.input: '../..' is not in "),
        ("[run]\nplan = 'out/plan.md'", "run.plan: 'out/plan.md' is not in "),
        ("[run]\nmodel = 'replay/calls.jsonl'", "run.model: a replay would call tools"),
        ("[run]\nworker-model = 'text:replay/x'", "run.worker-model: a replay would call tools"),
    ],
)
def test_invalid_project_setting_is_refused_by_file_and_key(
    person: Path, text: str, expected: str
) -> None:
    shop = person / "work" / "shop"
    (shop / "out").symlink_to("/etc")
    file = write(shop, text)
    with pytest.raises(InvalidInput) as refused:
        project_file()
    assert str(refused.value).startswith(f"{file}: ")
    assert expected in str(refused.value)


@pytest.mark.parametrize("kind", ["pipe", "link", "large"])
def test_irregular_project_file_is_refused(person: Path, kind: str) -> None:
    file = person / "work" / "shop" / NAME
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "link":
            file.symlink_to("/etc/passwd")
        case _:
            file.write_text("#" * 200_000)
    with pytest.raises(InvalidInput, match=NAME):
        project_file()


def test_home_comes_from_the_environment_before_the_project_file(
    person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chosen_home() == person / ".agiraph"
    write(person / "work", "home = '~/.agiraph-shop'")
    assert chosen_home() == person / ".agiraph-shop"
    monkeypatch.setenv(HOME_VARIABLE, "/tmp/named")
    assert chosen_home() == Path("/tmp/named")

"""`agiraph init`: its findings on this machine and its files contain no key."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.core.errors import Refused
from agiraph.models.registry import NO_KEY, load_presets
from agiraph.settings.config import load_config
from cli.commands.init import set_default
from tests.fakes.model_server import FakeModelServer, say
from tests.unit.cli.fakes import command, json_of

KEY = "sk-not-a-real-one-0123456789"


@pytest.fixture(autouse=True)
def _nothing_is_there(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no key be set and no model server answer."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        for preset in load_presets().values():
            for name in preset.key_names:
                monkeypatch.delenv(name, raising=False)
            if preset.local and preset.base_url_env:
                monkeypatch.setenv(preset.base_url_env, nobody)
        yield


def test_a_key_is_found_and_its_model_written_and_the_key_is_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    home = tmp_path / "home"
    shown = command(None, "init", "--yes", "--home", str(home))
    assert shown.exit_code == 0, shown.stderr
    assert "ANTHROPIC_API_KEY is set" in shown.stdout
    assert len(shown.stdout.splitlines()) < 24, "a short table"
    assert load_config(home / "agiraph.yaml").models.default == "anthropic/claude-sonnet-4-6"
    written = [file.read_text() for file in home.rglob("*") if file.is_file()]
    assert not [text for text in (*written, shown.stdout, shown.stderr) if KEY in text]


def test_init_without_a_terminal_writes_only_with_yes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    home = tmp_path / "home"
    shown = command(None, "init", "--home", str(home))
    assert (shown.exit_code, home.exists()) == (0, False)
    assert "with --yes: models.default: anthropic/claude-sonnet-4-6" in shown.stderr


def test_a_model_server_that_answers_is_found_and_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with FakeModelServer(lambda seen: say("Hello.")) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OLLAMA_API_KEY", server.key)
        told = json_of(command(None, "init", "--yes", "--try", "--json", "--home", str(tmp_path)))
        assert (told["model"], told["written"], told["answer"]["ok"]) == ("ollama/fake", True, True)
        assert len(server.requests) == 1
        assert server.key not in str(told)
    (row,) = [row for row in told["found"] if (row["kind"], row["name"]) == ("server", "ollama")]
    assert (row["found"], row["about"]) == (True, "answers: fake")


def test_silent_model_is_reported_and_tried_only_on_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with FakeModelServer(lambda seen: say("never")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        asked = ("init", "--model", "openai/fake", "--home", str(tmp_path))
        assert command(None, *asked).exit_code == 0
        refused = command(None, *asked, "--try")
        assert (refused.exit_code, server.requests) == (1, [])
    assert "openai/fake did not answer" in refused.stderr
    assert KEY not in refused.stdout + refused.stderr


def test_init_without_a_model_names_the_alternatives(tmp_path: Path) -> None:
    shown = command(None, "init", "--yes", "--home", str(tmp_path / "home"))
    assert shown.exit_code == 1
    for way in ("ANTHROPIC_API_KEY=", "ollama/NAME", "script/survey"):
        assert way in shown.stderr
    assert not (tmp_path / "home").exists()
    assert "agiraph init" in NO_KEY


def test_a_model_that_cannot_be_called_is_wrong_usage(tmp_path: Path) -> None:
    for model, reason in (("openai/x", "OPENAI_API_KEY is not set"), ("nope/x", "unknown")):
        shown = command(None, "init", "--model", model, "--yes", "--home", str(tmp_path))
        assert (shown.exit_code, reason in shown.stderr) == (2, True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "models:\n  default: a/b\n"),
        ("run: {max_concurrent: 2}\n", "run: {max_concurrent: 2}\n\nmodels:\n  default: a/b\n"),
        (
            "# mine\nmodels:  # all of them\n  worker: c/d  # light\nrun:\n  max_depth: 2\n",
            "# mine\nmodels:  # all of them\n  worker: c/d  # light\n  default: a/b\nrun:\n"
            "  max_depth: 2\n",
        ),
        ("models: {worker: c/d}\n", "models: {worker: c/d, default: a/b}\n"),
        (
            "models:\n    worker: c/d\n    default: e/f\n",
            "models:\n    worker: c/d\n    default: a/b\n",
        ),
    ],
)
def test_other_settings_are_kept_unchanged(tmp_path: Path, before: str, after: str) -> None:
    own = tmp_path / "agiraph.yaml"
    own.write_text(before)
    set_default(own, "a/b")
    assert own.read_text() == after


def test_existing_settings_keep_their_mode_and_new_ones_are_private(tmp_path: Path) -> None:
    own = tmp_path / "home" / "agiraph.yaml"
    set_default(own, "a/b")
    assert own.stat().st_mode & 0o777 == 0o600
    own.chmod(0o640)
    set_default(own, "c/d")
    assert own.stat().st_mode & 0o777 == 0o640
    assert own.parent.stat().st_mode & 0o777 == 0o700


def test_settings_that_cannot_be_changed_in_place_are_refused_and_stay(tmp_path: Path) -> None:
    own = tmp_path / "agiraph.yaml"
    own.write_text("run: &run {max_depth: 2}\nmodels: *run\n")
    with pytest.raises(Refused, match="write it yourself"):
        set_default(own, "a/b")
    assert own.read_text() == "run: &run {max_depth: 2}\nmodels: *run\n"

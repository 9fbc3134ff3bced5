"""A disk that is full repeatedly, or for minutes, while a team works: nothing is lost."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from cli.chaos.full_disk import run_on_small_disk
from tests.fakes.forked_command import ForkedCommand
from tests.fakes.front_door import run_here
from tests.fakes.small_disk import small_disk

DEADLINE_SECONDS = 240.0
PROGRAM = ["-P", "-m", "agiraph"]
LOOK = 'df -k "$0" | grep -q "^tmpfs *24576 " && touch "$0/inside" && exit 7'


@pytest.mark.slow
def test_repeatedly_full_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Sequence[str]] = []

    def note(folder: Path, command: Sequence[str]) -> int:
        begun.append([word if word != str(folder) else str(tmp_path / "disk") for word in command])
        return 3

    monkeypatch.setattr("cli.commands.chaos.run_on_small_disk", note)
    words = ("chaos", "--full-disk", "--kills", "2", "--seed", "3", "--json")
    assert run_here(words, cwd=tmp_path, environ=os.environ).returncode == 3
    [[_, *again]] = begun
    assert again[: len(PROGRAM)] == PROGRAM
    with small_disk(tmp_path):
        command = ForkedCommand(again[len(PROGRAM) :], cwd=tmp_path, env=os.environ)
        out, errors = command.communicate(DEADLINE_SECONDS)
    assert command.returncode == 0, out + errors
    told = json.loads(out)
    assert told["strikes"] == {"full disk": 2}
    assert told["verdict"] == "good"


@pytest.mark.machines
def test_long_full_disk_loses_nothing(tmp_path: Path) -> None:
    words = ("chaos", "--on", str(tmp_path / "disk"), "--full-disk", "--for", "150s", "--json")
    with small_disk(tmp_path):
        command = ForkedCommand(words, cwd=tmp_path, env=os.environ)
        out, errors = command.communicate(2 * DEADLINE_SECONDS)
    assert command.returncode == 0, out + errors
    told = json.loads(out)
    assert told["strikes"].keys() >= {"full disk", "coordinator kill", "worker kill", "router kill"}
    assert told["verdict"] == "good"


def test_small_disk_is_visible_only_to_the_command_and_removed_with_it(tmp_path: Path) -> None:
    try:
        code = run_on_small_disk(tmp_path, ["sh", "-c", LOOK, str(tmp_path)])
    except InvalidInput as error:
        pytest.skip(str(error))
    assert code == 7
    assert not list(tmp_path.iterdir())

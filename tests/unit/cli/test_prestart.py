"""The head start of a run: when there is one, and that it leaves nothing if it was for nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from agiraph.storage.home import Home, default_home
from cli import prestart
from cli.prestart import PrestartedSupervisor, begin, command, foresee


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the command lines of supervisors that would have been started."""
    started: list[list[str]] = []

    def note(home: str, argv: list[str]) -> PrestartedSupervisor | None:
        started.append(argv)
        return None

    monkeypatch.setattr(prestart, "begin", note)
    return started


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (["run", "do it", "--home", "H", "--model", "openai/x"], "openai/x"),
        (["run", "--home=H", "--model=openai/x", "do it"], "openai/x"),
        (["run", "--model", "a/b", "--model", "c/d", "--home", "H", "do it"], "c/d"),
        (["run", "do it", "--home", "H"], ""),
        (["run", "do it", "--home", "H", "--model"], ""),
    ],
)
def test_home_and_model_are_read_from_the_bare_words(
    words: list[str], model: str, tmp_path: Path, begun: list[list[str]]
) -> None:
    home = str(tmp_path / "home")
    foresee([word.replace("H", home) if "H" in word else word for word in words], {})
    assert begun == [command(home, model)]


def test_the_home_is_the_one_that_the_command_will_take(
    tmp_path: Path, begun: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {"AGIRAPH_HOME": str(tmp_path / "named")}
    foresee(["run", "do it"], named)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    foresee(["run", "do it"], {})
    assert begun == [command(str(default_home(named))), command(str(default_home({})))]


@pytest.mark.parametrize(
    "words", [[], ["ps"], ["run", "--help"], ["run", "-h"], ["run", "do it", "--detach"]]
)
def test_what_needs_no_supervisor_starts_none(words: list[str], begun: list[list[str]]) -> None:
    foresee(words, {})
    assert begun == []


def test_a_home_whose_gateway_lives_needs_none(tmp_path: Path, begun: list[list[str]]) -> None:
    address = Home(tmp_path).human.address
    address.parent.mkdir()
    address.write_text(json.dumps({"url": "http://127.0.0.1:1", "pid": os.getpid()}))
    foresee(["run", "do it", "--home", str(tmp_path)], {})
    assert begun == []
    address.write_text(json.dumps({"url": "http://127.0.0.1:1", "pid": 2**22 + 1}))
    foresee(["run", "do it", "--home", str(tmp_path)], {})
    assert len(begun) == 1


def test_one_that_is_not_needed_ends_and_has_touched_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    words = ["run", "do it", "--home", str(home), "--model", "script/survey", "--budget", "-1"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "agiraph", *words], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert not home.exists()


def test_its_processes_end_with_it(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    started = begin(home, command(home, "script/survey"))
    started.end_input()  # in place of the word
    assert started.wait(60)
    assert started.code == 0
    started.close()
    left = [child for child in psutil.Process().children(recursive=True) if home in _words(child)]
    assert left == []
    assert not Path(home).exists()


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.parametrize("odd", ["link", "pipe", "folder"])
def test_an_address_that_is_no_file_is_nobodys_and_is_not_waited_for(
    tmp_path: Path, odd: str
) -> None:
    (tmp_path / "human").mkdir()
    address = tmp_path / "human" / "address.json"
    if odd == "link":
        (tmp_path / "elsewhere").write_text(f'{{"pid": {os.getpid()}}}')
        address.symlink_to(tmp_path / "elsewhere")
    elif odd == "pipe":
        os.mkfifo(address)
    else:
        address.mkdir()
    assert not prestart._is_served(str(tmp_path))
    address.rmdir() if odd == "folder" else address.unlink()
    address.write_text(f'{{"pid": {os.getpid()}}}')
    assert prestart._is_served(str(tmp_path))

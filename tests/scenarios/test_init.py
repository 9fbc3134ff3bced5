"""`agiraph init` in a terminal: its findings, and one question."""

import contextlib
import os
from pathlib import Path

import pytest

from agiraph.settings.config import load_config
from tests.scenarios.terminal import Terminal, needs_tmux

KEY = "sk-not-a-real-one-0123456789"


@needs_tmux
@pytest.mark.parametrize(("answer", "default"), [("y", "anthropic/claude-sonnet-4-6"), ("n", "")])
def test_the_default_model_is_written_if_the_person_agrees(
    tmp_path: Path, answer: str, default: str
) -> None:
    home = tmp_path / "home"
    environ = {**os.environ, "AGIRAPH_HOME": str(home), "ANTHROPIC_API_KEY": KEY}
    with contextlib.closing(Terminal(tmp_path / "tmux", environ, "init")) as terminal:
        shown = terminal.await_screen("anthropic", "bubblewrap", "[Y/n]")
        terminal.type(answer)
        shown += terminal.await_screen("[left with 0]")
    assert KEY not in shown
    own = home / "agiraph.yaml"
    assert load_config(*([own] if own.exists() else [])).models.default == default

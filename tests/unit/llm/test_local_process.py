"""The process of a local model: started, parked, ended, and without a key to see."""

import asyncio
import stat
import sys
from pathlib import Path

import psutil
import pytest

from agiraph.core.errors import InvalidInput
from agiraph.llm.base import ProviderError
from agiraph.llm.providers.local.process import LocalModelAddress, LocalProcess
from agiraph.models import local_weights

ECHO = """
import json, os, sys
print(json.dumps({"url": "http://127.0.0.1:1", "key": " ".join(sorted(os.environ))}), flush=True)
sys.stdin.buffer.read()
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalProcess:
    """A process that says which variables it sees, in place of a model's."""
    python = tmp_path / "python"
    (tmp_path / "model.py").write_text(ECHO)
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -I {tmp_path}/model.py\n")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(python))
    environ = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-1", "LANG": "C.UTF-8"}
    return LocalProcess(
        tmp_path / "x.gguf", context=512, threads=1, idle_seconds=0.01, environ=environ
    )


async def until_gone(model: LocalProcess) -> None:
    while model.pid is not None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_model_process_runs_while_used_without_keys_and_is_then_stopped(
    model: LocalProcess,
) -> None:
    async with asyncio.timeout(30):
        assert model.pid is None
        async with model.used() as place, model.used() as same:
            assert isinstance(place, LocalModelAddress)
            assert place == same
            assert "OPENAI_API_KEY" not in place.key
            assert "LANG" in place.key
            first = model.pid
        await until_gone(model)
        async with model.used():
            assert model.pid not in (None, first)
        await model.close()


async def test_killed_model_process_is_restarted(model: LocalProcess) -> None:
    async with asyncio.timeout(30):
        async with model.used():
            first = psutil.Process(model.pid)
        first.kill()
        await until_gone(model)
        async with model.used():
            assert model.pid != first.pid
        await model.close()


async def test_failure_to_start_the_model_names_the_reason(
    model: LocalProcess, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text("""print('{"error": "this is no GGUF file"}')""")

    with pytest.raises(ProviderError, match="this is no GGUF file"):
        async with model.used():
            pass
    await model.close()


def test_unknown_model_and_missing_parts_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "qwen.gguf"
    with pytest.raises(InvalidInput, match=r"unknown local model 'x' \(known: qwen, smollm2\)"):
        local_weights.file_of("x", str(own))
    monkeypatch.setattr(local_weights, "has_engine", lambda: True)
    with pytest.raises(InvalidInput, match="there is no file"):
        local_weights.file_of("qwen", str(own))
    own.touch()
    assert local_weights.file_of("qwen", str(own)) == own
    monkeypatch.setattr(local_weights, "has_engine", lambda: False)
    with pytest.raises(InvalidInput, match="agiraph local install"):
        local_weights.file_of("smollm2", None)

"""A real language model on this machine's processor calls a tool, and completes a whole run."""

import asyncio
import json
import os
from pathlib import Path

import psutil
import pytest

from agiraph.core.turns import UserTurn
from agiraph.llm.connect import connect
from agiraph.llm.providers.local.provider import LocalProvider
from agiraph.models.local_weights import why_not
from agiraph.models.registry import load_presets
from tests.integration.commands import Commands
from tests.unit.llm.requests import BASH, ask

pytestmark = pytest.mark.weights
MODEL = "local/smollm2"


def test_local_model_calls_a_tool_by_its_grammar_and_answers_text() -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)

    async def scene() -> None:
        provider = connect("local", load_presets(), dict(os.environ), timeout_seconds=300)
        assert isinstance(provider, LocalProvider)
        try:
            only_bash = ask(UserTurn(content="List the files with bash."), model=MODEL)
            called = await provider.generate(only_bash, lambda text: None)
            assert called.usage.output_tokens > 0
            assert await provider.count(only_bash) == called.usage.input_tokens
            for call in called.tool_calls:
                assert call.name == BASH.name
                assert set(call.arguments) <= {"command"}
            assert called.tool_calls or called.text
            said: list[str] = []
            plain = ask(UserTurn(content="Say hello."), model=MODEL, tools=(), max_tokens=20)
            spoken = await provider.generate(plain, said.append)
            assert "".join(said) == spoken.text
            pid = provider.process("smollm2").pid
            assert pid is not None
        finally:
            await provider.close()
        assert not psutil.pid_exists(pid)

    asyncio.run(scene())


def test_local_model_completes_a_run_with_a_short_text(tmp_path: Path) -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    commands = Commands(tmp_path / "home")
    asked = ("run", "What is the capital of France?", "--model", MODEL, "--json")
    done = commands.program(*asked)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "completed"
    assert told["result"].strip()
    assert told["usage"]["tokens"] < 600


def test_prompts_that_fill_the_window_fail_the_run_before_the_first_call(tmp_path: Path) -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    commands = Commands(tmp_path / "home")
    commands.home.mkdir()
    own = "local: {context: 1024, models: {smollm2: {tool_mode: native}}}"
    (commands.home / "providers.yaml").write_text(own)
    done = commands.program("run", "Say hello.", "--model", MODEL, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"], told["usage"]["tokens"]) == (1, "failed", 0)
    assert "its window of 1,024 tokens is too small" in told["reason"]

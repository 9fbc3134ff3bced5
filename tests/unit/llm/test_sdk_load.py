"""The SDKs are imported without their unused parts, and are whole for other users."""

import subprocess
import sys
from pathlib import Path

import pytest

from agiraph.llm.providers import sdk

LOOK = """
import sys
from agiraph.imports import Placeholder
from agiraph.llm.providers.sdk import load_sdk

maker = load_sdk({name!r})
below = [name for name in sys.modules if name.startswith({name!r})]
print(len(below) < 100, any(isinstance(module, Placeholder) for module in sys.modules.values()))
{more}
"""

ANTHROPIC = """
import httpx2
from anthropic._error_classes import ERROR_CLASSES, make_status_error

print({error.__name__ for error in ERROR_CLASSES.values() if not issubclass(
    error, maker.APIStatusError)})
request = httpx2.Request("POST", "http://127.0.0.1/v1/messages")
for (status, code) in ERROR_CLASSES:
    body = {"error": {"details": {"error_code": code}, "message": "no"}}
    answer = httpx2.Response(status, request=request, json=body)
    error = make_status_error("no", response=answer, body=body)
    assert error.status_code == status and error.body == body, (status, code)

client = maker.AsyncAnthropic(api_key="none")
print(client.messages.create.__name__)
from anthropic.types import Message
print("content" in Message.model_fields)
"""

OPENAI = """
print(set())
client = maker.AsyncOpenAI(api_key="none")
print(client.chat.completions.create.__name__)
from openai.types.chat import ChatCompletion
print("choices" in ChatCompletion.model_fields)
"""


@pytest.mark.parametrize(("name", "more"), [("anthropic", ANTHROPIC), ("openai", OPENAI)])
def test_partially_imported_sdk_has_all_errors_and_is_complete_later(name: str, more: str) -> None:
    program = LOOK.format(name=name, more=more)
    got = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert got.stderr == ""
    assert got.stdout.split("\n") == ["True False", "set()", "create", "True", ""]


def test_a_version_that_uses_more_of_itself_is_imported_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd_sdk" / "types").mkdir(parents=True)
    (tmp_path / "odd_sdk" / "__init__.py").write_text("from odd_sdk.types import N\nM = N + 1\n")
    (tmp_path / "odd_sdk" / "types" / "__init__.py").write_text("N = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sdk, "UNUSED", {"odd_sdk": ("odd_sdk.types",)})
    try:
        assert sdk.load_sdk("odd_sdk").M == 2
        assert sdk.load_sdk("odd_sdk") is sys.modules["odd_sdk"]
    finally:
        for module in ("odd_sdk", "odd_sdk.types"):
            sys.modules.pop(module, None)

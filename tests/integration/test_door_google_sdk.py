"""The broker's door for Google's own Python SDK, which runs as a process of its own.

The SDK is none of the project's dependencies: it is kept in a cache outside the repository, and
where it cannot be had the test is skipped.
"""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.model_server import FakeModelServer
from tests.integration.test_broker import BrokerSystem
from tests.integration.test_llm_proxy import broker_system, looks, server, worker

__all__ = ["broker_system", "server"]

REQUIREMENT = "google-genai==3.4.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agiraph-tests"
INSTALL_SECONDS = 300
PROGRAM = """
import json, os
from google import genai
from google.genai import errors, types

def client(key):
    options = types.HttpOptions(base_url=os.environ["DOOR"] + "/google")
    return genai.Client(api_key=key, http_options=options)

def look(path: str) -> str:
    "Look at a file."
    return "42"

mine, strange = client(os.environ["TOKEN"]), client("wrong")
config = types.GenerateContentConfig(system_instruction="You are an outside agent.", tools=[look])
declared = types.FunctionDeclaration(
    name="look",
    parameters=types.Schema(type="OBJECT", properties={"path": types.Schema(type="STRING")}),
)
given = types.GenerateContentConfig(
    system_instruction="You are an outside agent.",
    tools=[types.Tool(function_declarations=[declared])],
)
stream = mine.models.generate_content_stream(
    model="gemini-3.8-pro", contents="Begin.", config=given
)
contents = [piece.candidates[0].content for piece in stream]
parts = [part for content in contents if content for part in content.parts or ()]
said = {
    "whole": mine.models.generate_content(model="any", contents="Begin.", config=config).text,
    "streamed": "".join(part.text or "" for part in parts),
    "called": [part.function_call.args for part in parts if part.function_call],
    "tokens": mine.models.count_tokens(model="any", contents="Begin.").total_tokens,
    "models": [model.name for model in mine.models.list()],
}
try:
    strange.models.generate_content(model="any", contents="Begin.")
except errors.ClientError as error:
    said["refused"] = [error.code, error.status]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def sdk() -> Path:
    """Return the folder that the SDK stands in, installed if need be."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / REQUIREMENT.replace("==", "-")
    part = folder.with_name(f"{folder.name}.part")
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            shutil.rmtree(part, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(part)]
            try:
                subprocess.run(
                    [*pip, REQUIREMENT], check=True, capture_output=True, timeout=INSTALL_SECONDS
                )
            except (OSError, subprocess.SubprocessError) as error:
                pytest.skip(f"{REQUIREMENT} cannot be installed: {error}")
            part.rename(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("model", ["google/fake", "anthropic/fake"])
async def test_googles_sdk_calls_tools_streams_counts_and_lists(
    broker_system: BrokerSystem, server: FakeModelServer, sdk: Path, model: str
) -> None:
    server.responder = looks

    async with worker(broker_system, model) as ada:
        door = {"TOKEN": ada.door.token, "DOOR": ada.door.url, "PYTHONPATH": str(sdk)}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, env={**os.environ, **door},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        said = json.loads(out)
        assert said["whole"] == "It says: 42"
        assert (said["streamed"], said["called"]) == ("Let me look.", [{"path": "a.txt"}])
        assert said["tokens"] > 0
        assert said["models"] == [f"models/{model}"]
        assert said["refused"] == [401, "UNAUTHENTICATED"]
        spent = (await ada.spent()).by_entity[ada.endpoint.address]
        assert spent.cost_usd is not None
        assert spent.input_tokens > 0
    assert {seen.api for seen in server.requests[-3:]} == {model.partition("/")[0]}

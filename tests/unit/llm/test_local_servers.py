"""Which model servers of this machine answer, and what is said of those that do not."""

import socket
from collections.abc import Iterator

import pytest

from agiraph.llm.local_servers import LocalServer, find_servers, with_answers
from agiraph.llm.registry import load_presets, usable
from tests.fakes.model_server import FakeModelServer, say


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(lambda seen: say("hi")) as server:
        yield server


@pytest.fixture
def nobody() -> Iterator[str]:
    """A URL at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_a_server_that_answers_is_usable_with_the_models_that_it_has(
    server: FakeModelServer, nobody: str
) -> None:
    environ = {
        "OLLAMA_BASE_URL": f"{server.url}/v1",
        **dict.fromkeys(("LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL"), nobody),
        "LOCALAI_BASE_URL": nobody,
    }
    presets = load_presets()
    found = find_servers(presets, environ)
    rows = {row["name"]: row for row in with_answers(usable(presets, environ), found)}
    assert (rows["ollama"]["usable"], rows["ollama"]["reason"]) == (True, "answers: fake")
    assert rows["ollama"]["default_model"] == "ollama/fake"
    for name in ("llamacpp", "lmstudio", "vllm", "localai"):
        assert (rows[name]["usable"], rows[name]["reason"]) == (False, f"does not answer: {nobody}")
    assert rows["anthropic"]["reason"] == "ANTHROPIC_API_KEY is not set"
    assert rows["script"]["usable"]


def test_what_is_no_url_is_said() -> None:
    presets = {"ollama": load_presets()["ollama"]}
    odd = find_servers(presets, {"OLLAMA_BASE_URL": "nonsense"})
    assert odd["ollama"].problem == "is no URL: nonsense"


def test_of_many_models_the_first_are_named() -> None:
    assert LocalServer(("a", "b", "c", "d")).in_words == "answers: a, b, c and 1 other"

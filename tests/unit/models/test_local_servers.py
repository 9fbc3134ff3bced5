"""The answering model servers of this machine, and reports about the others."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.models import local_servers
from agiraph.models.local_servers import LocalServer, find_servers, with_answers, with_files
from agiraph.models.prices import catalog
from agiraph.models.registry import load_presets, usable
from agiraph.storage.home import Home
from tests.fakes.model_server import FakeModelServer, say
from tests.fakes.raw_service import RawAnswer, RawService


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(lambda seen: say("hi")) as server:
        yield server


@pytest.fixture
def unused_address() -> Iterator[str]:
    """A URL without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_local_server_that_answers_is_usable_with_its_models(
    server: FakeModelServer, unused_address: str
) -> None:
    environ = {
        "OLLAMA_BASE_URL": f"{server.url}/v1",
        **dict.fromkeys(
            ("LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL"), unused_address
        ),
        "LOCALAI_BASE_URL": unused_address,
    }
    presets = load_presets()
    found = find_servers(presets, environ)
    rows = {row["name"]: row for row in with_answers(usable(presets, environ), found)}
    assert (rows["ollama"]["usable"], rows["ollama"]["reason"]) == (True, "answers: fake")
    assert rows["ollama"]["default_model"] == "ollama/fake"
    for name in ("llamacpp", "lmstudio", "vllm", "localai"):
        assert (rows[name]["usable"], rows[name]["reason"]) == (
            False,
            f"does not answer: {unused_address}",
        )
    assert rows["anthropic"]["reason"] == "ANTHROPIC_API_KEY is not set"
    assert rows["script"]["usable"]


def test_only_usable_models_are_offered(tmp_path: Path) -> None:
    Home(tmp_path).system.recordings.mkdir(parents=True)
    for run in ("r1", "r2"):
        Home(tmp_path).system.recording(run).touch()
    found = {"ollama": LocalServer(("qwen3", "llama3.1")), "vllm": LocalServer(problem="no")}
    rows = with_files(with_answers(catalog(load_presets(), {}, {}), found), tmp_path)
    models = {row["name"]: [one["name"] for one in row["models"]] for row in rows}
    assert models["ollama"] == ["ollama/llama3.1", "ollama/qwen3"]
    assert (models["vllm"], models["llamacpp"]) == ([], ["llamacpp/default"])
    assert models["script"] == ["script/survey", "script/chaos", "script/team"]
    folder = Home(tmp_path).system.recordings
    assert models["replay"] == [f"replay/{folder}/r2.jsonl", f"replay/{folder}/r1.jsonl"]
    free = next(row for row in rows if row["name"] == "replay")["models"][0]
    assert (free["input"], free["output"]) == (0, 0)
    assert all(one.keys() == free.keys() for row in rows for one in row["models"])


def test_invalid_url_is_reported() -> None:
    presets = {"ollama": load_presets()["ollama"]}
    odd = find_servers(presets, {"OLLAMA_BASE_URL": "nonsense"})
    assert odd["ollama"].problem == "is no URL: nonsense"


def test_first_of_many_models_are_named() -> None:
    assert LocalServer(("a", "b", "c", "d")).in_words == "answers: a, b, c and 1 other"


def one_server(service: RawService) -> LocalServer:
    environ = {"OLLAMA_BASE_URL": f"{service.url}/v1", "OLLAMA_API_KEY": "k-123456789"}
    return find_servers({"ollama": load_presets()["ollama"]}, environ)["ollama"]


def test_redirect_is_reported_and_not_followed() -> None:
    moved = RawAnswer(status=307, headers={"location": "http://127.0.0.1:9/elsewhere"})
    with RawService(lambda asked: moved) as service:
        assert "redirects to http://127.0.0.1:9/elsewhere" in one_server(service).problem


@pytest.mark.parametrize("head", [{}, {"content-length": "1000"}])
def test_slow_model_list_is_abandoned(
    head: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_servers, "LOOK_SECONDS", 0.3)

    def drip() -> Iterator[bytes]:
        while not service.closing.wait(0.05):
            yield b" "

    with RawService(lambda asked: RawAnswer(drip(), headers=head)) as service:
        assert one_server(service).problem


@pytest.mark.parametrize("body", [b"[" * 100_000, b"\xff", b"[]", b'{"data": 5}'])
def test_invalid_model_list_is_reported(body: bytes) -> None:
    with RawService(lambda asked: RawAnswer([body])) as service:
        assert "no list of models" in one_server(service).problem

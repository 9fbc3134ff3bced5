"""One agent alone: the smoke test, and a loop of writing, running and mending (tests 1 and 2)."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.fakes.model_server import Reply, SeenRequest, call, calls, say
from tests.scenarios.place import Place
from tests.scenarios.steps import bash, write

FINDINGS = "# Languages\n\n1. Python\n2. TypeScript\n3. Rust\n"


def test_a_single_agent_answers_and_leaves_a_full_trace(place: Place) -> None:
    place.plays(
        coordinator=[
            calls(write("research.md", FINDINGS), text="I know."),
            call("finish", summary="Python, TypeScript and Rust lead in 2026."),
        ]
    )
    outcome = place.run(
        "What are the top 3 programming languages in 2026?", "--model", "openai/fake"
    )
    assert outcome.code == 0
    assert outcome.result["status"] == "completed"
    assert outcome.result["result"].strip() == "Python, TypeScript and Rust lead in 2026."
    assert (outcome.run / "research.md").read_text() == FINDINGS
    assert "Rust" in (outcome.run / "_output.md").read_text()
    types = outcome.types()
    assert types.index("agent.created") < types.index("agent.started")
    assert types[-1] == "agent.completed" or "agent.completed" in types
    kinds = [record["kind"] for record in outcome.conversation()]
    assert kinds.count("said") == 2
    assert kinds.count("tool.finished") == 2
    assert json.loads((outcome.agent / "agent.json").read_text())["status"] == "completed"


def test_a_model_that_forgets_to_call_a_tool_is_reminded_once(place: Place) -> None:
    place.plays(coordinator=[say("The answer is 4."), call("finish", summary="4")])
    outcome = place.complete("What is 2 + 2?", "--model", "openai/fake")
    assert outcome.result["result"].strip() == "4"


def test_a_model_that_never_calls_a_tool_ends_in_a_clear_failure(place: Place) -> None:
    place.plays(coordinator=[say("It is 4."), say("As I said, 4.")])
    outcome = place.lead("What is 2 + 2?", "--model", "openai/fake")
    assert outcome.code == 1
    assert outcome.result["status"] == "failed"
    assert "stopped without finishing: As I said, 4." in outcome.progress


@pytest.fixture
def price_url() -> Iterator[str]:
    """A public API, on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"bitcoin": {"usd": 64321.5}}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/price"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_script_is_written_run_mended_and_run_again(place: Place, price_url: str) -> None:
    def script_text(key: str) -> str:
        return (
            "import json, urllib.request\n"
            f"answer = json.load(urllib.request.urlopen('{price_url}'))\n"
            f"print('bitcoin costs', answer['{key}']['usd'])\n"
        )

    def finish(seen: SeenRequest) -> Reply:
        assert "KeyError" in seen.results("bash")[0]
        return call("finish", summary=f"It works: {seen.result('bash').strip()}")

    place.plays(
        coordinator=[
            write("btc_price.py", script_text("btc")),
            bash("python3 btc_price.py"),
            write("btc_price.py", script_text("bitcoin")),
            bash("python3 btc_price.py"),
            finish,
        ]
    )
    outcome = place.complete("Fetch the Bitcoin price")
    assert "64321.5" in outcome.result["result"]
    assert (outcome.run / "btc_price.py").exists()

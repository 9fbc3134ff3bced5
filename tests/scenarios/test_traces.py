"""One trace of a team's run, though its worker and the tracer are killed in the middle."""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
import yaml
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.fakes.collector import Collector, attributes
from tests.fakes.model_server import call
from tests.integration.house import until
from tests.scenarios.place import Place, placed

FACT = call("write_file", path="fact.md", content="a fact")
DONE = call("publish", summary="done")


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def place(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("traced")
    endpoint = collector.url.removesuffix("/hook")
    settings = {"telemetry": {"otlp_endpoint": endpoint, "service_name": "test"}}
    (home / "agiraph.yaml").write_text(yaml.safe_dump(settings))
    with placed(home) as place:
        yield place
        assert "Traceback" not in place.traces()


def test_a_run_with_two_workers_is_one_trace_through_kills(
    place: Place, collector: Collector
) -> None:
    gate = threading.Event()
    place.plays(
        coordinator=[
            call("spawn_worker", name="ada"),
            call("spawn_worker", name="bob"),
            call("create_work_node", name="ada-facts", task="Write", worker="ada"),
            call("create_work_node", name="bob-facts", task="Write", worker="bob"),
            call("wait"),
            call("wait"),
            call("finish", summary="Done."),
        ],
        ada=[replace(FACT, gate=gate), DONE],
        bob=[FACT, DONE],
    )

    def kill() -> None:
        place.server.wait_for(lambda seen: seen.is_for("ada") and seen.step == 0)
        until(lambda: any("bob" in span.name for span in collector.spans()), "bob's spans")
        place.kill("agiraph: tracer")
        place.kill("ada")
        gate.set()

    outcome = place.lead("Facts", meanwhile=kill)
    assert outcome.code == 0
    until(lambda: any(not span.parent_span_id for span in collector.spans()), "the run's span")
    found = {span.span_id: span for span in collector.spans()}
    assert len({span.trace_id for span in found.values()}) == 1

    def path(span: Span) -> str:
        parent = found.get(span.parent_span_id)
        return (f"{path(parent)} > " if parent else "") + span.name

    name = attributes(next(s for s in found.values() if not s.parent_span_id))["gen_ai.agent.name"]
    top = f"invoke_agent {name}"
    paths = Counter(path(span) for span in found.values())
    for worker in ("ada", "bob"):
        node = f"{top} > invoke_agent {worker}"
        assert paths[node] == 1
        assert paths[f"{node} > turn"] == 2
        assert paths[f"{node} > turn > chat fake"] == 2
        assert paths[f"{node} > turn > execute_tool write_file"] == 1
        assert paths[f"{node} > turn > execute_tool publish"] == 1
    assert paths[f"{top} > turn > execute_tool spawn_worker"] == 2
    assert all(one.startswith(top) for one in paths)
    chat = next(span for span in found.values() if span.name == "chat fake")
    assert attributes(chat)["gen_ai.provider.name"] == "openai"
    assert chat.end_time_unix_nano >= chat.start_time_unix_nano

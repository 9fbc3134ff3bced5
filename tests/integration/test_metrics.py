"""GET /metrics: the measurements of a home for Prometheus."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agiraph.core.ids import QuestionId
from agiraph.core.models import Event
from agiraph.http.client import read_gateway_address
from agiraph.messages.child import ListChildren
from agiraph.messages.event import EventAppended
from agiraph.messages.question import AskQuestion
from agiraph.readmodel.activities import Histogram
from tests.fakes.fake_runtime import arrived
from tests.fakes.gateway import AGENT, GatewayHome, running_gateway
from transport.errors import DeadlineExceeded

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def gateway_home(tmp_path: Path) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path / "home") as gateway_home:
        gateway_home.add_agent()
        yield gateway_home


def scraped(gateway_home: GatewayHome) -> Samples:
    """Return each sample by its name and labels, as Prometheus' own parser reads them."""
    url, token = read_gateway_address(gateway_home.home.path)
    answer = httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {token}"}, verify=False)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = list(text_string_to_metric_families(answer.text))
    assert all(family.documentation for family in families)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def labels(**named: str) -> frozenset[tuple[str, str]]:
    return frozenset(named.items())


def test_scrape_has_metrics_of_entities_cost_questions_and_events(
    gateway_home: GatewayHome,
) -> None:
    ask = AskQuestion(question_id=QuestionId("q"), agent=AGENT, from_name="Ada", question="Which?")
    gateway_home.arrive(arrived(ask, f"{AGENT}/ada-1"))
    for type in ("model.answered", "model.answered", "message.sent", "model.retry"):
        event = Event(type=type, agent_id=AGENT, ts=1.0)
        gateway_home.arrive(arrived(EventAppended(event=event, counts={type: 1}), "recorder"))
    gateway_home.hosts.add("north")
    seen = scraped(gateway_home)
    assert seen["agiraph_supervisor_up", labels()] == 1
    assert seen["agiraph_hosts", labels(state="ready")] == 1
    assert seen["agiraph_hosts", labels(state="lost")] == 0
    assert [seen["agiraph_workers", labels(state=one)] for one in ("running", "waiting")] == [5, 2]
    assert seen["agiraph_entities", labels(kind="coordinator", state="idle")] == 1
    assert seen["agiraph_mailbox_messages", labels(kind="coordinator")] == 3
    assert seen["agiraph_tokens_total", labels(agent=AGENT)] == 15
    assert seen["agiraph_questions_open", labels(kind="question")] == 1
    assert seen["agiraph_questions_open", labels(kind="approval")] == 0
    assert seen["agiraph_model_calls_total", labels(outcome="answered")] == 2
    assert seen["agiraph_messages_total", labels()] == 1
    assert seen["agiraph_events_total", labels(type="model.retry")] == 1


def test_a_scrape_works_while_the_supervisor_does_not_answer(gateway_home: GatewayHome) -> None:
    gateway_home.runtime.answers[ListChildren] = lambda _: DeadlineExceeded("later")
    seen = scraped(gateway_home)
    assert seen["agiraph_supervisor_up", labels()] == 0
    assert seen["agiraph_agents", labels(status="working")] == 1


def test_histogram_counts_durations_up_to_each_bound() -> None:
    histogram = Histogram()
    for seconds in (0.1, 0.2, 4.0, 9999.0):
        histogram.add(seconds)
    found = dict(histogram.cumulative())
    assert (found["0.1"], found["0.25"], found["5.0"], found["1800.0"]) == (1, 2, 3, 3)
    assert found["+Inf"] == 4

"""The metrics of a home in Prometheus format: gauges, and counters since the start.

Labels are kinds, states, channels and existing agents: never one label per entity.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from agiraph.api.auth.scopes import READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import GatewayDep
from agiraph.api.routes.entities import EXTRA_SECONDS, entity_rows, if_answered
from agiraph.api.strict_json import StrictRoute
from agiraph.core.hosts import HostState
from agiraph.core.ids import SUPERVISOR, agent_of
from agiraph.core.models import QuestionKind
from agiraph.http.api import EntityView
from agiraph.messages.host import HostTable, ListHosts

router = APIRouter(route_class=StrictRoute, tags=["system"])


@router.get("/metrics", dependencies=[READ], response_class=PlainTextResponse)
async def metrics(gateway: GatewayDep) -> Response:
    """Return the numbers of this home in the text format of Prometheus."""
    # The data of another process is left out while it does not answer.
    asked = gateway.bus.ask(SUPERVISOR, ListHosts(), HostTable, within_seconds=EXTRA_SECONDS)
    rows, table = await asyncio.gather(if_answered(entity_rows(gateway)), if_answered(asked))
    # The library is imported at the first call, and outside of the event loop.
    text, kind = await asyncio.to_thread(_written, list(_families(gateway, rows, table)))
    return Response(text, media_type=kind)


if TYPE_CHECKING:
    from prometheus_client import Metric

CALLS = {"model.answered": "answered", "model.retry": "retried", "model.failed": "failed"}


Sample = tuple[dict[str, str], float]
Family = tuple[str, str, str, list[Sample]]
"""Kind of metric, its name, its help text, its samples."""


def _families(
    gateway: Gateway, rows: Sequence[EntityView] | None, table: HostTable | None
) -> Iterator[Any]:
    is_up: list[Sample] = [({}, float(rows is not None))]
    yield "gauge", "agiraph_supervisor_up", "Whether the supervisor answers.", is_up
    yield from _of_entities(rows or ())
    if table is not None and (table.listens_at or table.hosts):
        yield from _of_hosts(table)
    yield from _of_people(gateway)
    yield from _of_events(gateway.counters.events)
    took = dict(gateway.counters.deliveries)
    until = "From a notice's cause until a channel had it."
    yield "histogram", "agiraph_delivery_seconds", until, took


def _by(label: str, counts: Mapping[str, float]) -> list[Sample]:
    return [({label: key}, float(count)) for key, count in counts.items()]


def _of_entities(rows: Sequence[EntityView]) -> Iterator[Family]:
    states = Counter((row.kind, row.state) for row in rows)
    counted = [({"kind": kind, "state": state}, float(n)) for (kind, state), n in states.items()]
    yield "gauge", "agiraph_entities", "Entities by kind and state.", counted
    for name, help, field in (
        ("agiraph_restarts", "Restarts of the entities that there are.", "restarts"),
        ("agiraph_mailbox_messages", "Messages that are not done.", "mailbox"),
        ("agiraph_memory_bytes", "Resident memory.", "memory_bytes"),
    ):
        sums: Counter[str] = Counter()
        for row in rows:
            sums[row.kind] += getattr(row, field) or 0
        yield "gauge", name, help, _by("kind", sums)
    tokens: Counter[str] = Counter()
    dollars: dict[str, float] = {}
    for row in rows:
        if (agent := agent_of(row.address)) is not None:
            tokens[agent] += row.tokens
            dollars[agent] = dollars.get(agent, 0.0) + (row.cost_usd or 0.0)
    yield "counter", "agiraph_tokens", "Tokens, in and out, by agent.", _by("agent", tokens)
    priced = "US dollars where prices are known, by agent."
    yield "counter", "agiraph_cost_dollars", priced, _by("agent", dollars)


def _of_hosts(table: HostTable) -> Iterator[Family]:
    states = Counter(host.state for host in table.hosts)
    counted = _by("state", {state: states[state] for state in get_args(HostState)})
    yield "gauge", "agiraph_hosts", "Other machines by state.", counted
    queue = _by("state", {"running": table.workers, "waiting": len(table.unplaced)})
    yield "gauge", "agiraph_workers", "Workers that run, or wait for a machine.", queue


def _of_people(gateway: Gateway) -> Iterator[Family]:
    agents = _by("status", Counter(agent.status for agent in gateway.agents.all()))
    yield "gauge", "agiraph_agents", "Agents by the status of their record.", agents
    kinds = Counter(question.kind for question in gateway.questions.open())
    waiting = _by("kind", {kind: kinds[kind] for kind in get_args(QuestionKind)})
    yield "gauge", "agiraph_questions_open", "Questions that wait for a person.", waiting
    followers: list[Sample] = [({}, float(gateway.followers))]
    yield "gauge", "agiraph_followers", "Who follows events, changes or texts.", followers
    book = gateway.dispatcher.queue.deliveries.values()
    kept = Counter((one.channel, one.status) for one in book)
    deliveries = [
        ({"channel": name, "status": status}, float(kept[name, status]))
        for name in gateway.dispatcher.settings
        for status in ("waiting", "dead")
    ]
    left = "Notices that have yet to go out, or were given up."
    yield "gauge", "agiraph_deliveries", left, deliveries


def _of_events(events: Counter[str]) -> Iterator[Family]:
    sent: list[Sample] = [({}, float(events["message.sent"]))]
    calls = _by("outcome", {outcome: events[type] for type, outcome in CALLS.items()})
    types = _by("type", events)
    yield "counter", "agiraph_events", "Events by type, since the gateway began.", types
    yield "counter", "agiraph_messages", "Messages sent, since the gateway began.", sent
    yield "counter", "agiraph_model_calls", "Model calls, since the gateway began.", calls


def _written(families: list[Any]) -> tuple[bytes, str]:
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

    class Collector:
        def collect(self) -> "Iterator[Metric]":
            return map(_metric, families)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector())
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _metric(family: Any) -> "Metric":
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )

    kind, name, help, samples = family
    if kind == "histogram":
        timed = HistogramMetricFamily(name, help, labels=["channel"])
        for channel, seen in samples.items():
            timed.add_metric([channel], seen.cumulative(), seen.total_seconds)
        return timed
    make = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
    labels = list(samples[0][0]) if samples else []
    metric = make(name, help, labels=labels)
    for named, value in samples:
        metric.add_metric([named[label] for label in labels], value)
    return metric

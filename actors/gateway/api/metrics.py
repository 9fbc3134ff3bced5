"""The metrics of a home as Prometheus reads them: gauges of what is, counters since a start.

Labels are kinds, states, channels and living agents: never as many as there are entities.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, get_args

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from actors.gateway.api.dependencies import GatewayDep
from actors.gateway.api.entities import entity_rows
from actors.gateway.auth.scopes import READ
from actors.gateway.gateway import Gateway
from agiraph.core.ids import agent_of
from agiraph.core.models import QuestionKind
from agiraph.http.api import ApiError, EntityView

router = APIRouter(tags=["system"])


@router.get("/metrics", dependencies=[READ], response_class=PlainTextResponse)
async def metrics(gateway: GatewayDep) -> Response:
    """Return the numbers of this home in the text format of Prometheus."""
    try:
        rows: Sequence[EntityView] | None = await entity_rows(gateway)
    except ApiError:
        rows = None  # left out while another process does not answer
    # The library is imported by the first call, and outside of the event loop.
    text, kind = await asyncio.to_thread(_written, list(_families(gateway, rows)))
    return Response(text, media_type=kind)


if TYPE_CHECKING:
    from prometheus_client import Metric

CALLS = {"model.answered": "answered", "model.retry": "retried", "model.failed": "failed"}


Sample = tuple[dict[str, str], float]
Family = tuple[str, str, str, list[Sample]]
"""Kind of metric, its name, its help text, its samples."""


def _families(gateway: Gateway, rows: Sequence[EntityView] | None) -> Iterator[Any]:
    yield (
        "gauge",
        "agiraph_supervisor_up",
        "Whether the supervisor answers.",
        [({}, float(rows is not None))],
    )
    yield from _of_entities(rows or ())
    yield from _of_people(gateway)
    yield from _of_events(gateway.counters.events)
    yield (
        "histogram",
        "agiraph_delivery_seconds",
        "From a notice's cause until a channel had it.",
        dict(gateway.counters.deliveries),
    )


def _of_entities(rows: Sequence[EntityView]) -> Iterator[Family]:
    states = Counter((row.kind, row.state) for row in rows)
    yield (
        "gauge",
        "agiraph_entities",
        "Entities by kind and state.",
        [({"kind": kind, "state": state}, float(count)) for (kind, state), count in states.items()],
    )
    for name, help, field in (
        ("agiraph_restarts", "Restarts of the entities that there are.", "restarts"),
        ("agiraph_mailbox_messages", "Messages that are not done.", "mailbox"),
        ("agiraph_memory_bytes", "Resident memory.", "memory_bytes"),
    ):
        yield "gauge", name, help, _summed(rows, field)
    spent: dict[str, tuple[int, float]] = {}
    for row in rows:
        agent = agent_of(row.address)
        if agent is not None:
            tokens, dollars = spent.get(agent, (0, 0.0))
            spent[agent] = (tokens + row.tokens, dollars + (row.cost_usd or 0.0))
    yield (
        "counter",
        "agiraph_tokens",
        "Tokens, in and out, by agent.",
        [({"agent": agent}, float(tokens)) for agent, (tokens, _) in spent.items()],
    )
    yield (
        "counter",
        "agiraph_cost_dollars",
        "US dollars where prices are known, by agent.",
        [({"agent": agent}, dollars) for agent, (_, dollars) in spent.items()],
    )


def _summed(rows: Iterable[EntityView], field: str) -> list[Sample]:
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row.kind] += getattr(row, field) or 0
    return [({"kind": kind}, float(count)) for kind, count in sums.items()]


def _of_people(gateway: Gateway) -> Iterator[Family]:
    agents = Counter(agent.status for agent in gateway.agents.all())
    yield (
        "gauge",
        "agiraph_agents",
        "Agents by the status of their record.",
        [({"status": status}, float(count)) for status, count in agents.items()],
    )
    kinds = Counter(question.kind for question in gateway.questions.open())
    yield (
        "gauge",
        "agiraph_questions_open",
        "Questions that wait for a person.",
        [({"kind": kind}, float(kinds[kind])) for kind in get_args(QuestionKind)],
    )
    yield (
        "gauge",
        "agiraph_followers",
        "Who follows events by WebSocket.",
        [({}, float(gateway.signals.followers))],
    )
    book, names = gateway.dispatcher.queue, list(gateway.dispatcher.settings)
    kept = Counter((one.channel, one.status) for one in book.deliveries.values())
    yield (
        "gauge",
        "agiraph_deliveries",
        "Notices that have yet to go out, or were given up.",
        [
            ({"channel": name, "status": status}, float(kept[name, status]))
            for name in names
            for status in ("waiting", "dead")
        ],
    )


def _of_events(events: Counter[str]) -> Iterator[Family]:
    yield (
        "counter",
        "agiraph_events",
        "Events by type, since the gateway began.",
        [({"type": type}, float(count)) for type, count in events.items()],
    )
    yield (
        "counter",
        "agiraph_messages",
        "Messages sent, since the gateway began.",
        [({}, float(events["message.sent"]))],
    )
    yield (
        "counter",
        "agiraph_model_calls",
        "Model calls, since the gateway began.",
        [({"outcome": outcome}, float(events[type])) for type, outcome in CALLS.items()],
    )


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

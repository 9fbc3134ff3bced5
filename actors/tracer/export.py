"""Spans over HTTP to a collector (OTLP, protobuf), by OpenTelemetry's own exporter.

OpenTelemetry is an extra: only making a SpanExporter imports it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agiraph import __version__
from agiraph.tracing.spans import Span

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext

PATH = "/v1/traces"
NANOSECONDS = 1_000_000_000


class SpanExporter:
    """Sends spans to one collector; `send` blocks, so call it in a thread.

    PATH is appended to an `endpoint` without a path. Raises ImportError without OpenTelemetry.
    """

    def __init__(self, endpoint: str, service: str, timeout_seconds: float) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        bare = urlsplit(endpoint).path.strip("/") == ""
        url = endpoint.rstrip("/") + PATH if bare else endpoint
        self._exporter = OTLPSpanExporter(endpoint=url, timeout=timeout_seconds)
        self._resource = Resource.create({"service.name": service, "service.version": __version__})
        self._scope = InstrumentationScope("agiraph", __version__)

    def send(self, spans: Sequence[Span]) -> bool:
        """Send spans to the collector; return whether the collector accepted them."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        readable = [self._readable(span) for span in spans]
        return self._exporter.export(readable) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Close the HTTP connection to the trace collector."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _readable(self, span: Span) -> "ReadableSpan":
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanKind, Status, StatusCode

        status = Status(StatusCode.ERROR, span.problem) if span.problem else Status(StatusCode.OK)
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace_id, span.span_id),
            parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes=span.attributes,
            kind=SpanKind.CLIENT if span.is_call else SpanKind.INTERNAL,
            status=status,
            start_time=round(span.start * NANOSECONDS),
            end_time=round(span.end * NANOSECONDS),
            instrumentation_scope=self._scope,
        )


def _context(trace: str, span: str) -> "SpanContext":
    from opentelemetry.trace import SpanContext, TraceFlags

    sampled = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=sampled)

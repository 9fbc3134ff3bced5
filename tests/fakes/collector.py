"""A collector of traces on this machine: decodes the spans that it receives by OTLP over HTTP."""

import gzip

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.fakes.webhook_server import ReceivedPost, WebhookServer


class Collector(WebhookServer):
    """Accepts spans; the first posts are answered with `statuses`."""

    def spans(self) -> list[Span]:
        """Return every accepted span, in order, without the spans of refused posts."""
        return [span for post in list(self.posts) for span in spans_of(post)]


def spans_of(post: ReceivedPost) -> list[Span]:
    """Return the spans of one request."""
    body = gzip.decompress(post.body) if post.headers.get("content-encoding") else post.body
    request = ExportTraceServiceRequest.FromString(body)
    return [
        span
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def attributes(span: Span) -> dict[str, object]:
    """Return a span's attributes."""
    return {
        one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in span.attributes
    }

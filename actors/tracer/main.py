"""The process `tracer`: sends spans to the collector that the settings name."""

import asyncio
import os

import psutil

from actors.runtime.background_tasks import first_to_end
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.tracer.export import SpanExporter
from actors.tracer.tracer import Tracer
from agiraph.core.errors import Refused
from agiraph.messages.event import EventsGrew

LAST_SECONDS = 1.0


def main(launch: ActorLaunch) -> int:
    """Run the tracer; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Trace until cancelled, then send what is left."""
    telemetry = runtime.config.telemetry
    try:
        exporter = SpanExporter(
            telemetry.otlp_endpoint, telemetry.service_name, telemetry.timeout_seconds
        )
    except ImportError as error:
        raise Refused(
            f"telemetry.otlp_endpoint is set, but {error.name} is not installed: "
            "pip install 'agiraph[otel]'"
        ) from error
    tracer = Tracer(
        runtime.home,
        exporter.send,
        runtime.log,
        with_content=telemetry.content,
        since=psutil.Process(os.getppid()).create_time(),  # the supervisor's
    )
    await runtime.ready()
    try:
        await first_to_end(tracer.run(), _listen(runtime, tracer))
    except asyncio.CancelledError:
        async with asyncio.timeout(LAST_SECONDS):
            await tracer.send_pending()
        raise
    finally:
        exporter.close()


async def _listen(runtime: Runtime, tracer: Tracer) -> None:
    while True:
        received = await runtime.receive()
        if isinstance(received.body, EventsGrew):
            tracer.notify()
        runtime.done(received)

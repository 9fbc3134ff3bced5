"""The shell round an actor: its exit codes, its inbox, its reports."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.runtime import runtime as runtime_module
from actors.runtime.event_reporter import BATCH, EventReporter
from actors.runtime.launch import ActorLaunch
from actors.runtime.message_queue import PASSING_LIMIT, MessageQueue
from actors.runtime.runtime import Runtime, run_actor
from agiraph.core.ids import AgentId
from agiraph.core.models import EntityState, Event
from agiraph.logs.log import OURS, logger
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.child import ChildHeartbeat
from agiraph.messages.control import Stop
from agiraph.messages.event import ReportEvents
from agiraph.settings.config import load_config
from tests.fakes.launches import launch_of
from transport.codec import Codec
from transport.endpoint import Received
from transport.envelope import Flag, Header
from transport.errors import LinkDown
from transport.testing.loopback import LoopbackRouter


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger(OURS).setLevel(logging.NOTSET)


def launch(tmp_path: Path, **changes: Any) -> ActorLaunch:
    config = load_config().model_dump(mode="json")
    return launch_of(tmp_path, "shop/ada", **{"kind": "worker", "config": config} | changes)


async def never_called(_runtime: Runtime) -> None:
    raise AssertionError("there was nothing to serve")


def test_invalid_settings_end_without_a_restart(tmp_path: Path) -> None:
    assert run_actor(launch(tmp_path, config={"nonsense": 1}), never_called) == 64


def test_missing_router_has_its_own_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_module, "HELLO_SECONDS", 0.05)
    assert run_actor(launch(tmp_path), never_called) == 76


def received(name: str, is_durable: bool) -> Received:
    flags = int(Flag.DURABLE) if is_durable else 0
    header = Header(1, name.encode(), "child.beat", "a", "b", 1, None, 0.0, flags, None)
    return Received(header, ChildHeartbeat(doing=EntityState(step=name)))


async def test_the_inbox_keeps_order_and_every_durable_message() -> None:
    inbox = MessageQueue()
    for number in range(PASSING_LIMIT + 2):
        inbox.put(received(f"p{number}", is_durable=False))
        if number % 1000 == 0:
            inbox.put(received(f"d{number}", is_durable=True))
    assert inbox.dropped == 2
    ids = [(await inbox.get()).header.id for _ in range(PASSING_LIMIT + 5)]
    assert ids[:3] == [b"d0", b"p2", b"p3"]
    assert [one for one in ids if one.startswith(b"d")] == [
        b"d%d000" % n if n else b"d0" for n in range(5)
    ]


async def test_queue_waits_for_the_next_message() -> None:
    inbox = MessageQueue()
    getting = asyncio.create_task(inbox.get())
    await asyncio.sleep(0)
    inbox.put(received("x", is_durable=True))
    assert (await getting).header.id == b"x"


class FlakyEndpoint:
    """Fails the first send, then records messages."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, int]] = []
        self.tries: list[bytes] = []

    async def send(self, to: str, body: ReportEvents, *, id: bytes) -> bytes:
        assert to == "recorder"
        self.tries.append(id)
        if len(self.tries) == 1:
            raise LinkDown("just now")
        self.sent.append((id, len(body.events)))
        return id


async def test_reports_are_batched_in_order_and_sent_again_under_the_same_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("actors.runtime.event_reporter.RETRY_SECONDS", 0)
    endpoint: Any = FlakyEndpoint()
    reporter = EventReporter(endpoint, logger())
    running = asyncio.create_task(reporter.run())
    await reporter.flush(1)
    reporter.report(*(Event(type="x", agent_id=AgentId("a"), ts=n) for n in range(BATCH + 1)))
    await reporter.flush(5)
    running.cancel()
    assert endpoint.tries[0] == endpoint.tries[1]
    assert [count for _, count in endpoint.sent] == [BATCH, 1]


@pytest.mark.parametrize(("sender", "is_obeyed"), [("shop/eve", False), ("supervisor", True)])
async def test_only_the_supervisor_may_order_a_stop(
    tmp_path: Path, sender: str, is_obeyed: bool
) -> None:
    router = LoopbackRouter()
    ours, other = (router.endpoint(each, codec=Codec(MESSAGES)) for each in ("shop/ada", sender))
    await ours.start()
    await other.start()
    runtime = Runtime(launch(tmp_path), load_config(), ours)
    pump = asyncio.create_task(runtime.pump())
    other.post("shop/ada", Stop())
    other.post("shop/ada", ChildHeartbeat(doing=EntityState(state="idle")))
    assert isinstance((await runtime.receive()).body, ChildHeartbeat)
    pump.cancel()
    assert runtime.stopping.is_set() is is_obeyed

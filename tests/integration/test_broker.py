"""The broker as a process of its own: real router, real sockets, real SDKs, fake model server."""

import asyncio
import os
import secrets
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from actors.router.main import TOPOLOGY
from actors.runtime.launch import ActorLaunch
from agiraph.core.ids import BROKER, RECORDER, SUPERVISOR, message_id
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.child import ChildReady
from agiraph.messages.control import Ok
from agiraph.messages.event import ReportEvents
from agiraph.messages.model import (
    AskUsage,
    CallModel,
    ModelAnswer,
    UsageTable,
)
from agiraph.settings.config import load_config
from tests.fakes.accounts import begin_run
from tests.fakes.forked_command import forking
from tests.fakes.model_server import (
    FakeModelServer,
    Reply,
    Script,
    call,
    calls,
    rate_limited,
    say,
    server_error,
)
from tests.integration.broker_process import be_broker
from tests.unit.llm.requests import ask
from transport.codec import Codec
from transport.endpoint import Endpoint, Received
from transport.errors import PeerLost
from transport.mailboxes import Mailboxes
from transport.router import Router
from transport.tickets import make_ticket

CODEC = Codec(MESSAGES)
ADA = "shop-1/ada"
DEADLINE = 45


class BrokerSystem:
    """A router in a thread, a broker in a process, and endpoints of the test's own."""

    def __init__(self, folder: Path, server: FakeModelServer) -> None:
        self.home = folder / "home"
        begin_run(self.home)
        self.server = server
        self.key = secrets.token_bytes(32)
        self._sockets = tempfile.TemporaryDirectory(prefix="agi-")
        self.url = f"ipc://{self._sockets.name}/r/router.sock"
        self.router = Router(self.url, self.key, Mailboxes(), topology=TOPOLOGY)
        self.router.bind()
        self._thread = threading.Thread(target=self.router.run, daemon=True)
        self._thread.start()
        self.config = load_config()
        self.broker: BaseProcess | None = None

    def ticket(self, address: str, incarnation: int) -> bytes:
        return make_ticket(self.key, address, incarnation)

    def start_broker(self, incarnation: int = 1) -> BaseProcess:
        values = {"first_delay_seconds": 0.01, "max_delay_seconds": 0.05}
        config = self.config.model_copy(
            update={"broker": self.config.broker.model_copy(update=values)}
        )
        launch = ActorLaunch(
            address=BROKER,
            kind="broker",
            incarnation=incarnation,
            ticket=self.ticket(BROKER, incarnation),
            router_url=self.url,
            home=self.home,
            args={},
            config=config.model_dump(mode="json"),
        )
        environ = {"PATH": os.environ["PATH"], **self.server.env()}
        self.broker = forking().Process(target=be_broker, args=(launch, environ), daemon=True)
        self.broker.start()
        return self.broker

    async def join(self, address: str = ADA) -> Endpoint:
        endpoint = Endpoint(
            url=self.url,
            address=address,
            incarnation=1,
            ticket=self.ticket(address, 1),
            codec=CODEC,
        )
        await endpoint.start()
        return endpoint

    async def wait_until_ready(self, supervisor: Endpoint) -> None:
        """Be the supervisor that hears `child.ready`."""
        while True:
            received = await supervisor.receive()
            if isinstance(received.body, ChildReady):
                await supervisor.reply(received, Ok())
                return

    def close(self) -> None:
        if self.broker is not None:
            self.broker.kill()
            self.broker.join(10)
        self.router.stop()
        self._thread.join(10)
        self.router.close()
        self._sockets.cleanup()


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(lambda seen: say("fine")) as running:
        yield running


@pytest.fixture
def broker_system(tmp_path: Path, server: FakeModelServer) -> Iterator[BrokerSystem]:
    built = BrokerSystem(tmp_path, server)
    yield built
    built.close()


@pytest.fixture
def gate(server: FakeModelServer) -> Iterator[threading.Event]:
    """Delay a reply until this event is set; it is set before the server closes."""
    event = threading.Event()
    yield event
    event.set()


@asynccontextmanager
async def started(broker_system: BrokerSystem) -> AsyncIterator[tuple[Endpoint, Endpoint]]:
    """Start a broker, wait until it is ready, and join as a supervisor and as ada."""
    async with asyncio.timeout(DEADLINE):
        supervisor, ada = await broker_system.join(SUPERVISOR), await broker_system.join()
        try:
            broker_system.start_broker()
            await broker_system.wait_until_ready(supervisor)
            yield supervisor, ada
        finally:
            supervisor.abort()
            ada.abort()


def text_of(received: Received) -> str | None:
    assert isinstance(received.body, ModelAnswer), received.body
    return received.body.response.text


@pytest.mark.parametrize("model", ["anthropic/fake", "openai/fake"])
async def test_call_is_answered_end_to_end_and_counted(
    broker_system: BrokerSystem, server: FakeModelServer, model: str
) -> None:
    server.responder = Script({"ada": [calls(call("bash", command="ls"), text="Looking at it.")]})
    broker_system.home.mkdir(exist_ok=True)
    (broker_system.home / "prices.yaml").write_text(f"{model}: {{input: 3, output: 15}}\n")

    async with started(broker_system) as (_, ada):
        got = await ada.ask(BROKER, CallModel(request=ask(model=model)))
        assert text_of(got) == "Looking at it."
        assert isinstance(got.body, ModelAnswer)
        assert got.body.response.tool_calls[0].arguments == {"command": "ls"}
        usage = (await ada.ask(BROKER, AskUsage(run_id="run-1", agent="shop-1"))).body
        assert isinstance(usage, UsageTable)
        assert usage.total == got.body.response.usage
        assert usage.total.cost_usd is not None
        assert usage.total.cost_usd > 0
    assert server.seen_by("ada")
    assert not server.problems


async def test_failures_are_tried_again_and_reported(
    broker_system: BrokerSystem, server: FakeModelServer
) -> None:
    answers = iter([server_error(), rate_limited("0.01"), rate_limited(), say("at last")])
    server.responder = lambda seen: next(answers)

    async with started(broker_system) as (_, ada):
        recorder = await broker_system.join(RECORDER)
        got = await ada.ask(BROKER, CallModel(request=ask(model="openai/fake")))
        assert text_of(got) == "at last"
        kinds: list[str] = []
        while len(kinds) < 3:
            report = await recorder.receive()
            if isinstance(report.body, ReportEvents):
                kinds += [event.data["kind"] for event in report.body.events]
            recorder.done(report)
        assert kinds == ["overloaded", "rate_limited", "rate_limited"]
        recorder.abort()


async def test_killed_broker_is_restarted_and_the_call_repeated(
    broker_system: BrokerSystem, server: FakeModelServer, gate: threading.Event
) -> None:
    replies = iter([Reply(text="too late", gate=gate), say("again")])
    server.responder = lambda seen: next(replies)

    async with started(broker_system) as (supervisor, ada):
        id, body = message_id(), CallModel(request=ask(model="anthropic/fake"))
        asking = asyncio.create_task(ada.ask(BROKER, body, id=id))
        await asyncio.to_thread(server.wait_for, lambda seen: True)
        assert broker_system.broker is not None
        broker_system.broker.kill()
        broker_system.start_broker(incarnation=2)
        with pytest.raises(PeerLost):
            await asking
        await broker_system.wait_until_ready(supervisor)
        assert text_of(await ada.ask(BROKER, body, id=id)) == "again"


async def test_spending_survives_a_kill(broker_system: BrokerSystem) -> None:
    async with started(broker_system) as (supervisor, ada):
        await ada.ask(BROKER, CallModel(request=ask(model="anthropic/fake")))
        before = (await ada.ask(BROKER, AskUsage(agent="shop-1"))).body
        assert broker_system.broker is not None
        broker_system.broker.kill()
        await asyncio.to_thread(broker_system.broker.join, 10)
        broker_system.start_broker(incarnation=2)
        await broker_system.wait_until_ready(supervisor)
        after = (await ada.ask(BROKER, AskUsage(agent="shop-1"))).body
        assert isinstance(after, UsageTable)
        assert after.total.tokens > 0
        assert after == before


async def test_stop_signal_ends_the_broker_during_a_call(
    broker_system: BrokerSystem, server: FakeModelServer, gate: threading.Event
) -> None:
    server.responder = lambda seen: Reply(text="never", gate=gate)

    async with started(broker_system) as (_, ada):
        body = CallModel(request=ask(model="anthropic/fake"))
        asking = asyncio.create_task(ada.ask(BROKER, body))
        await asyncio.to_thread(server.wait_for, lambda seen: True)
        assert broker_system.broker is not None
        assert broker_system.broker.pid is not None
        os.kill(broker_system.broker.pid, signal.SIGTERM)
        await asyncio.to_thread(broker_system.broker.join, 20)
        assert broker_system.broker.exitcode == 0
        with pytest.raises(PeerLost):
            await asking


def test_a_broken_table_in_the_home_is_refused_at_start(broker_system: BrokerSystem) -> None:
    broker_system.home.mkdir(exist_ok=True)
    (broker_system.home / "providers.yaml").write_text("lab: {api: grpc}")
    broker = broker_system.start_broker()
    broker.join(30)
    assert broker.exitcode == 64

"""A gateway that really listens, on a simulated bus: to test the API and its client."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from actors.gateway.main import serve
from actors.scheduler.trigger_requests import TriggerRequests
from actors.scheduler.trigger_store import TriggerStore
from agiraph.board.commands import (
    AssignNode,
    CompleteNode,
    CreateNode,
    SpawnWorker,
    StartNode,
    StartRun,
)
from agiraph.board.store import BoardStore
from agiraph.core.ids import CLOCK, HUMAN, SUPERVISOR, AgentId, QuestionId, RunId
from agiraph.core.models import BUDGET, Agent, Event, NodeResult, ProposedAction
from agiraph.core.money import BudgetState
from agiraph.core.specs import NodeSpec, WorkerSpec
from agiraph.core.turns import Usage
from agiraph.http.client import Client
from agiraph.http.errors import ApiError
from agiraph.messages.body import MessageBody
from agiraph.messages.child import (
    AttachConsole,
    AttachTicket,
    ChildInfo,
    ChildStarted,
    ChildStopped,
    ChildTable,
    ListChildren,
    StartChild,
    StopChild,
)
from agiraph.messages.control import AskMailboxDepths, MailboxDepths, Ok, RefusedReply
from agiraph.messages.host import (
    ChangeHost,
    HostInfo,
    HostInvited,
    HostTable,
    InviteHost,
    ListHosts,
)
from agiraph.messages.model import (
    AskBudgets,
    AskUsage,
    BudgetTable,
    CheckModel,
    ListModels,
    ModelCatalog,
    ResetBudget,
    SetBudgetMessage,
    UsageTable,
)
from agiraph.messages.node import CancelByHuman, MoveByHuman, RetryNodeMessage
from agiraph.messages.question import AskQuestion
from agiraph.messages.trigger import ChangeTrigger, CreateTrigger, ListTriggers
from agiraph.storage.files import replace_file
from agiraph.storage.home import Home
from agiraph.triggers.trigger_set import FiringLimits
from tests.fakes.fake_runtime import FakeRuntime, arrived
from transport.endpoint import Received

Result = TypeVar("Result")

DEADLINE_SECONDS = 60.0
AGENT = AgentId("survey-abc123")
RUN = RunId("20260101-000000-aaaaaa")


class FakeHosts:
    """The supervisor's part with hosts: `table` is its table; a `change` takes effect at once."""

    def __init__(self) -> None:
        self.table: dict[str, HostInfo] = {}
        self.invited: list[InviteHost] = []

    def add(self, name: str, **facts: Any) -> None:
        """Add a machine that has joined."""
        self.table[name] = HostInfo.model_validate({"name": name, "state": "ready"} | facts)

    def answer(self, body: MessageBody) -> MessageBody:
        """Answer like the supervisor."""
        match body:
            case InviteHost():
                self.invited.append(body)
                return HostInvited(line="agiraph-invitation:1:abc", expires_at=100 + body.seconds)
            case ChangeHost(how="remove"):
                del self.table[body.name]
            case ChangeHost():
                done: dict[str, Any] = {"is_cordoned": body.how != "uncordon"}
                if body.how == "label":
                    done = {"labels": body.labels}
                self.table[body.name] = self.table[body.name].model_copy(update=done)
        return HostTable(
            hosts=tuple(self.table.values()),
            listens_at="tcp://0.0.0.0:7400",
            invitations=1,
            workers=5,
            unplaced=((), ("gpu",)),
        )


class GatewayHome:
    """A home with one agent, its gateway at work in a thread, and simulated peers on the bus."""

    def __init__(self, path: Path) -> None:
        self.home = Home(path)
        self.runtime = FakeRuntime(path)
        self.children: dict[str, ChildInfo] = {}
        self.loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._serving: asyncio.Task[None] | None = None
        self.hosts = FakeHosts()
        self._answer_on_the_bus()

    def start(self) -> None:
        """Start the gateway; return when it accepts requests."""
        started = threading.Event()

        async def live() -> None:
            self._serving = asyncio.ensure_future(serve(self.runtime))  # type: ignore[arg-type]
            ready = asyncio.ensure_future(self.runtime.is_ready.wait())
            await asyncio.wait([self._serving, ready], return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            started.set()
            await asyncio.wait([self._serving])
            if not self._serving.cancelled() and (fault := self._serving.exception()) is not None:
                raise fault

        def run() -> None:
            asyncio.set_event_loop(self.loop)
            self.fault: BaseException | None = None
            try:
                self.loop.run_until_complete(live())
            except BaseException as error:
                self.fault = error

        self._thread = threading.Thread(target=run)
        self._thread.start()
        assert started.wait(DEADLINE_SECONDS)

    def stop(self) -> None:
        """Cancel the gateway, wait until it has ended, and raise its error, if any."""
        assert self._thread is not None
        if self._serving is not None:
            self.loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive(), "the gateway did not stop"
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        if self.fault is not None:
            raise self.fault

    def client(self) -> Client:
        """Return a client of this gateway."""
        return Client.for_home(self.home.path)

    def arrive(self, received: Received) -> None:
        """Deliver a message from the bus and wait until the gateway has acknowledged it."""
        count = len(self.runtime.finished)
        self.loop.call_soon_threadsafe(self.runtime.put, received)
        self.wait_until(lambda: len(self.runtime.finished) > count)

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait, by the bus's own events, until `is_so` returns true."""
        asyncio.run_coroutine_threadsafe(
            self.runtime.until(is_so, DEADLINE_SECONDS), self.loop
        ).result(DEADLINE_SECONDS + 1)

    def call(self, function: Callable[[], Result]) -> Result:
        """Run a function in the gateway's loop."""

        async def run() -> Result:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(DEADLINE_SECONDS)

    # --- files on disk ---

    def add_agent(self, id: str = AGENT, name: str = "survey", **facts: Any) -> Agent:
        """Write an agent's files like its coordinator."""
        agent = Agent(
            id=AgentId(id),
            name=name,
            goal="Survey the folder",
            model="script/fake",
            worker_model="script/fake",
            run=RUN,
            status=facts.get("status", "working"),
            created_at=facts.get("created_at", 100.0),
            updated_at=100.0,
        )
        replace_file(self.home.agent(agent.id).record, agent.model_dump_json())
        self.home.agent(agent.id).run(RUN).path.mkdir(parents=True)
        for kind in ("coordinator",):
            self.add_child(f"{id}/{kind}", kind)
        return agent

    def add_child(self, address: str, kind: str, state: str = "ready") -> None:
        """Put a process into the supervisor's table."""
        self.children[address] = ChildInfo(
            address=address,
            kind=kind,
            state=state,
            pid=100 + len(self.children),
            incarnation=1,
            started_at=1.0,
            cpu_seconds=2.0,
            memory_bytes=1024,
        )

    def add_team(self, *names: str) -> list[str]:
        """Add a node and these workers to the agent's board; return the workers' ids."""
        store = BoardStore(self.home.agent(AGENT).run(RUN).journal)
        try:
            store.execute(
                StartRun(
                    run_id=RUN,
                    goal="Survey",
                    model="script/fake",
                    worker_model="script/fake",
                    mode="finite",
                    max_nodes=10,
                ),
                1.0,
            )
            store.execute(CreateNode("c1", NodeSpec(task="Look at the tables", name="tables")), 2.0)
            for name in names:
                store.execute(SpawnWorker(f"w-{name}", WorkerSpec(name=name)), 3.0)
            workers = [worker.id for worker in store.board.workers.values()]
        finally:
            store.close()
        for worker in workers:
            self.add_child(f"{AGENT}/{worker}", "worker")
        return [str(worker) for worker in workers]

    def assign(self, worker: str) -> None:
        """Give the node of the board to a worker."""
        store = BoardStore(self.home.agent(AGENT).run(RUN).journal)
        try:
            store.execute(AssignNode(node="tables", worker=worker), 4.0)
        finally:
            store.close()

    def publish(self, worker: str, *files: str) -> None:
        """Complete the node of the board: the worker of this name has published these files."""
        store = BoardStore(self.home.agent(AGENT).run(RUN).journal)
        try:
            store.execute(AssignNode(node="tables", worker=worker), 4.0)
            store.execute(StartNode("tables", worker, 1), 5.0)
            result = NodeResult(summary="Read", files=files)
            store.execute(CompleteNode("tables", 1, result), 6.0)
        finally:
            store.close()

    def log_events(self, *types: str, agent: str = AGENT, **data: Any) -> None:
        """Append events to the log, like the recorder."""
        path = self.home.agent(agent).events
        seq = len(path.read_bytes().splitlines()) if path.exists() else 0
        with open(path, "ab") as file:
            for number, type in enumerate(types, start=seq + 1):
                event = Event(type=type, agent_id=AgentId(agent), ts=1.0, seq=number, data=data)
                record = event.model_dump(mode="json") | {"source": f"x:{number}"}
                file.write(json.dumps(record).encode() + b"\n")

    # --- answers on the bus ---

    def _answer_on_the_bus(self) -> None:
        answers = self.runtime.answers
        answers[ListChildren] = lambda body: ChildTable(children=tuple(self.children.values()))
        answers[AskMailboxDepths] = lambda body: MailboxDepths(
            depths={f"{AGENT}/coordinator": (3, 400)}
        )
        answers[AskBudgets] = lambda body: BudgetTable(budgets=())
        answers[SetBudgetMessage] = lambda body: BudgetTable(
            budgets=(BudgetState(**body.budget.model_dump(), is_own=True, sets=1),)
        )
        answers[ResetBudget] = lambda body: BudgetTable(
            budgets=(BudgetState(scope=body.scope, key=body.key, period=body.period),)
        )
        answers[AskUsage] = lambda body: UsageTable(
            by_entity={f"{AGENT}/coordinator": Usage(input_tokens=10, output_tokens=5)},
            total=Usage(input_tokens=10, output_tokens=5),
        )
        answers[ListModels] = lambda body: ModelCatalog(
            providers=({"name": "script", "usable": True},), default="script/fake", why="fake"
        )
        answers[CheckModel] = lambda body: (
            Ok() if body.model.startswith("script/") else RefusedReply(reason="unknown provider")
        )
        for order in (RetryNodeMessage, CancelByHuman, MoveByHuman):
            answers[order] = lambda body: RefusedReply(reason="it has not failed")
        answers[StartChild] = self._start_child
        answers[StopChild] = self._stop_child
        answers[AttachConsole] = lambda body: AttachTicket(
            address="console/1",
            incarnation=7,
            ticket=b"\x01\x02",
            router_url="ipc:///x",
        )

        for about in (InviteHost, ListHosts, ChangeHost):
            answers[about] = lambda body: self.hosts.answer(body)
        for request in (CreateTrigger, ChangeTrigger, ListTriggers):
            answers[request] = self._clock

    def _clock(self, body: MessageBody) -> MessageBody:
        """Answer like the scheduler, with its own code, on the home's own files."""
        settings = self.runtime.config.triggers
        bounds = FiringLimits(late_seconds=settings.late_seconds, per_minute=settings.per_minute)
        shelf = TriggerStore(self.home, bounds, self.runtime.log, lambda event: None, lambda: 0.0)
        shelf.load()
        desk = TriggerRequests(shelf, self.runtime.config, lambda event: None)
        answer = desk.answer(arrived(body, HUMAN, to=CLOCK), self.runtime.clock.now())
        assert answer is not None
        return answer

    def _start_child(self, body: StartChild) -> ChildStarted:
        spec = body.spec
        self.add_child(spec.address, spec.kind)
        agent = Agent.model_validate(spec.args["agent"])
        replace_file(self.home.agent(agent.id).record, agent.model_dump_json())
        return ChildStarted(address=spec.address, incarnation=1)

    def _stop_child(self, body: StopChild) -> ChildStopped | RefusedReply:
        known = self.children.get(body.address)
        if known is None:
            return RefusedReply(reason=f"unknown child {body.address}")
        state = "ready" if body.how == "restart" else "stopped"
        self.children[body.address] = known.model_copy(update={"state": state})
        if body.how == "forget":
            del self.children[body.address]
        return ChildStopped(address=body.address, state=state)


@contextmanager
def running_gateway(path: Path, default_model: str = "", /, **http: Any) -> Iterator[GatewayHome]:
    """Yield a home whose gateway runs with these settings of `http`; it is stopped at the end."""
    gateway_home = GatewayHome(path)
    config = gateway_home.runtime.config
    place = config.http.model_copy(update={"strangers_per_second": 1e6} | http)
    models = config.models.model_copy(update={"default": default_model})
    gateway_home.runtime.config = config.model_copy(update={"http": place, "models": models})
    gateway_home.add_child(SUPERVISOR, "supervisor")
    gateway_home.start()
    try:
        yield gateway_home
    finally:
        gateway_home.stop()


def refused(call: Callable[..., object], *args: object, **named: object) -> ApiError:
    """Return the error with which the API must refuse a call."""
    try:
        call(*args, **named)
    except ApiError as error:
        return error
    raise AssertionError("nothing was refused")


def ask(
    gateway_home: GatewayHome,
    id: str = "q1",
    sender: str = f"{AGENT}/alice-1",
    about: ProposedAction | None = None,
) -> None:
    """Let an entity ask the human; with `about`, for more money."""
    question = AskQuestion(
        question_id=QuestionId(id),
        agent=AGENT,
        from_name="Alice",
        question="Which database?",
        kind="question" if about is None else BUDGET,
        about=about,
        shared=about is not None,
    )
    gateway_home.arrive(arrived(question, sender))

"""A gateway's client and a supervisor that live in memory, and a way to run the command line."""

import base64
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from click.testing import CliRunner, Result

from agiraph.core.event_types import Audience, types_meant
from agiraph.core.ids import AgentId, NodeId, RunId, ids_meant
from agiraph.core.models import Event
from agiraph.core.turns import Usage, UsageGroup, UsageRow
from agiraph.http.api import (
    AgentView,
    ApiError,
    BoardView,
    BudgetView,
    CreateAgentRequest,
    EntityView,
    EventPageView,
    EventView,
    FileContentView,
    FileEntryView,
    FolderView,
    LoginLinkView,
    MessageView,
    ModelsView,
    NotReachable,
    QuestionView,
    SentView,
    StartRunRequest,
    SteeredEntityView,
    SteeredView,
    ThreadPageView,
    UsageView,
    WorkerView,
)
from agiraph.logs.event_filter import EventFilter
from agiraph.readmodel.thread import Thread
from cli.main import agiraph
from cli.options.shared import CliContext

NEVER = threading.Event()
AGENT = AgentId("survey-3fa9c1")
RUN = RunId("run-1")


def event(type: str, seq: int = 0, *, entity: str = "coordinator", **data: Any) -> EventView:
    node = NodeId(data["node_id"]) if "node_id" in data else None
    about: dict[str, Any] = {"seq": seq, "entity": entity, "node_id": node, "data": data}
    return EventView.of(Event(type=type, agent_id=AGENT, ts=1.0, **about))


def summary(**changes: Any) -> AgentView:
    models = {"model": "script/survey", "worker_model": "script/survey"}
    facts = {"id": AGENT, "name": "survey", "goal": "Survey this folder", "mode": "finite"}
    state = {"status": "working", "run": RUN, "created_at": 1.0, "updated_at": 2.0}
    return AgentView.model_validate(facts | models | state | changes)


def question(id: str = "q-1", **changes: Any) -> QuestionView:
    asked = {"id": id, "agent": AGENT, "sender": "alice", "asked_at": 3.0}
    return QuestionView.model_validate(asked | {"question": "Which database?"} | changes)


class FakeFollower:
    """Hands out the client's scripted events; a callable among them is run in its turn."""

    def __init__(self, client: "FakeClient", after: int) -> None:
        self._client = client
        self.seq = after

    def next(self, within_seconds: float | None = None) -> EventView | None:
        if not self._client.script:
            self._client.quiet_turns += 1
            assert self._client.quiet_turns < 10_000, "the watch did not end"
            NEVER.wait(min(within_seconds or 0.0, 0.002))
            return None
        step = self._client.script.pop(0)
        if not isinstance(step, EventView):
            step()
            return None
        self.seq += 1
        return step.model_copy(update={"seq": self.seq})

    def __iter__(self) -> Iterator[EventView]:
        while self._client.script:
            found = self.next()
            if found is not None:
                yield found

    def __enter__(self) -> "FakeFollower":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FakeThreadFollower(FakeFollower):
    """Hands out the entries that the scripted events make."""

    def __init__(self, client: "FakeClient") -> None:
        super().__init__(client, len(client.said))
        self._thread = Thread()

    def next(self, within_seconds: float | None = None) -> Any:
        event = super().next(within_seconds)
        return event and self._thread.add(event)

    def __enter__(self) -> "FakeThreadFollower":
        return self


@dataclass
class FakeClient:
    """Answers like the gateway; records orders in `did`."""

    record: AgentView = field(default_factory=summary)
    script: list[EventView | Callable[[], None]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[QuestionView] = field(default_factory=list)
    log: list[EventView] = field(default_factory=list)
    said: list[EventView] = field(default_factory=list)
    did: list[tuple[Any, ...]] = field(default_factory=list)
    login_users: list[int | None] = field(default_factory=list)
    usages: list[tuple[str | None, str | None, str]] = field(default_factory=list)
    providers: list[dict[str, Any]] = field(default_factory=list)
    default: tuple[str | None, str] = ("script/survey", "models.default in the settings")
    kept: list[BudgetView] = field(default_factory=list)
    is_estimated: bool = False
    quiet_turns: int = 0
    url: str = "http://127.0.0.1:8765"
    is_open: bool = True
    is_closed: bool = False
    on_send: Callable[[], None] = lambda: None

    def end(self, status: str, result: str | None = None) -> Callable[[], None]:
        """Return a step of the script that ends the agent."""

        def step() -> None:
            self.record = self.record.model_copy(update={"status": status, "result": result})

        return step

    def ask(self, asked: QuestionView) -> Callable[[], None]:
        """Return a step of the script that asks the human."""

        def step() -> None:
            self.asked.append(asked)
            self.record = self.record.model_copy(update={"open_questions": len(self.asked)})

        return step

    def _known(self, agent: str) -> AgentView:
        if agent not in (self.record.id, self.record.name):
            raise ApiError(404, f"unknown agent '{agent}' (known: {self.record.id})")
        return self.record

    def create_agent(self, request: CreateAgentRequest) -> AgentView:
        if request.model == "nope/x":
            raise ApiError(422, "unknown provider 'nope' (known: anthropic, script)")
        self.did.append(("create", request))
        model = request.model or self.record.model
        self.record = self.record.model_copy(update={"goal": request.goal, "model": model})
        return self.record

    def begin_run(self, agent: str, request: StartRunRequest) -> AgentView:
        known = self._known(agent)
        if known.status == "working":
            raise ApiError(409, f"agent '{known.name}' is still at work")
        self.did.append(("begin", agent, request))
        changes = {"goal": request.goal, "status": "working", "run": request.run}
        self.record = known.model_copy(update=changes)
        return self.record

    def agents(
        self, *, status: Sequence[str] = (), mode: str | None = None, text: str = ""
    ) -> list[AgentView]:
        is_wanted = (not status or self.record.status in status) and text in self.record.goal
        return [self.record] if is_wanted else []

    def agent(self, agent: str) -> AgentView:
        return self._known(agent)

    def create_login_link(self, *, next: str, user: int | None = None) -> LoginLinkView:
        self.did.append(("login", next))
        self.login_users.append(user)
        return LoginLinkView(path="/login#agl_x", scope="control", expires_at=60, login_seconds=9)

    def stop(self, agent: str) -> SteeredView:
        return self.act(agent, "stop")

    def act(self, entity: str, act: str) -> SteeredView:
        if entity == "nobody":
            raise ApiError(404, "unknown entity 'nobody' (known: broker)")
        self.did.append((act, entity))
        state = SteeredEntityView(address=f"{AGENT}/coordinator", state="stopped")
        return SteeredView.model_validate({"act": act, "entities": (state,)})

    def send(
        self, agent: str, message: str, *, to: str | None = None, mode: str = "steer", **more: Any
    ) -> SentView:
        self._known(agent)
        if to == "bob":
            raise ApiError(404, "unknown receiver 'bob' (known: alice, coordinator)")
        self.did.append(("send", message, to, mode, *filter(None, [more.get("in_reply_to")])))
        self.on_send()
        return SentView(id="m1", to=(to or "coordinator",), ts=1.0)

    def nudge(self, agent: str, message: str) -> SentView:
        self._known(agent)
        self.did.append(("nudge", message))
        return SentView(id="m1", to=("coordinator",), ts=1.0)

    def questions(self, *, status: str | None = None) -> list[QuestionView]:
        return [q for q in self.asked if status in (None, q.status)]

    def answer(self, question_id: str, response: str, *, via: str | None = None) -> QuestionView:
        for number, found in enumerate(self.asked):
            if ids_meant(question_id, [found.id]):
                if found.status == "answered":
                    raise ApiError(409, "answered before by anna")
                changes = {"status": "answered", "answer": response}
                self.asked[number] = found.model_copy(update=changes)
                self.did.append(("answer", question_id, response))
                return self.asked[number]
        raise ApiError(404, f"unknown question '{question_id}' (known: none)")

    def thread(self, agent: str, *, limit: int, **_: Any) -> ThreadPageView:
        entries = tuple(Thread().add_all(self.said))
        return ThreadPageView(entries=entries[-limit:], next=len(self.said))

    def follow_thread(self, agent: str, **_: Any) -> "FakeThreadFollower":
        return FakeThreadFollower(self)

    def messages(self, agent: str, *, after: int = 0, **_: Any) -> list[MessageView]:
        self._known(agent)
        found = MessageView(seq=1, id="m1", sender="alice", to="bob", content="dupes: 2", ts=1.0)
        return [found] if after < 1 else []

    def board(self, agent: str, **_: Any) -> BoardView:
        self._known(agent)
        facts = {"role": "worker", "task": "Look at the tables", "assigned_worker": "alice"}
        done = {"id": "n1", "name": "tables", "status": "completed", "summary": "3 tables"}
        return BoardView.model_validate({"run": RUN, "nodes": [facts | done], "current_stage": 0})

    def workers(self, agent: str, **_: Any) -> list[WorkerView]:
        self._known(agent)
        facts = {"id": "alice-aaaaaa", "name": "alice", "type": "harnessed", "role": "worker"}
        state = {"status": "busy", "node": "tables", "step": "bash"}
        address = f"{AGENT}/alice-aaaaaa"
        return [WorkerView.model_validate(facts | state | {"address": address})]

    def workspace(
        self, agent: str, path: str = "", *, offset: int = 0, run: str | None = None
    ) -> FolderView | FileContentView:
        self._known(agent)
        if path:
            return self.read_file(agent, path, offset=offset)
        entries = tuple(
            FileEntryView(path=name, name=name, kind="file", size=len(data))
            for name, data in self.files.items()
        )
        return FolderView(path="", entries=entries)

    def read_file(
        self, agent: str, path: str, *, offset: int = 0, run: str | None = None
    ) -> FileContentView:
        if path not in self.files:
            raise ApiError(404, f"no file '{path}'")
        data = self.files[path]
        piece = data[offset : offset + 10]
        try:
            content, encoding = piece.decode(), "utf-8"
        except UnicodeDecodeError:
            content, encoding = base64.b64encode(piece).decode(), "base64"
        where = {"path": path, "size": len(data), "offset": offset, "returned": len(piece)}
        is_cut = offset + len(piece) < len(data)
        text = {"content": content, "encoding": encoding, "is_truncated": is_cut}
        return FileContentView.model_validate(where | text)

    def events(
        self,
        agent: str,
        *,
        after: int = 0,
        limit: int = 1000,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
        audience: Audience = "log",
    ) -> EventPageView:
        self._known(agent)
        wanted = EventFilter(types_meant(types), entity, node, audience)
        found = tuple(e for e in self.log if e.seq > after)[:limit]
        picked = tuple(e for e in found if wanted.takes(e))
        return EventPageView(events=picked, next=found[-1].seq if found else after)

    def follow_events(self, agent: str, *, after: int = 0, **_: Any) -> FakeFollower:
        return FakeFollower(self, after)

    def budgets(self, agent: str | None = None) -> list[BudgetView]:
        self.did.append(("budgets", agent))
        return self.kept

    def set_budget(self, agent: str, **terms: Any) -> BudgetView:
        self._known(agent)
        self.did.append(("set_budget", agent, terms))
        return self.kept[0]

    def remove_budget(self, agent: str, **terms: Any) -> BudgetView:
        self.did.append(("remove_budget", agent, terms))
        return self.kept[0]

    def entities(self) -> list[EntityView]:
        rows = (("broker", "broker", 12), (f"{AGENT}/coordinator", "coordinator", None))
        return [
            EntityView(address=address, kind=kind, name=kind, state="ready", pid=pid)
            for address, kind, pid in rows
        ]

    def models(self) -> ModelsView:
        default, why = self.default
        return ModelsView(providers=tuple(self.providers), default=default, why=why)

    def usage(
        self, *, agent: str | None = None, run: str | None = None, by: UsageGroup = "entity"
    ) -> UsageView:
        self.usages.append((agent, run, by))
        total = Usage(
            input_tokens=100, output_tokens=20, cost_usd=0.5, is_estimate=self.is_estimated
        )
        key = {"entity": f"{AGENT}/coordinator", "node": "", "model": "script/survey"}.get(by, "")
        row = UsageRow(key=key, calls=2, seconds=1.5, usage=total)
        return UsageView(by_entity={f"{AGENT}/coordinator": total}, total=total, by=by, rows=(row,))

    def close(self) -> None:
        self.is_closed = True

    def __enter__(self) -> "FakeClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class FakeSupervisor:
    """A supervisor that is there at once, and opens the gateway of its client."""

    on_start: Callable[[], None]
    did: list[str] = field(default_factory=list)

    def start(self, *, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.did.append("start")
        meanwhile()
        self.on_start()

    def stop(self) -> bool:
        self.did.append("stop")
        return True

    def has_ended(self) -> bool:
        return False

    def last_lines(self) -> str:
        return ""


def command(
    client: FakeClient | None, *args: str, supervisor: Any = None, stdin: str | bytes | None = None
) -> Result:
    """Run the command line against a fake gateway (None: no supervisor runs)."""

    def connect(home: Path) -> Any:
        if client is None or not client.is_open:
            raise NotReachable(f"no supervisor runs on home {home}")
        return client

    own: Any = supervisor or SimpleNamespace()
    face = CliContext(connect=connect, read=connect, supervisor=lambda _home: own)
    return CliRunner().invoke(agiraph, list(args), obj=face, input=stdin)


def json_of(result: Result) -> Any:
    """Return a command's stdout, which must be one JSON value and nothing else."""
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)

"""A worker that was taken over: with its own valid ticket it sends hostile frames to all addresses.

It speaks to the router on a bare wire, so it can lie in every field: it sends noise and every
message to all addresses, then the most harmful messages (`forged`): to another agent, a teammate
and its own coordinator, about their real runs, nodes, questions and triggers. Then it continues as
the real worker. Run as a program this is `agiraph-supervisor` with this worker in the place of the
real one.
"""

import asyncio
import contextlib
import json
import os
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.runtime.kinds import KINDS as REAL_KINDS
from actors.runtime.launch import ActorLaunch
from actors.worker.main import main as real_worker
from agiraph.core.ids import Address, AgentId, NodeId, QuestionId
from agiraph.core.models import BUDGET, Agent, Event, ProposedAction
from agiraph.core.money import Budget, BudgetState
from agiraph.core.turns import ModelRequest, UserTurn
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.board import AwaitNodes, SuggestNode
from agiraph.messages.body import MessageBody
from agiraph.messages.child import ChildFailed, ChildSpec, StartChild, StopChild
from agiraph.messages.control import Pause
from agiraph.messages.event import ReportEvents
from agiraph.messages.llm_proxy import OpenProxy
from agiraph.messages.model import CallModel, RaiseBudget, ResetBudget, SetBudgetMessage
from agiraph.messages.node import (
    CancelNodeMessage,
    FailNodeMessage,
    NodeCheckpoint,
    PublishNode,
    SubNodeEnded,
)
from agiraph.messages.question import AskQuestion, QuestionAnswered, WithdrawQuestion
from agiraph.messages.run import BeginRun
from agiraph.messages.text import TextMessage
from agiraph.messages.trigger import ChangeTrigger, CreateTrigger, TriggerFailed
from agiraph.storage.home import Home
from transport import protocol, tickets
from transport.envelope import VERSION, Flag, pack_fields, pack_map, read_fields
from transport.protocol import hello_frame, link_frame
from transport.wire import ZmqWire

KINDS = {**REAL_KINDS, "worker": "tests.integration.hostile:main"}
MALLORY = "mallory"
THROWN = "thrown.txt"
FORGED = "forged by mallory"
SERVICES = ("router", "recorder", "broker", "human", "supervisor", "nobody/here")
WITHIN_SECONDS = 80.0
HEARTBEAT_SECONDS = 0.5
WORDS = ("", "human", "../../../etc/passwd", "\x00", "a/b/c", "coordinator", "x" * 5_000, "*")


def main(launch: ActorLaunch) -> int:
    """Attack, if this is mallory's process; then run the worker."""
    is_hostile = launch.args["worker"]["name"] == MALLORY
    if is_hostile and not (launch.home / THROWN).exists():
        thrown = asyncio.run(FrameSender(launch).throw())
        (launch.home / THROWN).write_text(str(thrown), encoding="utf-8")
    return real_worker(launch)


class FrameSender:
    """Greets as the worker, sends all frames, and disconnects."""

    def __init__(self, launch: ActorLaunch) -> None:
        self._launch = launch
        self._dice = random.Random(1)
        self._names = [each for at in self._entities() for each in (at, at.partition("/")[0])]
        self._alive = asyncio.Event()
        self._welcomed = asyncio.Event()

    async def throw(self) -> int:
        """Send all frames; return their number, once the router has received them."""
        launch = self._launch
        wire = ZmqWire(launch.router_url, tickets.routing_id(launch.ticket))
        self._wire = wire
        wire.open(self)
        count = 0
        async with asyncio.timeout(WITHIN_SECONDS):
            await self._welcomed.wait()
            for blob in self._frames():
                await self._send(blob)
                count += 1
            # A heartbeat is answered in order: then the router has received everything before it.
            # The router drops answers while this process reads more slowly than it is answered.
            while not self._alive.is_set():
                await self._send(self._link(protocol.HEARTBEAT, {"lag": 0.0}))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._alive.wait(), HEARTBEAT_SECONDS)
        wire.close(1.0)
        return count

    async def _send(self, blob: bytes) -> None:
        """Send a frame once there is room for it."""
        while not self._wire.send(blob):  # noqa: ASYNC110 (a poll is enough here)
            await asyncio.sleep(0.001)

    # --- WireEvents ---

    def connected(self) -> None:
        """Greet."""
        launch = self._launch
        ticket, pid = launch.ticket, os.getpid()
        self._wire.send(hello_frame(launch.address, launch.incarnation, ticket, pid))

    def disconnected(self) -> None:
        """Nothing."""

    def writable(self) -> None:
        """Nothing."""

    def frame(self, blob: bytes) -> None:
        """Note the router's welcome, and its answer to the heartbeat."""
        type_ = read_fields(blob)[2]
        if type_ == protocol.WELCOME:
            self._welcomed.set()
        if type_ == protocol.ALIVE:
            self._alive.set()

    # --- frames ---

    def _frames(self) -> Iterator[bytes]:
        """Yield noise, false senders, and every message to all addresses, whole and broken."""
        me = self._launch.address
        for size in (0, 1, 2, 7, 100, 70_000):
            yield self._dice.randbytes(size)
        everybody = [*SERVICES, *self._entities()]
        for body in MESSAGES:
            schema = body.model_json_schema()
            for to in everybody:
                for value in self._bodies(schema):
                    for flags in (int(body.DURABLE), int(body.DURABLE) | Flag.ASK):
                        yield self._blob(body.TYPE, to, me, flags, value)
                yield self._blob(body.TYPE, to, "human", int(body.DURABLE), b"\x80")
                yield self._blob(body.TYPE, to, "supervisor", int(not body.DURABLE), b"\x80")
        for victim in victims(self._launch):
            for to, forgery in forged(victim, me):
                for flags in (int(forgery.DURABLE), int(forgery.DURABLE) | Flag.ASK):
                    body_ = pack_map(forgery.model_dump(mode="python"))
                    yield self._blob(forgery.TYPE, to, me, flags, body_)
        for type_ in ("link.ack", "link.down", "link.who", "link.nonsense", "no.such.type"):
            for to in everybody:
                yield self._blob(type_, to, me, 0, self._dice.randbytes(40))

    def _entities(self) -> list[str]:
        """Return the addresses of all agents' entities, which any user of the machine may guess."""
        found = []
        for agent in (self._launch.home / "agents").iterdir():
            found.append(f"{agent.name}/coordinator")
            found += [f"{agent.name}/{path.name}" for path in agent.glob("runs/*/workers/*")]
        own = self._launch.address.partition("/")[0]
        return [address for address in found if not address.startswith(f"{own}/")]

    def _bodies(self, schema: dict[str, Any]) -> list[bytes]:
        """Return bodies: noise, a bomb, an empty map, wrong and right types of each field."""
        known = schema.get("properties", {})
        odd: list[Any] = [None, -1, [], {}, "x", 2**63]
        wrong = {name: self._dice.choice(odd) for name in known}
        right = {name: self._value(each, schema, 0) for name, each in known.items()}
        return [
            self._dice.randbytes(30),
            b"\x91" * 2_000,
            pack_map({}),
            pack_map(wrong),
            pack_map(right),
        ]

    def _value(self, part: dict[str, Any], schema: dict[str, Any], depth: int) -> Any:
        """Return a valid value for a part of a JSON schema, as hostile as possible."""
        if "$ref" in part:
            part = schema["$defs"][part["$ref"].rpartition("/")[2]]
        if "const" in part:
            return part["const"]
        if options := part.get("anyOf") or part.get("oneOf"):
            return self._value(self._dice.choice(options), schema, depth)
        if "enum" in part:
            return self._dice.choice(part["enum"])
        match part.get("type"):
            case "object" if "properties" in part and depth < 4:
                known = part["properties"]
                return {name: self._value(each, schema, depth + 1) for name, each in known.items()}
            case "array" if depth < 4 and isinstance(part.get("items"), dict):
                return [self._value(part["items"], schema, depth + 1)]
            case "array":
                return []
            case "integer":
                return self._dice.choice([0, 1, 2**40])
            case "number":
                return self._dice.choice([0.0, 1.5, 1e300])
            case "boolean":
                return self._dice.random() < 0.5
            case "string" if part.get("format") == "binary":
                return self._dice.randbytes(16)
            case "string":
                return self._dice.choice((*WORDS, *self._names))
        return {}

    def _blob(self, type_: str, to: str, sender: str, flags: int, body: bytes) -> bytes:
        number = self._launch.incarnation
        id_ = self._dice.randbytes(16)
        return pack_fields((VERSION, id_, type_, to, sender, number, None, 1.0, flags, None), body)

    def _link(self, type_: str, body: dict[str, Any]) -> bytes:
        launch = self._launch
        return link_frame(type_, body, sender=launch.address, incarnation=launch.incarnation)


@dataclass(frozen=True, slots=True)
class ImpersonatedEntity:
    """An entity that the hostile worker impersonates, with its run and its node."""

    address: str
    agent: AgentId
    run: str
    node: str
    questions: tuple[str, ...]
    triggers: tuple[str, ...]
    is_teammate: bool

    @property
    def coordinator(self) -> str:
        """Its agent's coordinator."""
        return f"{self.agent}/coordinator"


def victims(launch: ActorLaunch) -> list[ImpersonatedEntity]:
    """Return all entities in this home but the hostile worker, with their runs and nodes."""
    home, found = Home(launch.home), []
    with contextlib.closing(sqlite3.connect(home.human.book)) as db:
        asked = [json.loads(row[0]) for row in db.execute('SELECT "case" FROM questions')]
    own = launch.address.partition("/")[0]
    for record in home.agents.glob("*/agent.json"):
        agent = Agent.model_validate_json(record.read_bytes())
        folder = home.agent(agent.id)
        book = json.loads(folder.triggers.read_text()) if folder.triggers.exists() else {}
        board = read_lines(folder.run(agent.run or "").journal)
        held = {line["worker_id"]: line["node_id"] for line in board if "worker_id" in line}
        team = folder.run(agent.run or "").workers.iterdir()
        for name in ("coordinator", *(path.name for path in team)):
            address = f"{agent.id}/{name}"
            if address != launch.address:
                found.append(
                    ImpersonatedEntity(
                        address,
                        agent.id,
                        agent.run or "",
                        held.get(name, ""),
                        tuple(q["asked_as"] for q in asked if q["asker"] == address),
                        tuple(trigger["id"] for trigger in book.get("triggers", ())),
                        agent.id == own,
                    )
                )
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a journal."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def forged(who: ImpersonatedEntity, me: str) -> Iterator[tuple[str, MessageBody]]:
    """Yield messages that would harm this victim if the receiver believed their sender."""
    name = who.address.rpartition("/")[2]
    node, run, agent = NodeId(who.node), who.run, who.agent
    for entity in (who.address, name, name.rpartition("-")[0], "human"):
        for type_ in ("agent.completed", "node.failed", "tool.called", "human.response"):
            event = Event(type=type_, agent_id=agent, ts=1.0, entity=entity, data={"from": "human"})
            yield "recorder", ReportEvents(events=(event,))
    for entity in (who.address, me):
        request = ModelRequest(
            model="openai/fake",
            system="",
            turns=(UserTurn(content=FORGED),),
            entity=entity,
            run_id="20200101-000000-nobody" if who.is_teammate and entity == me else run,
            budget_usd=1e9,
            budgets=(Budget(scope="agent", key=agent, tokens=10**9),),
        )
        if entity != me or not who.is_teammate:
            yield "broker", CallModel(request=request)
    if not who.is_teammate:
        yield "broker", OpenProxy(run_id=run, node_id=who.node, model="openai/fake")
    for scope, key in (("agent", agent), ("run", run), ("node", f"{run}/{node}")):
        state = {"scope": scope, "key": key, "usd": 1e9, "tokens": 10**9}
        yield (
            "broker",
            RaiseBudget(
                budget=BudgetState.model_validate(state), usd=1e9, tokens=10**9, cause=f"{me}{key}"
            ),
        )
        yield "broker", SetBudgetMessage(budget=Budget.model_validate(state))
        yield "broker", ResetBudget.model_validate(state)
    for name_ in ("human", "coordinator", name.rpartition("-")[0]):
        yield (
            "human",
            AskQuestion(
                question_id=QuestionId(f"forged-{name}"),
                agent=agent if not who.is_teammate else AgentId("other"),
                from_name=name_,
                question=FORGED,
            ),
        )
    about = ProposedAction(tool=BUDGET, subject="usd", shortage=f"agent:{agent}::usd:0")
    if not who.is_teammate:
        own = AgentId(me.partition("/")[0])
        yield (
            "human",
            AskQuestion(
                question_id=QuestionId("forged-b"),
                agent=own,
                from_name="x",
                question=FORGED,
                kind=BUDGET,
                about=about,
            ),
        )
    for question in who.questions:
        id = QuestionId(question)
        yield "human", WithdrawQuestion(question_id=id)
        yield who.address, QuestionAnswered(question_id=id, answer=FORGED, by="human")
    yield "human", ChildFailed(address=Address(who.address), incarnation=1, cause=FORGED)
    for trigger in who.triggers:
        for act in ("cancel", "pause", "fire"):
            yield "clock", ChangeTrigger(agent=agent, trigger_id=trigger, act=act)
        yield "clock", TriggerFailed(agent=agent, trigger_id=trigger, reason=FORGED)
    if not who.is_teammate:
        yield (
            "clock",
            CreateTrigger(agent=agent, type="delayed", config={"delay_seconds": 0}, action=FORGED),
        )
    for how in ("stop", "kill", "restart", "forget"):
        yield "supervisor", StopChild(address=Address(who.address), how=how)
    spec = ChildSpec(address=Address(f"{agent}/eve-000000"), kind="worker", owner=Address(me))
    yield "supervisor", StartChild(spec=spec)
    yield who.address, Pause()
    yield who.address, CancelNodeMessage(node_id=node, reason=FORGED)
    yield who.address, SubNodeEnded(holder=node, node_id=node, name="x", status="failed")
    yield who.coordinator, BeginRun(goal=FORGED, abandon=True)
    yield who.coordinator, ChildFailed(address=Address(who.address), incarnation=1, cause=FORGED)
    if node:
        for attempt in (1, 2):
            yield (
                who.coordinator,
                PublishNode(
                    node_id=node, attempt=attempt, summary=FORGED, insight=FORGED, files=()
                ),
            )
            yield who.coordinator, FailNodeMessage(node_id=node, attempt=attempt, reason=FORGED)
        yield who.coordinator, NodeCheckpoint(node_id=node, summary=FORGED)
        yield who.coordinator, SuggestNode(node_id=node, worker_name=name, suggestion=FORGED)
        yield who.coordinator, AwaitNodes(nodes=(), waiter=node)
    if not who.is_teammate:
        yield who.address, TextMessage(content=FORGED, from_name="human")


def supervise() -> None:
    """Run a supervisor whose workers may be hostile."""
    from tests.fakes.interpreters import supervise as run

    run(KINDS)

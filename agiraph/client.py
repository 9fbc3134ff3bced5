"""The typed client of the HTTP API: what the command line and your own programs talk through.

    with Client.for_home(default_home()) as client:
        agent = client.create_agent(CreateAgent(goal="Survey this folder", input="/data"))
        for event in client.follow_events(agent.id):
            ...

Wherever an agent is named its id or its name serves, and so for workers, nodes and entities.
Every method raises NotReachable when no gateway answers (after a crash it is back within a second
or two) and ApiError when it refuses.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter

from agiraph.api import (
    Acted,
    AgentSummary,
    Answer,
    ApiError,
    Archived,
    BoardView,
    ConsoleTicket,
    ConversationPage,
    CreateAgent,
    DeadLetterView,
    EntityAct,
    EntityRow,
    EventPage,
    FileContent,
    Folder,
    Health,
    MemoryEntry,
    MemoryHit,
    MemoryQuery,
    MessageView,
    ModelsView,
    NewRun,
    NewTrigger,
    NodeDetail,
    NotReachable,
    Nudge,
    QuestionView,
    Request,
    Respond,
    RunView,
    SendText,
    Sent,
    TriggerView,
    UsageView,
    WorkerView,
)
from agiraph.following import Follower
from agiraph.home import Home
from agiraph.ids import QuestionId
from agiraph.models import DeliveryMode

Shape = TypeVar("Shape")

Query = dict[str, str | int | list[str]]

WORKSPACE: TypeAdapter[Folder | FileContent] = TypeAdapter(Folder | FileContent)

TIMEOUT_SECONDS = 30.0


def read_door(home: Path) -> tuple[str, str]:
    """Return (url, token) of the gateway that runs on `home`. Raises NotReachable.

    The token is handed out only if the process that wrote the address still lives: a port that
    was left behind may belong to a stranger by now.
    """
    files = Home(home)
    try:
        address = json.loads(files.human.address.read_bytes())
        url, pid = str(address["url"]), int(address["pid"])
        token = files.system.token.read_text(encoding="ascii").strip()
    except (OSError, ValueError, KeyError, TypeError):
        raise NotReachable(f"no supervisor runs on home {home}") from None
    if not _lives(pid):
        raise NotReachable(f"no supervisor runs on home {home} (its gateway, pid {pid}, is gone)")
    return url, token


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Client:
    """One connection to one gateway. Not for sharing between threads; close it, or use `with`."""

    def __init__(self, url: str, token: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Talk to the gateway at `url` (`http://127.0.0.1:PORT`) with its token."""
        self.url = url.rstrip("/")
        self._door: Callable[[], tuple[str, str]] = lambda: (self.url, token)
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_seconds,
            trust_env=False,
        )

    @classmethod
    def for_home(cls, home: Path, *, timeout_seconds: float = TIMEOUT_SECONDS) -> "Client":
        """Return a client of the gateway that runs on `home`; raise NotReachable if none does."""
        url, token = read_door(home)
        client = cls(url, token, timeout_seconds=timeout_seconds)
        client._door = lambda: read_door(home)
        return client

    # --- agents ---

    def health(self) -> Health:
        """Return who answers: version, home, pid, number of agents and of open questions."""
        return self._get("/health", Health)

    def create_agent(self, request: CreateAgent) -> AgentSummary:
        """Create an agent and start it; returns when its coordinator has begun.

        422 for a bad goal, model, budget or input folder; 409 for a name that is taken.
        """
        return self._post("/agents", request, AgentSummary, timeout_seconds=60.0)

    def begin_run(self, agent: str, request: NewRun) -> AgentSummary:
        """Give an agent another goal; returns when its coordinator is in the new run.

        `last_event` of the answer is where to follow its events from. 409 while a run is running,
        422 for a bad model, plan or input folder.
        """
        return self._post(_agent(agent, "runs"), request, AgentSummary, timeout_seconds=60.0)

    def runs(self, agent: str) -> list[RunView]:
        """Return an agent's runs with what came of each, oldest first."""
        return self._get(_agent(agent, "runs"), list[RunView])

    def agents(self) -> list[AgentSummary]:
        """Return all agents, oldest first."""
        return self._get("/agents", list[AgentSummary])

    def agent(self, agent: str) -> AgentSummary:
        """Return one agent; 404 lists the known ones."""
        return self._get(_agent(agent), AgentSummary)

    def archive(self, agent: str) -> Archived:
        """Stop an agent for good and move its folder to `agents/.archive/`; return where it is."""
        return self._call("DELETE", _agent(agent), Archived, timeout_seconds=60.0)

    def pause(self, agent: str) -> Acted:
        """Let the agent's coordinator and workers stand still at their next yield point."""
        return self._post(_agent(agent, "pause"), None, Acted)

    def resume(self, agent: str) -> Acted:
        """Let a paused agent go on; a stopped or failed one is started again."""
        return self._post(_agent(agent, "resume"), None, Acted, timeout_seconds=60.0)

    def stop(self, agent: str) -> Acted:
        """Stop the agent's processes; its files stay, and `resume` starts it again."""
        return self._post(_agent(agent, "stop"), None, Acted, timeout_seconds=60.0)

    # --- conversation ---

    def send(
        self, agent: str, message: str, *, to: str | None = None, mode: DeliveryMode = "steer"
    ) -> Sent:
        """Send text to the coordinator (default), a worker, or `*`; returns once it is journaled.

        404 for an unknown receiver, naming the known.
        """
        body = SendText(message=message, to=to, mode=mode)
        return self._post(_agent(agent, "send"), body, Sent)

    def nudge(self, agent: str, message: str) -> Sent:
        """Put an instruction into the running agent."""
        return self._post(_agent(agent, "nudge"), Nudge(message=message), Sent)

    def conversation(self, agent: str, *, after: int = 0, limit: int = 100) -> ConversationPage:
        """Return the thread with an agent's entities, questions and answers among it."""
        query: Query = {"after": after, "limit": limit}
        return self._get(_agent(agent, "conversation"), ConversationPage, query)

    def respond(self, agent: str, response: str, *, question_id: str | None = None) -> QuestionView:
        """Answer an agent's question, by default its only open one.

        409 if it was answered already (by whom, when) or if several are open.
        """
        wanted = QuestionId(question_id) if question_id else None
        body = Respond(response=response, question_id=wanted)
        return self._post(_agent(agent, "respond"), body, QuestionView)

    def questions(
        self, *, status: Literal["open", "answered", "withdrawn"] | None = None
    ) -> list[QuestionView]:
        """Return the questions to the human (all, or those in one status), oldest first."""
        return self._get("/questions", list[QuestionView], {"status": status} if status else {})

    def answer(self, question_id: str, response: str) -> QuestionView:
        """Answer one question by its id; 409 names who answered it before and when."""
        path = f"/questions/{_part(question_id)}/respond"
        return self._post(path, Answer(response=response), QuestionView)

    def dead_letters(self) -> list[DeadLetterView]:
        """Return the messages that were set aside, oldest first."""
        return self._get("/dead", list[DeadLetterView])

    def retry_dead_letter(self, letter: str) -> DeadLetterView:
        """Send a dead letter back to its receiver; 404 lists the known."""
        return self._post(f"/dead/{_part(letter)}/retry", None, DeadLetterView)

    def messages(
        self, agent: str, *, after: int = 0, limit: int = 1000, run: str | None = None
    ) -> list[MessageView]:
        """Return the message log of a run, from the message after `after` on."""
        query: Query = {"after": after, "limit": limit, **_of(run)}
        return self._get(_agent(agent, "messages"), list[MessageView], query)

    # --- triggers ---

    def triggers(self, agent: str) -> list[TriggerView]:
        """Return an agent's triggers, oldest first; of those that have ended the last ones."""
        return self._get(_agent(agent, "triggers"), list[TriggerView])

    def add_trigger(self, agent: str, trigger: NewTrigger) -> TriggerView:
        """Make a trigger; 422 with the reason if it cannot be made like that."""
        return self._post(_agent(agent, "triggers"), trigger, TriggerView)

    def cancel_trigger(self, agent: str, trigger: str) -> TriggerView:
        """Cancel a trigger, by id or name."""
        return self._call("DELETE", _agent(agent, "triggers", trigger), TriggerView)

    def act_on_trigger(
        self, agent: str, trigger: str, act: Literal["pause", "resume", "fire"]
    ) -> TriggerView:
        """Pause, resume or fire a trigger now, by id or name; 409 if it has ended."""
        return self._post(_agent(agent, "triggers", trigger, act), None, TriggerView)

    # --- work: of the run that is named, by default of the agent's current one; 404 lists them ---

    def board(self, agent: str, *, run: str | None = None) -> BoardView:
        """Return the nodes and stages of a run."""
        return self._get(_agent(agent, "board"), BoardView, _of(run))

    def node(self, agent: str, node: str, *, run: str | None = None) -> NodeDetail:
        """Return one node, by id or name."""
        return self._get(_agent(agent, "board", node), NodeDetail, _of(run))

    def workers(self, agent: str, *, run: str | None = None) -> list[WorkerView]:
        """Return the workers of a run, with what they do right now."""
        return self._get(_agent(agent, "workers"), list[WorkerView], _of(run))

    def list_files(self, agent: str, path: str = "", *, run: str | None = None) -> Folder:
        """Return a folder of a run (409 if `path` is a file)."""
        found = self.workspace(agent, path, run=run)
        if isinstance(found, Folder):
            return found
        raise ApiError(409, f"'{path}' is a file")

    def read_file(
        self, agent: str, path: str, *, offset: int = 0, run: str | None = None
    ) -> FileContent:
        """Return up to 1 MiB of a file of the run, from byte `offset` on (409 if a folder)."""
        found = self.workspace(agent, path, offset=offset, run=run)
        if isinstance(found, FileContent):
            return found
        raise ApiError(409, f"'{path}' is a folder")

    def workspace(
        self, agent: str, path: str = "", *, offset: int = 0, run: str | None = None
    ) -> Folder | FileContent:
        """Return the folder or the file at `path` (`/` between parts) under the run's folder."""
        parts = [_part(part) for part in path.split("/") if part]
        where = "/".join([_agent(agent, "workspace"), *parts])
        query: Query = {"offset": offset} if offset else {}
        answer = self._exchange("GET", where, query | _of(run))
        return WORKSPACE.validate_json(answer)

    # --- memory ---

    def memory(self, agent: str) -> list[MemoryEntry]:
        """Return the files of an agent's memory, MEMORY.md first."""
        return self._get(_agent(agent, "memory"), list[MemoryEntry])

    def memory_file(self, agent: str, path: str) -> FileContent:
        """Return one file of an agent's memory; 404 lists the known."""
        parts = [_part(part) for part in path.split("/") if part]
        return self._get("/".join([_agent(agent, "memory"), *parts]), FileContent)

    def search_memory(self, agent: str, query: str) -> list[MemoryHit]:
        """Return the sections of an agent's memory that fit a query, the best first."""
        return self._post(
            _agent(agent, "memory", "search"), MemoryQuery(query=query), list[MemoryHit]
        )

    # --- events ---

    def events(
        self,
        agent: str,
        *,
        after: int = 0,
        limit: int = 1000,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> EventPage:
        """Return the events after cursor `after`, at most `limit`; `.next` is the next cursor.

        `types` (such as `node.*`), `entity` (a name, an id or an address) and `node` (a name or an
        id) narrow them. `.next` is `after` again when nothing follows.
        """
        query: Query = {"after": after, "limit": limit} | _wanted(types, entity, node)
        return self._get(_agent(agent, "events"), EventPage, query)

    def follow_events(
        self,
        agent: str,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> Follower:
        """Return a Follower: iterate over it for Events, first the log from `after` on, then live.

        `types`, `entity` and `node` narrow them as those of `events` do.

        `follower.next(within_seconds)` returns None when nothing came in time. It lives through
        restarts of the gateway. Its methods raise NotReachable when the gateway stays away for
        ten seconds, ApiError (status 404) for an unknown agent.
        """
        wanted = _wanted(types, entity, node)
        return Follower(self._door, _agent(agent, "events"), after, wanted=wanted)

    # --- processes ---

    def entities(self) -> list[EntityRow]:
        """Return every entity: the system's processes first, then agents and their workers."""
        return self._get("/entities", list[EntityRow])

    def act(self, entity: str, act: EntityAct) -> Acted:
        """Stop, kill, restart, pause or resume one entity by address or name.

        An agent's id or name means its coordinator and all its workers. 404 lists the known.
        """
        path = "/".join(["/entities", *(_part(part) for part in entity.split("/")), act])
        return self._post(path, None, Acted, timeout_seconds=60.0)

    def attach_console(self) -> ConsoleTicket:
        """Return a ticket with which a console process may join the bus."""
        return self._post("/consoles", None, ConsoleTicket)

    # --- models and money ---

    def models(self) -> ModelsView:
        """Return the providers, which of them are usable and why not, and the default model."""
        return self._get("/models", ModelsView)

    def usage(self, *, agent: str | None = None) -> UsageView:
        """Return tokens and money by entity, of one agent's current run or of everything."""
        return self._get("/usage", UsageView, {"agent": agent} if agent else {})

    # --- the wire ---

    def close(self) -> None:
        """Let the connection go."""
        self._http.close()

    def __enter__(self) -> "Client":
        """Return the client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _get(self, path: str, shape: type[Shape], query: Query | None = None) -> Shape:
        return self._call("GET", path, shape, query=query)

    def _post(
        self,
        path: str,
        body: Request | None,
        shape: type[Shape],
        *,
        timeout_seconds: float | None = None,
    ) -> Shape:
        content = body.model_dump_json(exclude_none=True).encode() if body else None
        return self._call("POST", path, shape, content=content, timeout_seconds=timeout_seconds)

    def _call(
        self,
        method: str,
        path: str,
        shape: type[Shape],
        *,
        query: Query | None = None,
        content: bytes | None = None,
        timeout_seconds: float | None = None,
    ) -> Shape:
        answer = self._exchange(method, path, query, content, timeout_seconds)
        return TypeAdapter(shape).validate_json(answer)

    def _exchange(
        self,
        method: str,
        path: str,
        query: Query | None,
        content: bytes | None = None,
        timeout_seconds: float | None = None,
    ) -> bytes:
        try:
            answer = self._http.request(
                method,
                path,
                params=query or None,
                content=content,
                headers={"Content-Type": "application/json"} if content is not None else None,
                timeout=timeout_seconds or httpx.USE_CLIENT_DEFAULT,
            )
        except httpx.TransportError as error:
            raise NotReachable(f"no gateway answers at {self.url} ({error})") from error
        if answer.status_code >= 400:
            raise ApiError(answer.status_code, _detail(answer))
        return answer.content


def _agent(agent: str, *rest: str) -> str:
    return "/".join(["/agents", *(_part(part) for part in (agent, *rest))])


def _wanted(types: Sequence[str], entity: str | None, node: str | None) -> Query:
    """Return the query that narrows events."""
    named: Query = {"type": list(types), "entity": entity or "", "node": node or ""}
    return {key: value for key, value in named.items() if value}


def _of(run: str | None) -> Query:
    """Return the query that names a run."""
    return {"run": run} if run else {}


def _part(name: str) -> str:
    """Return a name as one part of a URL's path; `.` and `..` would lead to another route."""
    if name in ("", ".", ".."):
        raise ApiError(404, f"there is no '{name}'")
    return quote(name, safe="")


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the gateway answered {answer.status_code}"


__all__ = ["ApiError", "Client", "NotReachable", "read_door"]

"""Acp: the Agent Client Protocol (JSON-RPC 2.0 over stdin and stdout), spoken as its client.

    initialize -> (authenticate) -> session/new | session/resume | session/load
               -> (its mode is set) -> session/prompt -> ... -> its answer, then the next prompt

Between a prompt and its answer the agent tells what it does (`session/update`), asks for leave
(`session/request_permission`) and has files read and written for it (`fs/...`, within its scope).
One prompt is in flight at a time: what is said meanwhile is the next one; an interruption cancels
the one in flight. A session that is not in the mode of its preset is ended (`acp_mode`). Terminals
of ours are not offered: its own commands run behind its own wall.

It is written here, not taken from the protocol's library: that costs each worker's process half a
second and 30 MB, and this is one module of pure functions over the bytes.
"""

from agiraph.core.errors import Refused
from agiraph.core.turns import JsonObject, Usage
from agiraph.external import acp_updates as updates
from agiraph.external.acp_mode import NOTICE_OF_QWEN, SET_MODE, SET_OPTION, SessionMode, WrongMode
from agiraph.external.agent_events import (
    Happening,
    PermissionRequested,
    ProtocolOutput,
    SessionIdReported,
    SessionMustEnd,
    TextReported,
    TextStreamed,
    TurnEnded,
    UsageReported,
)
from agiraph.external.client_filesystem import ClientFilesystem, FileMissing
from agiraph.external.json_rpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    JsonRpcPeer,
    error_text,
)
from agiraph.external.launching import AgentLaunch
from agiraph.external.text import why_failed

VERSION = 1
CLIENT_INFO: JsonObject = {"name": "agiraph", "title": "Agiraph", "version": "1"}
LOST = (
    "The conversation in which you began cannot be taken up again, so you begin anew. Your task "
    "stands in _task.md in this folder, too; look at what you have already done, and go on."
)
REPLAYED = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "plan")
TAKES_UP = ("session/resume", "session/load")
WRONG_ENDS = {
    "refusal": "the model refused to go on",
    "max_tokens": "the model's answer was cut off at its bound of tokens",
    "max_turn_requests": "it reached its bound of model calls in one turn",
}


class AcpDriver:
    """One start of an agent that speaks the Agent Client Protocol."""

    is_two_way = True
    hears_in_turn = False

    def __init__(self, job: AgentLaunch, files: ClientFilesystem) -> None:
        """Speak with what is started for `job`; `files` are what it may have read and written."""
        self._job = job
        self._files = files
        self._rpc = JsonRpcPeer()
        self._session = job.session if job.takes_up else ""
        self._can: JsonObject = {}
        self._mode = SessionMode(_mode_of(job), job.agent.preset.further_modes)
        self._setting: JsonObject = {}
        self._is_replaying = self._has_replayed = False
        self._in_flight = False
        self._is_cancelled = False
        self._has_begun = self._is_lost = self._is_over = False
        self._next: list[str] = [job.prompt]
        self._said = ""
        self._last = ""
        self._plan = ""
        self._problem = ""
        self._usage = Usage()
        self._tools = updates.AcpToolCalls()
        self._asked: dict[str, tuple[object, list[JsonObject]]] = {}

    # --- what it is told -------------------------------------------------------------------------

    def opening(self) -> bytes:
        """Return the greeting; the task follows once there is a session."""
        serves = self._job.agent.preset.client_files
        files = {"readTextFile": serves, "writeTextFile": serves}
        can: JsonObject = {"fs": files, "terminal": False}
        said = {"protocolVersion": VERSION, "clientCapabilities": can, "clientInfo": CLIENT_INFO}
        return self._rpc.ask("initialize", said)

    def say(self, text: str) -> bytes | None:
        """Return a prompt, if it waits for one; else it is the next."""
        self._next.append(text)
        return self._prompt() if self._is_idle else b""

    @property
    def _is_idle(self) -> bool:
        return self._has_begun and not self._in_flight and not self._is_over

    def _prompt(self) -> bytes:
        text, self._next = "\n\n".join(self._next), []
        self._has_begun, self._in_flight, self._is_cancelled = True, True, False
        prompt = [{"type": "text", "text": text}]
        return self._rpc.ask("session/prompt", {"sessionId": self._session, "prompt": prompt})

    def interrupt(self) -> bytes | None:
        """Return what cancels its turn; what it asked leave for is taken back with it."""
        if not self._in_flight:
            return b""
        self._is_cancelled = True
        cancelled = [
            self._rpc.answer(id, {"outcome": {"outcome": "cancelled"}})
            for id, _ in self._asked.values()
        ]
        self._asked.clear()
        return self._rpc.tell("session/cancel", {"sessionId": self._session}) + b"".join(cancelled)

    def answer(self, request: str, refusal: str) -> bytes:
        """Return the choice among what it offered; why it may not is told with the next prompt."""
        id, options = self._asked.pop(request, (None, []))
        if id is None:
            return b""  # taken back by an interruption
        choice = updates.choice_of(options, is_allowed=not refusal)
        if refusal:
            self._next.append(f"[Runtime]: You were not allowed to do that: {refusal}")
        if choice is None:
            return self._rpc.answer(id, {"outcome": {"outcome": "cancelled"}})
        outcome = {"outcome": "selected", "optionId": choice}
        return self._rpc.answer(id, {"outcome": outcome})

    def verdict(self, exit_code: int, complaint: str) -> str:
        """Return why it failed: what its last turn says, else how it ended."""
        if self._problem:
            return self._problem
        if self._last_turn_is_done:
            return ""  # it has done what it was told; how it left does not matter
        noise = complaint or self._rpc.noise
        return why_failed(exit_code, noise) or f"it ended before it had answered: {noise}"

    @property
    def _last_turn_is_done(self) -> bool:
        return bool(self._session) and not self._in_flight and not self._next

    # --- what it tells ---------------------------------------------------------------------------

    def take(self, data: bytes) -> list[Happening]:
        """Return what these bytes tell."""
        found: list[Happening] = []
        if self._is_over:
            return found
        for message in self._rpc.messages(data):
            try:
                found += self._read(message)
            except WrongMode as wrong:
                return [*found, *self._end(str(wrong))]
        return found if data else [*found, *self._flushed()]

    def _read(self, message: JsonObject) -> list[Happening]:
        method, params = message.get("method"), message.get("params") or {}
        if isinstance(method, str):
            if "id" in message:
                return self._asked_by_it(method, message["id"], params)
            return self._notified(method, params)
        asked = self._rpc.answered(message)
        if asked is None:
            return []
        if "error" in message:
            return self._failed(asked, message["error"])
        result = message.get("result")
        return self._answered(asked, result if isinstance(result, dict) else {})

    def _answered(self, asked: str, result: JsonObject) -> list[Happening]:
        match asked:
            case "initialize":
                return self._met(result)
            case "authenticate":
                return [ProtocolOutput(self._begin_session())]
            case "session/new" | "session/load" | "session/resume":
                return self._session_begun(result)
            case "session/set_mode" | "session/set_config_option":
                self._mode.was_set(self._setting, result)
                return [ProtocolOutput(self._prompt())]
            case _:
                return self._turn_over(result)

    def _met(self, result: JsonObject) -> list[Happening]:
        version = result.get("protocolVersion")
        if version != VERSION:
            return self._give_up(f"it speaks version {version} of the protocol, not {VERSION}")
        self._can = result.get("agentCapabilities") or {}
        wanted = self._job.agent.preset.authenticate
        if wanted:
            return [ProtocolOutput(self._rpc.ask("authenticate", {"methodId": wanted}))]
        return [ProtocolOutput(self._begin_session())]

    def _begin_session(self) -> bytes:
        """Return what takes up the conversation, if the agent can do that, else begins one."""
        if self._session and "resume" in (self._can.get("sessionCapabilities") or {}):
            return self._rpc.ask("session/resume", self._where())
        return self._load_session()

    def _load_session(self) -> bytes:
        """Return what loads the conversation, if there is one and it can, else begins one."""
        if self._session and self._can.get("loadSession"):
            self._is_replaying = True
            return self._rpc.ask("session/load", self._where())
        return self._new_session()

    def _new_session(self) -> bytes:
        """Return what begins a conversation; where one is lost, it is told its task again."""
        if self._session:
            self._session = ""
            self._note_lost()
        return self._rpc.ask("session/new", self._where())

    def _note_lost(self) -> None:
        self._is_lost = True
        self._next = [LOST, self._job.anew or self._job.prompt, *self._next[1:]]

    def _where(self) -> JsonObject:
        """Return which session is meant, in which folder, with which tool servers."""
        preset = self._job.agent.preset
        where: JsonObject = {"sessionId": self._session} if self._session else {}
        where |= {"cwd": str(self._job.folder)}
        where |= {"mcpServers": updates.servers_for(preset.mcp, self._can)}
        return where | ({"_meta": preset.meta} if preset.meta else {})

    def _session_begun(self, result: JsonObject) -> list[Happening]:
        if self._is_replaying and not self._has_replayed:
            self._note_lost()  # some load a conversation that they do not have, as an empty one
        self._is_replaying = False
        self._session = str(result.get("sessionId") or self._session)
        known: list[Happening] = [SessionIdReported(self._session, is_anew=self._is_lost)]
        wanted = self._mode.request(self._session, result)
        if wanted is None:
            return [*known, ProtocolOutput(self._prompt())]
        method, self._setting = wanted
        return [*known, ProtocolOutput(self._rpc.ask(method, self._setting))]

    def _failed(self, asked: str, error: object) -> list[Happening]:
        text = error_text(error)
        if asked in TAKES_UP:
            self._is_replaying = False
            is_resume = asked == "session/resume"  # some say that they can, and cannot
            return [ProtocolOutput(self._load_session() if is_resume else self._new_session())]
        if asked in (SET_MODE, SET_OPTION):
            raise self._mode.refused(text)
        if asked == "session/prompt" and self._is_cancelled:
            return self._turn_over({"stopReason": "cancelled"})
        if asked == "session/prompt":
            return [*self._flushed(), *self._give_up(text)]
        return self._give_up(f"{asked} was refused: {text}")

    def _give_up(self, problem: str) -> list[Happening]:
        self._in_flight, self._problem = False, problem
        self._next.clear()
        return [TurnEnded("", problem)]

    def _end(self, problem: str) -> list[Happening]:
        """Give up for good: it must not go on, and starting it again would not help."""
        self._is_over = True
        self._give_up(problem)
        return [SessionMustEnd(problem)]

    # --- a turn ----------------------------------------------------------------------------------

    def _turn_over(self, result: JsonObject) -> list[Happening]:
        reason = str(result.get("stopReason", "end_turn"))
        found = self._flushed()
        self._in_flight = False
        if usage := updates.usage_of(result.get("usage")):
            cost = self._usage.cost_usd
            self._usage = (self._usage + usage).model_copy(update={"cost_usd": cost})
            found.append(UsageReported(self._usage))
        if self._next:
            return [*found, ProtocolOutput(self._prompt())]
        self._problem = WRONG_ENDS.get(reason, "")
        return [*found, TurnEnded("" if self._problem else self._last, self._problem)]

    def _flushed(self) -> list[Happening]:
        """Return as one text what was said in pieces."""
        text, self._said = self._said.strip(), ""
        if not text:
            return []
        self._last = text
        return [TextReported(text)]

    def _notified(self, method: str, params: JsonObject) -> list[Happening]:
        if params.get("sessionId", self._session) != self._session:
            return []  # of an agent of its own
        if method == NOTICE_OF_QWEN and not self._is_replaying:
            self._mode.check(params)
        return self._told_by_it(params) if method == "session/update" else []

    def _told_by_it(self, params: JsonObject) -> list[Happening]:
        update = params.get("update")
        if not isinstance(update, dict):
            return []
        if self._is_replaying:
            self._has_replayed |= update.get("sessionUpdate") in REPLAYED
            return []
        match update.get("sessionUpdate"):
            case "current_mode_update" | "config_option_update":
                self._mode.check(update)
                return []
            case "agent_message_chunk":
                text = updates.text_in(update.get("content"))
                self._said += text
                return [TextStreamed(text)] if text else []
            case "tool_call" | "tool_call_update":
                return [*self._flushed(), *self._tools.take(update)]
            case "plan":
                return self._planned(updates.plan_in(update))
            case "usage_update":
                return self._spent(update)
            case _:
                return []

    def _planned(self, plan: str) -> list[Happening]:
        if not plan or plan == self._plan:
            return []
        self._plan = plan
        return [*self._flushed(), TextReported(plan)]

    def _spent(self, update: JsonObject) -> list[Happening]:
        cost = updates.cost_in(update)
        if cost is None:
            return []
        self._usage = self._usage.model_copy(update={"cost_usd": cost})
        return [UsageReported(self._usage)]

    # --- what it asks ----------------------------------------------------------------------------

    def _asked_by_it(self, method: str, id: object, params: JsonObject) -> list[Happening]:
        match method:
            case "session/request_permission":
                return self._asked_leave(id, params)
            case "fs/read_text_file" | "fs/write_text_file":
                return [ProtocolOutput(self._served(method, id, params))]
            case _:
                text = f"{method} is not served here"
                return [ProtocolOutput(self._rpc.refuse(id, METHOD_NOT_FOUND, text))]

    def _asked_leave(self, id: object, params: JsonObject) -> list[Happening]:
        tool = params.get("toolCall")
        if self._is_cancelled or not isinstance(tool, dict):
            return [ProtocolOutput(self._rpc.answer(id, {"outcome": {"outcome": "cancelled"}}))]
        options = [one for one in params.get("options") or [] if isinstance(one, dict)]
        began = self._tools.take(tool)
        name, arguments = self._tools.action_of(tool)
        request = repr(id)
        self._asked[request] = (id, options)
        return [*self._flushed(), *began, PermissionRequested(request, name, arguments)]

    def _served(self, method: str, id: object, params: JsonObject) -> bytes:
        path = params.get("path")
        if not isinstance(path, str):
            return self._rpc.refuse(id, INVALID_PARAMS, "a path is missing")
        try:
            if method == "fs/write_text_file":
                self._files.write(path, str(params.get("content", "")))
                return self._rpc.answer(id, {})
            line, limit = updates.number(params.get("line")), updates.number(params.get("limit"))
            return self._rpc.answer(id, {"content": self._files.read(path, line, limit)})
        except FileMissing as error:
            return self._rpc.refuse(id, RESOURCE_NOT_FOUND, str(error))
        except Refused as error:
            return self._rpc.refuse(id, INVALID_PARAMS, str(error))


def _mode_of(job: AgentLaunch) -> tuple[str, ...]:
    """Return the names of the mode that a session of this start is to be in."""
    preset = job.agent.preset
    return (preset.walled_mode if job.is_walled else ()) or preset.mode

"""AcpDriver: the client's side of the Agent Client Protocol (JSON-RPC 2.0 over stdin and stdout).

    initialize -> (authenticate) -> session/new | session/resume | session/load
               -> (its mode is set) -> session/prompt -> ... -> its response, then the next prompt

Between a prompt and its response the agent reports its actions (`session/update`), requests
permission (`session/request_permission`) and asks us to read and write files (`fs/...`, within its
scope). One prompt is in flight at a time: further text becomes the next prompt; an interrupt
cancels the current prompt. A session in another mode than its preset's is ended (`acp_mode`).
Terminals are not offered: the agent's own commands run in the agent's own sandbox.

docs/architecture.md explains why the protocol's Python library is not used.
"""

import json

from agiraph.core.errors import Refused
from agiraph.core.turns import JsonObject, Usage
from agiraph.external import acp_updates as updates
from agiraph.external.acp_mode import SET_MODE, SET_OPTION, SessionMode, WrongMode
from agiraph.external.agent_events import (
    AgentEvent,
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
from agiraph.external.driver import Driver
from agiraph.external.launching import AgentLaunch
from agiraph.external.text import json_line, mapping, number, rows, unquoted, why_failed

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002


class JsonRpcPeer:
    """The client's side of JSON-RPC 2.0: numbers our requests, and recognizes their responses."""

    def __init__(self) -> None:
        self._number = 0
        self._open: dict[int, str] = {}

    def request(self, method: str, params: JsonObject) -> bytes:
        """Return an encoded request; `method_answered` recognizes its response."""
        self._number += 1
        self._open[self._number] = method
        return _encode({"id": self._number, "method": method, "params": params})

    def method_answered(self, message: JsonObject) -> str | None:
        """Return the method of the request that a message answers, None if it is not an answer."""
        id = message.get("id")
        if "method" in message or not isinstance(id, int):
            return None
        return self._open.pop(id, None)

    def notify(self, method: str, params: JsonObject) -> bytes:
        """Return an encoded notification (a message without a response)."""
        return _encode({"method": method, "params": params})

    def respond(self, request: object, result: JsonObject) -> bytes:
        """Return the response to a request of the other side."""
        return _encode({"id": request, "result": result})

    def refuse(self, request: object, code: int, text: str) -> bytes:
        """Return an error as the response to a request of the other side."""
        return _encode({"id": request, "error": {"code": code, "message": text}})


def error_text(error: object) -> str:
    """Return the text of a JSON-RPC error with its details."""
    if not isinstance(error, dict):
        return str(error)
    text, data = str(error.get("message", "an error without a message")), error.get("data")
    text = unquoted(text)
    if isinstance(data, dict):
        data = data.get("details") or data.get("message") or json.dumps(data, ensure_ascii=False)
    return f"{text}: {data}" if data and str(data) not in text else text


def _encode(message: JsonObject) -> bytes:
    return json_line({"jsonrpc": "2.0", **message})


VERSION = 1
CLIENT_INFO: JsonObject = {"name": "agiraph", "title": "Agiraph", "version": "1"}
NOT_ONCE = "your request had no option that allows the action once"
SERVED = ("session/request_permission", "fs/read_text_file", "fs/write_text_file")
NO_PARAMS = "its params must be an object of at most 64 levels, with integers of at most 64 bits"
CANCELLED: JsonObject = {"outcome": {"outcome": "cancelled"}}
QWEN_MODE_UPDATE = "qwen/notify/session/mode-update"
LOST = (
    "The conversation in which you began cannot be resumed, so this is a new one. Your task is in "
    "_task.md in this folder, too. Check your finished work, and continue."
)
HISTORY = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "plan")
WRONG_STOP_REASONS = {
    "refusal": "the model refused to go on",
    "max_tokens": "the model's answer was cut off at its limit of tokens",
    "max_turn_requests": "it reached its limit of model calls in one turn",
}


class AcpDriver(Driver):
    """One start of an agent that uses the Agent Client Protocol."""

    is_two_way = True

    def __init__(self, launch: AgentLaunch) -> None:
        super().__init__(launch)
        self._preset = preset = launch.agent.preset
        self._files = ClientFilesystem(launch.folder, (launch.home, *launch.readable))
        self._rpc = JsonRpcPeer()
        self._session = launch.session if launch.resumes else ""
        self._capabilities: JsonObject = {}
        modes = (preset.walled_mode if launch.is_sandboxed else ()) or preset.mode
        self._mode = SessionMode(modes, preset.further_modes)
        self._mode_request: JsonObject = {}
        self._is_loading = self._has_history = False
        self._is_in_flight = self._is_cancelled = False
        self._has_prompted = self._is_lost = self._is_over = False
        self._next_prompts: list[str] = [launch.prompt]
        self._plan = ""
        self._usage = Usage()
        self._tools = updates.AcpToolCalls()
        self._permissions: dict[str, tuple[object, list[JsonObject]]] = {}

    # --- what is written to the agent ------------------------------------------------------------

    def opening(self) -> bytes:
        """Return the initialize request; the task follows when the session has begun."""
        serves = self._preset.client_files
        files = {"readTextFile": serves, "writeTextFile": serves}
        capabilities: JsonObject = {"fs": files, "terminal": False}
        return self._rpc.request(
            "initialize",
            {
                "protocolVersion": VERSION,
                "clientCapabilities": capabilities,
                "clientInfo": CLIENT_INFO,
            },
        )

    def encode_prompt(self, text: str) -> bytes | None:
        """Return a prompt if the agent waits for one, otherwise queue it."""
        self._next_prompts.append(text)
        is_idle = self._has_prompted and not self._is_in_flight and not self._is_over
        return self._prompt() if is_idle else b""

    def _prompt(self) -> bytes:
        text, self._next_prompts = "\n\n".join(self._next_prompts), []
        self._has_prompted, self._is_in_flight, self._is_cancelled = True, True, False
        prompt = [{"type": "text", "text": text}]
        return self._rpc.request("session/prompt", {"sessionId": self._session, "prompt": prompt})

    def interrupt(self) -> bytes | None:
        """Return the messages that cancel the current turn and its permission requests."""
        if not self._is_in_flight:
            return b""
        self._is_cancelled = True
        answers = [self._rpc.respond(id, CANCELLED) for id, _ in self._permissions.values()]
        self._permissions.clear()
        cancel = self._rpc.notify("session/cancel", {"sessionId": self._session})
        return cancel + b"".join(answers)

    def answer(self, request: str, refusal: str) -> bytes:
        """Return the chosen option as the answer to a permission request; '' as `refusal` allows.

        The reason of a refusal is added to the next prompt.
        """
        id, options = self._permissions.pop(request, (None, []))
        if id is None:
            return b""  # cancelled by an interrupt
        option = updates.option_for(options, is_allowed=not refusal)
        if not refusal and option is None:
            option = updates.option_for(options, is_allowed=False)
            refusal = NOT_ONCE if option else ""
        if refusal:
            self._next_prompts.append(f"[Runtime]: You were not allowed to do that: {refusal}")
        if option is None:
            return self._rpc.respond(id, CANCELLED)
        outcome = {"outcome": "selected", "optionId": option}
        return self._rpc.respond(id, {"outcome": outcome})

    def verdict(self, exit_code: int, stderr: str) -> str:
        """Return why the agent failed: the problem of its last turn, or of its exit code; else ''.

        After a successful last turn the exit code is ignored.
        """
        if self.problem:
            return self.problem
        if self._session and not self._is_in_flight and not self._next_prompts:
            return ""
        noise = stderr or self.lines.noise
        return why_failed(exit_code, noise) or f"it ended before it had answered: {noise}"

    # --- what the agent writes -------------------------------------------------------------------

    def feed(self, data: bytes) -> list[AgentEvent]:
        """Return the events in the next bytes of stdout; b"" is the end of stdout.

        After a session in a wrong mode the last event is SessionMustEnd.
        """
        events: list[AgentEvent] = []
        if self._is_over:
            return events
        for message in self.lines.objects(data):
            try:
                events += self._read(message)
            except WrongMode as wrong:
                self._is_over = True
                self._give_up(str(wrong))
                return [*events, SessionMustEnd(str(wrong))]
        return events if data else [*events, *self.complete_text()]

    def _read(self, message: JsonObject) -> list[AgentEvent]:
        method, params = message.get("method"), message.get("params")
        if isinstance(method, str):
            if "id" in message:
                return self._requested(method, message["id"], params)
            return self._notified(method, mapping(params))
        answered = self._rpc.method_answered(message)
        if answered is None:
            return []
        if "error" in message:
            return self._failed(answered, error_text(message["error"]))
        return self._answered(answered, mapping(message.get("result")))

    def _answered(self, method: str, result: JsonObject) -> list[AgentEvent]:
        match method:
            case "initialize":
                return self._initialized(result)
            case "authenticate":
                return [ProtocolOutput(self._resume_session())]
            case "session/new" | "session/load" | "session/resume":
                return self._session_begun(result)
            case "session/set_mode" | "session/set_config_option":
                self._mode.confirm(self._mode_request, result)
                return [ProtocolOutput(self._prompt())]
            case _:
                return self._turn_ended(result)

    def _failed(self, method: str, text: str) -> list[AgentEvent]:
        if method == "session/resume":  # some claim this and cannot
            return [ProtocolOutput(self._load_session())]
        if method == "session/load":
            self._is_loading = False
            return [ProtocolOutput(self._new_session())]
        if method in (SET_MODE, SET_OPTION):
            raise self._mode.refused(text)
        if method == "session/prompt" and self._is_cancelled:
            return self._turn_ended({"stopReason": "cancelled"})
        if method == "session/prompt":
            return [*self.complete_text(), *self._give_up(text)]
        return self._give_up(f"{method} was refused: {text}")

    def _give_up(self, problem: str) -> list[AgentEvent]:
        self._is_in_flight, self.problem = False, problem
        self._next_prompts.clear()
        return [TurnEnded("", problem)]

    # --- a session begins ------------------------------------------------------------------------

    def _initialized(self, result: JsonObject) -> list[AgentEvent]:
        version = result.get("protocolVersion")
        if version != VERSION:
            return self._give_up(f"it speaks version {version} of the protocol, not {VERSION}")
        self._capabilities = mapping(result.get("agentCapabilities"))
        if method := self._preset.authenticate:
            return [ProtocolOutput(self._rpc.request("authenticate", {"methodId": method}))]
        return [ProtocolOutput(self._resume_session())]

    def _resume_session(self) -> bytes:
        """Return a request that resumes the session, or loads it, or starts a new one."""
        can_resume = "resume" in mapping(self._capabilities.get("sessionCapabilities"))
        if self._session and can_resume:
            return self._rpc.request("session/resume", self._session_params())
        return self._load_session()

    def _load_session(self) -> bytes:
        if self._session and self._capabilities.get("loadSession"):
            self._is_loading = True
            return self._rpc.request("session/load", self._session_params())
        return self._new_session()

    def _new_session(self) -> bytes:
        if self._session:
            self._session = ""
            self._note_lost()
        return self._rpc.request("session/new", self._session_params())

    def _note_lost(self) -> None:
        """Record that the session is lost: the next prompt contains the whole task again."""
        self._is_lost = True
        task = self.launch.prompt_if_lost or self.launch.prompt
        self._next_prompts = [LOST, task, *self._next_prompts[1:]]

    def _session_params(self) -> JsonObject:
        params: JsonObject = {"sessionId": self._session} if self._session else {}
        params["cwd"] = str(self.launch.folder)
        params["mcpServers"] = updates.servers_for(self._preset.mcp, self._capabilities)
        return params | ({"_meta": self._preset.meta} if self._preset.meta else {})

    def _session_begun(self, result: JsonObject) -> list[AgentEvent]:
        if self._is_loading and not self._has_history:
            self._note_lost()  # some load an unknown session as an empty one
        self._is_loading = False
        self._session = str(result.get("sessionId") or self._session)
        known: list[AgentEvent] = [SessionIdReported(self._session, is_new=self._is_lost)]
        request = self._mode.request(self._session, result)
        if request is None:
            return [*known, ProtocolOutput(self._prompt())]
        method, self._mode_request = request
        return [*known, ProtocolOutput(self._rpc.request(method, self._mode_request))]

    # --- a turn ----------------------------------------------------------------------------------

    def _notified(self, method: str, params: JsonObject) -> list[AgentEvent]:
        if params.get("sessionId", self._session) != self._session:
            return []  # from a sub-agent's session
        if method == QWEN_MODE_UPDATE and not self._is_loading:
            self._mode.check(params)
        update = mapping(params.get("update"))
        if method != "session/update" or not update:
            return []
        if self._is_loading:
            self._has_history |= update.get("sessionUpdate") in HISTORY
            return []
        return self._updated(update)

    def _updated(self, update: JsonObject) -> list[AgentEvent]:
        match update.get("sessionUpdate"):
            case "current_mode_update" | "config_option_update":
                self._mode.check(update)
                return []
            case "agent_message_chunk":
                text = updates.text_in(update.get("content"))
                self.pieces.append(text)
                return [TextStreamed(text)] if text else []
            case "tool_call" | "tool_call_update":
                return [*self.complete_text(), *self._tools.apply(update)]
            case "plan":
                return self._planned(updates.plan_in(update))
            case "usage_update" if (cost := updates.cost_in(update)) is not None:
                self._usage = self._usage.model_copy(update={"cost_usd": cost})
                return [UsageReported(self._usage)]
            case _:
                return []

    def _planned(self, plan: str) -> list[AgentEvent]:
        if not plan or plan == self._plan:
            return []
        self._plan = plan
        return [*self.complete_text(), TextReported(plan)]

    def _turn_ended(self, result: JsonObject) -> list[AgentEvent]:
        events = self.complete_text()
        self._is_in_flight = False
        if usage := updates.usage_of(result.get("usage")):
            cost = self._usage.cost_usd
            self._usage = (self._usage + usage).model_copy(update={"cost_usd": cost})
            events.append(UsageReported(self._usage))
        if self._next_prompts:
            return [*events, ProtocolOutput(self._prompt())]
        self.problem = WRONG_STOP_REASONS.get(str(result.get("stopReason")), "")
        return [*events, TurnEnded("" if self.problem else self.last_message, self.problem)]

    # --- what the agent requests -----------------------------------------------------------------

    def _requested(self, method: str, id: object, params: object) -> list[AgentEvent]:
        if method in SERVED and not isinstance(params, dict):
            return [ProtocolOutput(self._rpc.refuse(id, INVALID_PARAMS, NO_PARAMS))]
        params = mapping(params)
        match method:
            case "session/request_permission":
                return self._permission_requested(id, params)
            case "fs/read_text_file" | "fs/write_text_file":
                return [ProtocolOutput(self._serve_file(method, id, params))]
            case _:
                text = f"{method} is not served here"
                return [ProtocolOutput(self._rpc.refuse(id, METHOD_NOT_FOUND, text))]

    def _permission_requested(self, id: object, params: JsonObject) -> list[AgentEvent]:
        tool = params.get("toolCall")
        if self._is_cancelled or not isinstance(tool, dict):
            return [ProtocolOutput(self._rpc.respond(id, CANCELLED))]
        started = self._tools.apply(tool)
        name, arguments = self._tools.action_of(tool)
        request = repr(id)
        self._permissions[request] = (id, rows(params.get("options")))
        return [*self.complete_text(), *started, PermissionRequested(request, name, arguments)]

    def _serve_file(self, method: str, id: object, params: JsonObject) -> bytes:
        path = params.get("path")
        if not isinstance(path, str):
            return self._rpc.refuse(id, INVALID_PARAMS, "a path is missing")
        try:
            if method == "fs/write_text_file":
                self._files.write(path, str(params.get("content", "")))
                return self._rpc.respond(id, {})
            line, limit = number(params.get("line")), number(params.get("limit"))
            return self._rpc.respond(id, {"content": self._files.read(path, line, limit)})
        except FileMissing as error:
            return self._rpc.refuse(id, RESOURCE_NOT_FOUND, str(error))
        except Refused as error:
            return self._rpc.refuse(id, INVALID_PARAMS, str(error))

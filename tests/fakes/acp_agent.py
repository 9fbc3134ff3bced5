"""A scripted agent that speaks the Agent Client Protocol on its stdin and stdout, as a process.

    python acp_agent.py SCRIPT.json [OPTION ...]

The script is a list of turns, each a list of steps; the number of earlier turns of the session
selects the turn for a prompt. This number is stored in $HOME: so another process can load the
session.

    {"say": TEXT}  {"plan": [TEXT, ...]}  {"cost": USD}
    {"hold": true, "unless": PATH}    until it is cancelled, as `die`
    {"tool": TITLE, "kind": KIND, "input": {...}, "gives": TEXT}
    {"ask": TITLE, "kind": KIND, "input": {...}}    does nothing further in this turn if rejected
    {"read": PATH}  {"write": PATH, "content": TEXT}    through the client; the outcome is said
    {"local": PATH, "content": TEXT}    written by itself    {"mark": PATH}    the same, empty
    {"hold": true}    until it is cancelled    {"fail": TEXT}
    {"mode": ID}    it changes its mode by itself, and says so
    {"die": CODE, "unless": PATH}    if there is no such file, which it then creates

Options make it behave as real agents do:

    modes       its sessions, new and loaded, begin in the mode `auto`, in which it asks for
                nothing; they have `default` too
    resumes     it claims that it can resume sessions, and cannot
    forgets     it can load no session
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]


class AcpAgent:
    """The agent's side of one connection."""

    def __init__(self, script: list[list[JsonObject]], options: list[str]) -> None:
        self.script = script
        self.options = options
        self.mode = ""
        self.kept = Path(os.environ["HOME"]) / "acp-sessions.json"
        self.sessions: dict[str, int] = (
            json.loads(self.kept.read_text()) if self.kept.exists() else {}
        )
        self.session = ""
        self.number = 0
        self.is_cancelled = False
        self.waiting: list[JsonObject] = []

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def messages(self) -> Iterator[JsonObject]:
        while True:
            if self.waiting:
                yield self.waiting.pop(0)
            elif line := sys.stdin.readline():
                yield json.loads(line)
            else:
                return

    def serve(self) -> None:
        print("a line that is no message", flush=True)
        for message in self.messages():
            method, params = message.get("method"), message.get("params", {})
            if method == "session/prompt":
                self.prompt(message["id"], params)
            elif method is not None and "id" in message:
                self.send(id=message["id"], **self.answer(method, params))

    def answer(self, method: str, params: JsonObject) -> JsonObject:
        if method == "initialize":
            can: JsonObject = {"loadSession": True}
            if "resumes" in self.options:
                can["sessionCapabilities"] = {"resume": {}}
            return {"result": {"protocolVersion": 1, "agentCapabilities": can, "authMethods": []}}
        if method == "session/new":
            self.session = f"s{len(self.sessions) + 1}"
            self.keep(0)
            return {"result": {"sessionId": self.session, **self.modes()}}
        if method == "session/set_config_option" and params["value"] in ("auto", "default"):
            self.mode = params["value"]
            return {"result": {"configOptions": self.config()}}
        has_it = params.get("sessionId") in self.sessions and "forgets" not in self.options
        if method == "session/load" and has_it:
            self.session = params["sessionId"]
            self.update("agent_message_chunk", content={"type": "text", "text": "REPLAYED"})
            return {"result": self.modes()}
        return {"error": {"code": -32602, "message": f"{method} cannot be done"}}

    def modes(self) -> JsonObject:
        """Return the fields about modes at the beginning of a session."""
        self.mode = "auto" if "modes" in self.options else ""
        rows = [{"id": mode, "name": mode} for mode in ("auto", "default")]
        modes = {"currentModeId": self.mode, "availableModes": rows}
        return {"modes": modes, "configOptions": self.config()} if self.mode else {}

    def config(self) -> list[JsonObject]:
        rows = [{"value": mode, "name": mode} for mode in ("auto", "default")]
        mode = {"id": "mode", "name": "Mode", "category": "mode", "type": "select"}
        return [{**mode, "currentValue": self.mode, "options": rows}]

    def keep(self, turns: int) -> None:
        self.sessions[self.session] = turns
        self.kept.write_text(json.dumps(self.sessions))

    def update(self, kind: str, /, **more: Any) -> None:
        params = {"sessionId": self.session, "update": {"sessionUpdate": kind, **more}}
        self.send(method="session/update", params=params)

    def prompt(self, id: Any, params: JsonObject) -> None:
        turn = self.sessions[self.session]
        self.is_cancelled = False
        text = params["prompt"][0]["text"]
        (Path(os.environ["HOME"]) / f"prompt-{turn}-{os.getpid()}.txt").write_text(text)
        steps = self.script[min(turn, len(self.script) - 1)]
        reason = "end_turn"
        for step in steps:
            if "fail" in step:
                self.send(id=id, error={"code": -32603, "message": step["fail"]})
                return
            if self.step(step) or self.is_cancelled:
                reason = "cancelled" if self.is_cancelled else "end_turn"
                break
        self.keep(turn + 1)
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        self.send(id=id, result={"stopReason": reason, "usage": usage})

    def step(self, step: JsonObject) -> bool:
        """Execute one step; return whether the turn is over."""
        match step:
            case {"say": text}:
                for piece in (text[:3], text[3:]):
                    self.update("agent_message_chunk", content={"type": "text", "text": piece})
            case {"plan": rows}:
                entries = [{"content": r, "priority": "low", "status": "pending"} for r in rows]
                self.update("plan", entries=entries)
            case {"cost": amount}:
                cost = {"amount": amount, "currency": "USD"}
                self.update("usage_update", used=1, size=100, cost=cost)
            case {"tool": title}:
                call = self.tool(title, step)
                self.update("tool_call", **call)
                given = [{"type": "content", "content": {"type": "text", "text": step["gives"]}}]
                done = {"toolCallId": call["toolCallId"], "status": "completed"}
                self.update("tool_call_update", **done, content=given)
            case {"ask": title}:
                return self.mode != "auto" and not self.asked(self.tool(title, step))
            case {"mode": mode}:
                self.mode = mode
                self.update("current_mode_update", currentModeId=mode)
            case {"read": path}:
                read = self.request("fs/read_text_file", path=path)
                self.step({"say": str(read.get("result", read.get("error")))})
            case {"write": path}:
                wrote = self.request("fs/write_text_file", path=path, content=step["content"])
                self.step({"say": str(wrote.get("result", wrote.get("error")))})
            case {"local": path}:
                Path(path).write_text(step["content"])
            case {"mark": path}:
                Path(path).touch()
            case {"hold": _}:
                kept = Path(step["unless"]) if "unless" in step else None
                if kept is not None and kept.exists():
                    return False
                if kept is not None:
                    kept.touch()
                while not self.is_cancelled:
                    self.hear()
            case {"die": code, "unless": path}:
                if not Path(path).exists():
                    Path(path).touch()
                    os._exit(code)
        return False

    def tool(self, title: str, step: JsonObject) -> JsonObject:
        self.number += 1
        known = {"toolCallId": f"t{self.number}", "title": title, "status": "pending"}
        return known | {"kind": step.get("kind", "other"), "rawInput": step.get("input", {})}

    def asked(self, call: JsonObject) -> bool:
        options = [
            {"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "once", "name": "Once", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        answer = self.request("session/request_permission", toolCall=call, options=options)
        outcome = answer["result"]["outcome"]
        self.step({"say": f"outcome {outcome.get('optionId', 'cancelled')}"})
        return bool(outcome.get("optionId") == "once")

    def request(self, method: str, **params: Any) -> JsonObject:
        self.number += 1
        mine = f"a{self.number}"
        self.send(id=mine, method=method, params={"sessionId": self.session, **params})
        while True:
            message = self.hear()
            if message.get("id") == mine and "method" not in message:
                return message

    def hear(self) -> JsonObject:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        message: JsonObject = json.loads(line)
        if message.get("method") == "session/cancel":
            self.is_cancelled = True
        elif "method" in message:
            self.waiting.append(message)
        return message


if __name__ == "__main__":
    AcpAgent(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2:]).serve()

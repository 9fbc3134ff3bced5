"""AcpConnection: an AcpDriver and the agent's messages, written by the test."""

import json
from pathlib import Path
from typing import Any

from agiraph.external.acp import AcpDriver
from agiraph.external.agent_events import AgentEvent, ProtocolOutput, SessionIdReported
from agiraph.external.launching import AgentLaunch
from agiraph.external.preset import AgentPreset, ExternalAgent

JsonObject = dict[str, Any]
OPTIONS = [
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Once", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class AcpConnection:
    """A driver, and the messages that it has `written`."""

    def __init__(
        self, folder: Path, session: str = "", *, sandboxed: bool = False, **preset: Any
    ) -> None:
        made = AgentPreset(command=("agent",), driver="acp", resume=("{options}",), **preset)
        launch = AgentLaunch(
            ExternalAgent("agent", made, "/bin/agent"),
            "do it",
            folder,
            folder / "home",
            session=session,
            prompt_if_lost="all of the task",
            is_sandboxed=sandboxed,
        )
        self.driver = AcpDriver(launch)
        self.written: list[JsonObject] = []
        self.write(self.driver.opening())

    def write(self, data: bytes | None) -> None:
        self.written += [json.loads(line) for line in (data or b"").splitlines()]

    @property
    def last(self) -> JsonObject:
        return self.written[-1]

    @property
    def prompt(self) -> str:
        """The text of the last message, which is a prompt."""
        text: str = self.last["params"]["prompt"][0]["text"]
        return text

    def receive(self, message: JsonObject) -> list[AgentEvent]:
        """Feed a message, a byte at a time; return the events, output written."""
        data = json.dumps(message).encode() + b"\n"
        events = [event for byte in data for event in self.driver.feed(bytes([byte]))]
        for event in events:
            if isinstance(event, ProtocolOutput):
                self.write(event.data)
        return [event for event in events if not isinstance(event, ProtocolOutput)]

    def answers(self, **result: Any) -> list[AgentEvent]:
        """Respond to the last request."""
        return self.receive({"id": self.last["id"], "result": result})

    def fails(self, message: str, **error: Any) -> list[AgentEvent]:
        return self.receive({"id": self.last["id"], "error": {"message": message, **error}})

    def updates(self, kind: str, /, **more: Any) -> list[AgentEvent]:
        update = {"sessionUpdate": kind, **more}
        return self.receive({"method": "session/update", "params": {"update": update}})

    def writes(self, text: str) -> list[AgentEvent]:
        """Write a piece of text."""
        return self.updates("agent_message_chunk", content={"type": "text", "text": text})

    def requests(self, id: object, method: str, **params: Any) -> list[AgentEvent]:
        return self.receive({"id": id, "method": method, "params": params})

    def asks(self, id: object, **tool: Any) -> list[AgentEvent]:
        """Request permission for a tool call."""
        method = "session/request_permission"
        return self.requests(id, method, toolCall=tool, options=OPTIONS)

    def begin(self) -> "AcpConnection":
        """Continue to the first prompt."""
        self.answers(protocolVersion=1)
        assert self.answers(sessionId="s1") == [SessionIdReported("s1")]
        assert self.last["method"] == "session/prompt"
        return self

"""A model service whose every call takes half a second, any number at once.

It speaks Anthropic's streaming wire format from a process of its own, so that its cost is not mixed
with what is measured, and records when each call came. It plays a team: the coordinator opens a
stage with as many workers as the goal says, waits for them and finishes; each worker writes a file
in every turn but the last, in which it publishes. A call without tools, which is all that a node of
the mode single_inference makes, is answered at once.

    python -m benchmarks.model_service    # prints its address; GET /calls lists the calls
"""

import asyncio
import contextlib
import json
import re
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.product import started

CALL_SECONDS = 0.5
TURNS = 10

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelService:
    """A running service."""

    address: str

    @property
    def environ(self) -> dict[str, str]:
        """Return the variables that send a provider's client to the service."""
        return {"ANTHROPIC_BASE_URL": self.address, "ANTHROPIC_API_KEY": "bench-key-0123456789"}

    def calls(self) -> list[tuple[float, str, int]]:
        """Return each call: when (monotonic), of whom, of one who is to take how many turns."""
        with urllib.request.urlopen(f"{self.address}/calls", timeout=10) as answer:
            return [(came, who, turns) for came, who, turns in json.load(answer)]


@contextlib.contextmanager
def model_service() -> Iterator[ModelService]:
    """Run the service in a process of its own."""
    with started(["-m", "benchmarks.model_service"]) as process:
        assert process.stdout is not None
        yield ModelService(process.stdout.readline().strip())


# --- the service's own process -------------------------------------------------------------------


class _Server:
    def __init__(self) -> None:
        self._calls: list[tuple[float, str, int]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests, one after the other."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                came = time.monotonic()
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1])) if length else b""
                if head.startswith("GET"):
                    answer = _response(json.dumps(self._calls).encode(), "application/json")
                else:
                    answer = await self._answer(came, json.loads(body))
                writer.write(answer)
                await writer.drain()
        writer.close()

    async def _answer(self, came: float, body: JsonObject) -> bytes:
        is_lead = "the coordinator of a team" in json.dumps(body["system"])
        self._calls.append((came, "coordinator" if is_lead else "worker", _turns(body)))
        if not body.get("tools"):
            text, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
            return _response(_stream(text, delta, len(self._calls)), "text/event-stream")
        name, arguments = _lead(body) if is_lead else _work(body)
        await asyncio.sleep(max(0.0, CALL_SECONDS - (time.monotonic() - came)))
        use = {"type": "tool_use", "id": f"call_{len(self._calls)}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        return _response(_stream(use, delta, len(self._calls)), "text/event-stream")


def _step(body: JsonObject) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


def _work(body: JsonObject) -> tuple[str, JsonObject]:
    step = _step(body)
    if step == _turns(body) - 1:
        return "publish", {"summary": "all turns were taken"}
    return "write_file", {"path": f"part-{step}.md", "content": f"turn {step} was taken\n"}


def _lead(body: JsonObject) -> tuple[str, JsonObject]:
    sizes = re.findall(r"team of (\d+)", json.dumps(body["messages"]))
    if _step(body) == 0 and sizes:
        size = int(sizes[0])
        prompt = f"Please take {_turns(body)} turns."
        roles = [{"name": f"w{n}", "prompt": prompt} for n in range(size)]
        return "launch_roles", {"stage": {"name": "Work", "roles": roles}}
    last = json.dumps(body["messages"][-1])
    is_done = '\\"completed\\"' in last and not re.search(r'\\"(running|assigned)', last)
    return ("finish", {"summary": "all is done"}) if is_done else ("wait", {})


def _turns(body: JsonObject) -> int:
    """Return how many turns a worker is to take: what the task says, else TURNS."""
    found = re.search(r"take (\d+) turns", json.dumps(body["messages"][:2]))
    return int(found[1]) if found else TURNS


def _stream(block: JsonObject, delta: JsonObject, number: int) -> bytes:
    usage = {"input_tokens": 1000, "output_tokens": 20}
    message: JsonObject = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "fake",
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    why = "tool_use" if block["type"] == "tool_use" else "end_turn"
    events: list[JsonObject] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": why}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


def _response(body: bytes, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _main() -> None:
    server = await asyncio.start_server(_Server().serve, "127.0.0.1", 0, limit=1 << 24)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())

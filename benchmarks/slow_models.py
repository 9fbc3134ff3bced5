"""A model service that takes its time: every call half a second, any number at once.

It speaks Anthropic's streaming wire format from a process of its own, so that what it costs is not
mixed with what is measured, and notes when each call came. It plays a team: the coordinator opens a
stage with as many workers as the goal says, waits for them and finishes; each worker writes a file
nine times and publishes.

    python -m benchmarks.slow_models      # prints its address; GET /calls tells what came when
"""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CALL_SECONDS = 0.5
TURNS = 10
KEY = "bench-key-0123456789"
ROOT = Path(__file__).resolve().parents[1]

JsonObject = dict[str, Any]
Made = tuple[str, JsonObject]


class SlowModels:
    """The service; `calls` are (monotonic time, who, of how many turns) in the order they came."""

    def __init__(self) -> None:
        """Know of no call yet."""
        self.calls: list[tuple[float, str, int]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests, one after the other."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                came = time.monotonic()
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1])) if length else b""
                if head.startswith("GET"):
                    writer.write(_whole(json.dumps(self.calls).encode(), "application/json"))
                else:
                    writer.write(await self._answer(came, json.loads(body)))
                await writer.drain()
        writer.close()

    async def _answer(self, came: float, body: JsonObject) -> bytes:
        who = _who(body)
        self.calls.append((came, who, _turns(body)))
        made = play(who, body)
        await asyncio.sleep(max(0.0, CALL_SECONDS - (time.monotonic() - came)))
        return _whole(_stream(made, len(self.calls)), "text/event-stream")


def play(who: str, body: JsonObject) -> Made:
    """Return the one tool call of this step, which follows from the conversation alone."""
    step = sum(message["role"] == "assistant" for message in body["messages"])
    if who == "worker":
        if step == _turns(body) - 1:
            return "publish", {"summary": "all turns were taken"}
        return "write_file", {"path": f"part-{step}.md", "content": f"turn {step} was taken\n"}
    if step == 0:
        size = int(re.findall(r"team of (\d+)", json.dumps(body["messages"]))[0])
        prompt = f"Please take {_turns(body)} turns."
        roles = [{"name": f"w{n}", "prompt": prompt} for n in range(size)]
        return "launch_roles", {"stage": {"name": "Work", "roles": roles}}
    if _is_all_told(body):
        return "finish", {"summary": "all is done"}
    return "wait", {}


def _turns(body: JsonObject) -> int:
    """Return how many turns a worker is to take: what the task says, else TURNS."""
    found = re.search(r"take (\d+) turns", json.dumps(body["messages"][:2]))
    return int(found[1]) if found else TURNS


def _is_all_told(body: JsonObject) -> bool:
    """Whether the coordinator's last `wait` showed that every node is completed."""
    last = json.dumps(body["messages"][-1])
    return '\\"completed\\"' in last and '\\"running\\"' not in last and '\\"assigned' not in last


def _who(body: JsonObject) -> str:
    return "coordinator" if "the coordinator of a team" in json.dumps(body["system"]) else "worker"


def _stream(made: Made, number: int) -> bytes:
    name, arguments = made
    usage = {"input_tokens": 1000, "output_tokens": 20}
    message: JsonObject = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "fake",
    }
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    use = {"type": "tool_use", "id": f"call_{number}", "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    events: list[JsonObject] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": use},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


def _whole(body: bytes, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@contextlib.contextmanager
def slow_models() -> Iterator[str]:
    """Run the service in a process of its own; yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "benchmarks.slow_models"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


def env_of(address: str) -> dict[str, str]:
    """Return the variables that send a provider's client to the service."""
    return {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": KEY}


def calls_of(address: str) -> list[tuple[float, str]]:
    """Return when each call came, in seconds of the monotonic clock, and from whom."""
    with urllib.request.urlopen(f"{address}/calls") as answer:
        return [(came, who) for came, who, _ in json.load(answer)]


def worker_calls_of(address: str, turns: int) -> list[float]:
    """Return when the calls came of those workers that are to take so many turns."""
    with urllib.request.urlopen(f"{address}/calls") as answer:
        return [came for came, who, of in json.load(answer) if who == "worker" and of == turns]


async def main() -> None:
    """Serve until terminated."""
    server = await asyncio.start_server(SlowModels().serve, "127.0.0.1", 0, limit=1 << 24)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

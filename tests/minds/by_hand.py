"""AnswersByHand: a responder for FakeModelServer that writes each request and waits for an answer.

A request becomes three files in the folder: `ada-003.md` (the part that is new since the last
answered request of ada; the whole if its conversation is new), `ada-003.full.md` (the whole)
and `ada-003.json` (the body on the wire). The answer is `ada-003.answer.yaml`:

    text: I look at the folder first.
    calls:
      - name: list_files
        arguments: {path: .}
    lost: ""          # why this turn was lost to the product; left out if it was not

An entity that was killed asks again; it gets the answer that its request had.
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from agiraph.core.turns import AssistantTurn, ToolTurn, Turn
from tests.fakes.replies import Call, Reply, SeenRequest

POLL_SECONDS: Final = 0.3
NAME: Final = re.compile(r"\byou are (?:the )?\W*([\w-]+)(, the coordinator)?", re.IGNORECASE)


class AnswersByHand:
    """A responder whose answers are written into `folder` by a person or an agent."""

    def __init__(self, folder: Path) -> None:
        """Use a folder that exists; answers that are already there count."""
        self._folder = folder
        self._lock = threading.Lock()
        self._names: dict[str, str] = {}
        self._last: dict[str, SeenRequest] = {}
        self._closed = threading.Event()

    def __call__(self, seen: SeenRequest) -> Reply:
        """Write the request, wait for its answer, and return it; ValueError after `close`."""
        name = self._placed(seen)
        file = self._folder / f"{name}.answer.yaml"
        complained = ""
        while not self._closed.wait(POLL_SECONDS):
            try:
                reply = read_answer(file.read_text("utf-8"), set(seen.tools))
            except FileNotFoundError:
                continue
            except ValueError as error:  # also a file that is half written
                if str(error) != complained:
                    complained = str(error)
                    (self._folder / f"{name}.problem.txt").write_text(f"{error}\n", "utf-8")
                continue
            self._last[entity_of(seen)] = seen
            return reply
        raise ValueError("the examination is over")

    def close(self) -> None:
        """Let each waiting request fail."""
        self._closed.set()

    def _placed(self, seen: SeenRequest) -> str:
        """Return the name of the request's files, written if the request is new."""
        key = hashlib.sha256(seen.raw).hexdigest()
        with self._lock:
            if key in self._names:
                return self._names[key]
            entity = entity_of(seen)
            number = sum(name.rpartition("-")[0] == entity for name in self._names.values())
            name = self._names[key] = f"{entity}-{number:03}"
            whole = "\n".join(_whole(seen))
            new = _news(seen, self._last.get(entity))
            for suffix, text in (
                ("json", json.dumps(dict(seen.body), indent=1, ensure_ascii=False)),
                ("full.md", whole),
                ("md", whole if new is None else "\n".join(_told(new))),
            ):
                (self._folder / f"{name}.{suffix}").write_text(text + "\n", "utf-8")
        return name


def entity_of(seen: SeenRequest) -> str:
    """Return the name after "You are" in the system prompt, `coordinator`, or `other`."""
    found = NAME.search(seen.system)
    if found is None:
        return "other"
    return "coordinator" if found[2] else found[1].lower()


def read_answer(text: str, tools: set[str]) -> Reply:
    """Return the answer in a file; ValueError names the key that is wrong."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {error}") from None
    if not isinstance(data, dict) or not set(data) <= {"text", "calls", "lost"}:
        raise ValueError("an answer is a mapping with the keys text, calls, lost")
    calls = tuple(_call(one, tools) for one in data.get("calls") or ())
    said = data.get("text") or None
    if not calls and not said:
        raise ValueError("an answer has a text or calls")
    return Reply(text=said, calls=calls)


def _call(data: Any, tools: set[str]) -> Call:
    if not isinstance(data, dict) or not {"name"} <= set(data) <= {"name", "arguments"}:
        raise ValueError(f"a call has a name and arguments: {data!r}")
    if data["name"] not in tools:
        raise ValueError(f"no tool {data['name']!r}; the tools are {', '.join(sorted(tools))}")
    return Call(data["name"], data.get("arguments") or {})


def _news(seen: SeenRequest, before: SeenRequest | None) -> tuple[Turn, ...] | None:
    """Return the turns since the last answered request; None if the conversation is another."""
    if before is None or seen.system != before.system:
        return None
    old = len(before.turns)
    return seen.turns[old:] if seen.turns[:old] == before.turns else None


def _whole(seen: SeenRequest) -> Iterator[str]:
    yield f"# System prompt\n\n{seen.system}\n\n# Tools\n"
    for tool in seen.body.get("tools", ()):
        schema = json.dumps(tool.get("input_schema"), ensure_ascii=False)
        yield f"## {tool['name']}\n\n{tool.get('description', '')}\n\n    {schema}\n"
    yield "# Conversation\n"
    yield from _told(seen.turns)


def _told(turns: Iterable[Turn]) -> Iterator[str]:
    for turn in turns:
        if isinstance(turn, AssistantTurn):
            yield f"## You\n\n{turn.text or ''}\n"
            for made in turn.tool_calls:
                yield f"    {made.name}({json.dumps(dict(made.arguments), ensure_ascii=False)})\n"
        elif isinstance(turn, ToolTurn):
            mark = " (error)" if turn.is_error else ""
            yield f"## Result of {turn.name}{mark}\n\n{turn.content}\n"
        else:
            yield f"## Message\n\n{turn.content}\n"

"""What the Agent Client Protocol's messages hold, read tolerantly: agents differ in what they fill.

A tool call is told of in steps: first often without its input, then with it, then with its outcome.
It is told on as begun once its input is known, or when it runs.
"""

import shlex
from collections.abc import Mapping
from typing import Any

from agiraph.core.turns import JsonObject, Usage
from agiraph.external.agent_events import Happening, ToolUseEnded, ToolUseStarted
from agiraph.external.preset import AgentToolServer
from agiraph.external.text import text_of

KINDS = {
    "execute": "bash",
    **dict.fromkeys(("edit", "delete", "move"), "write_file"),
    **dict.fromkeys(("read", "search"), "read_file"),
    "fetch": "web_fetch",
}
PATHS = ("path", "file_path", "filePath", "absolute_path", "abs_path")
TEXTS = ("formatted_output", "aggregated_output", "aggregatedOutput", "output")
STREAMS = ("stdout", "stderr")
EXIT_CODES = ("exit_code", "exitCode")
MARKS = {"completed": "x", "in_progress": ">", "pending": " "}


class AcpToolCalls:
    """The tool calls of one start, by their ids."""

    def __init__(self) -> None:
        """Know of none."""
        self._known: dict[str, JsonObject] = {}
        self._begun: set[str] = set()
        self._ended: set[str] = set()

    def take(self, update: JsonObject) -> list[Happening]:
        """Return what a `tool_call` or `tool_call_update` tells that was not told before."""
        id = str(update.get("toolCallId", ""))
        if not id or id in self._ended:
            return []
        known = self._known.setdefault(id, {})
        known |= {key: value for key, value in update.items() if value not in (None, {}, [])}
        status, found = known.get("status"), list[Happening]()
        if id not in self._begun and _is_clear(known):
            self._begun.add(id)
            found.append(ToolUseStarted(id, self.name_of(known), arguments_of(known)))
        if status in ("completed", "failed"):
            self._ended.add(id)
            found.append(ToolUseEnded(id, output_of(known), status == "failed"))
        return found

    def action_of(self, update: JsonObject) -> tuple[str, JsonObject]:
        """Return the tool and the arguments of a call that leave is asked for."""
        known = self._known.get(str(update.get("toolCallId", "")), update)
        return self.name_of(known), arguments_of(known)

    def name_of(self, known: JsonObject) -> str:
        """Return a tool's name as rules know it: by its kind, else by its title."""
        title = str(known.get("title") or "").strip()
        return KINDS.get(str(known.get("kind")), title.split("\n")[0][:80] or "tool")


def _is_clear(known: JsonObject) -> bool:
    """Whether it is known what a call is about to do; when it is over, whatever is known is all."""
    if known.get("status") in ("completed", "failed"):
        return True
    raw = known.get("rawInput")
    if known.get("kind") == "execute":
        return isinstance(raw, dict) and bool(raw.get("command") or raw.get("cmd"))
    return bool(raw) or known.get("status") == "in_progress"


def arguments_of(known: JsonObject) -> JsonObject:
    """Return a call's input, with its command and path under the names that rules look at."""
    raw = known.get("rawInput")
    arguments: JsonObject = dict(raw) if isinstance(raw, dict) else {}
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list):
        arguments["command"] = _as_typed([str(word) for word in command])
    elif isinstance(command, str):
        arguments["command"] = command
    elif known.get("kind") == "execute":
        arguments["command"] = str(known.get("title") or "")
    if known.get("kind") != "execute" and (path := _path_of(known, arguments)):
        arguments["path"] = path
    if not arguments and known.get("title"):
        arguments["title"] = str(known["title"])
    return arguments


def _as_typed(words: list[str]) -> str:
    """Return a command as a person would type it: what a shell is handed, else its words."""
    is_shells = len(words) == 3 and words[1] in ("-c", "-lc")
    return words[2] if is_shells else shlex.join(words)


def _path_of(known: JsonObject, arguments: JsonObject) -> str:
    """Return the file that a call is about, '' if none is named."""
    named = [arguments.get(key) for key in PATHS]
    for key in ("locations", "content"):
        value = known.get(key)
        items = value if isinstance(value, list) else []
        named += [item.get("path") for item in items if isinstance(item, dict)]
    return next((path for path in named if isinstance(path, str) and path), "")


def output_of(known: JsonObject) -> str:
    """Return what a call has given: its texts, and which files it has changed.

    An exit code stands before them, if it is told and is not 0 or is all that is told.
    """
    shown, raw = known.get("content"), known.get("rawOutput")
    content = shown if isinstance(shown, list) else []
    texts = [_shown(item) for item in content if isinstance(item, dict)]
    said = "\n".join(filter(None, texts)) or _text_in_raw(raw)
    code = _exit_code(raw)
    if code is None or (code == 0 and said):
        return said
    return f"exit code {code}\n{said}".rstrip()


def _text_in_raw(raw: object) -> str:
    """Return the text of a raw output; of an object, what its agent calls its text."""
    if not isinstance(raw, dict):
        return text_of(raw)
    known = [raw[key] for key in TEXTS if isinstance(raw.get(key), str)]
    streams = [raw[key] for key in STREAMS if isinstance(raw.get(key), str)]
    said = next(filter(None, known), "") or "\n".join(filter(None, map(str.rstrip, streams)))
    if said or known or streams or _exit_code(raw) is not None:
        return said
    return text_of(raw)


def _exit_code(raw: object) -> int | None:
    told = [raw.get(key) for key in EXIT_CODES] if isinstance(raw, dict) else []
    return next((code for code in map(number, told) if code is not None), None)


def _shown(item: JsonObject) -> str:
    match item:
        case {"type": "content", "content": content}:
            return text_in(content)
        case {"type": "diff", "path": str(path)}:
            old, new = (str(item.get(key) or "") for key in ("oldText", "newText"))
            way = "changed" if old else "wrote"
            return f"{way} {path} ({len(old.splitlines())} -> {len(new.splitlines())} lines)"
        case _:
            return ""


def text_in(content: object) -> str:
    """Return the text of a content block, '' for any other kind."""
    match content:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": str(uri)}:
            return uri
        case _:
            return ""


def plan_in(update: JsonObject) -> str:
    """Return a plan as lines, '' if it is empty."""
    rows = [row for row in update.get("entries") or [] if isinstance(row, dict)]
    lines = [f"- [{MARKS.get(str(r.get('status')), ' ')}] {r.get('content', '')}" for r in rows]
    return "\n".join(["Plan:", *lines]) if lines else ""


def servers_for(servers: Mapping[str, AgentToolServer], can: JsonObject) -> list[JsonObject]:
    """Return the tool servers as a session is told of them; addresses if the agent can use any."""
    speaks_http = bool((can.get("mcpCapabilities") or {}).get("http"))
    told: list[JsonObject] = []
    for name, server in servers.items():
        if server.command:
            command, *args = server.command
            env = _pairs(server.environment)
            told.append({"name": name, "command": command, "args": args, "env": env})
        elif speaks_http:
            headers = _pairs(server.headers)
            told.append({"type": "http", "name": name, "url": server.url, "headers": headers})
    return told


def _pairs(values: Mapping[str, str]) -> list[JsonObject]:
    return [{"name": name, "value": value} for name, value in values.items()]


def choice_of(options: list[JsonObject], *, is_allowed: bool) -> str | None:
    """Return the id of the option that allows or rejects, once rather than for ever."""
    wanted = ("allow_once", "allow_always") if is_allowed else ("reject_once", "reject_always")
    for kind in wanted:
        for option in options:
            if option.get("kind") == kind and isinstance(option.get("optionId"), str):
                return str(option["optionId"])
    return None


def usage_of(counted: object) -> Usage | None:
    """Return the tokens of one turn, None if they were not told."""
    if not isinstance(counted, dict):
        return None
    read, written = _count(counted, "cachedReadTokens"), _count(counted, "cachedWriteTokens")
    given, made = _count(counted, "inputTokens"), _count(counted, "outputTokens")
    if _count(counted, "totalTokens") >= given + made + read + written:
        given += read + written  # they are counted beside the input
    return Usage(
        input_tokens=given, output_tokens=made, cache_read_tokens=read, cache_write_tokens=written
    )


def cost_in(update: JsonObject) -> float | None:
    """Return what the session has cost by now, in US dollars; None if that was not told."""
    match update.get("cost"):
        case {"amount": int() | float() as amount, "currency": "USD"}:
            return float(amount)
        case _:
            return None


def number(value: Any) -> int | None:
    """Return a number as it was given, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _count(counted: JsonObject, key: str) -> int:
    return max(0, number(counted.get(key)) or 0)

"""Parsing of Agent Client Protocol messages; tolerant, because agents fill different fields.

A tool call is reported in steps: often first without its input, then with it, then with its result.
It is reported as started when its input is known, or when it runs.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from agiraph.core.turns import JsonObject, Usage
from agiraph.external.agent_events import AgentEvent, ToolUseEnded, ToolUseStarted
from agiraph.external.preset import AgentToolServer
from agiraph.external.text import amount, count, mapping, number, rows, text_of
from agiraph.tools.approvals.policy import (
    BASH,
    FURTHER_COMMANDS,
    FURTHER_PATHS,
    GLOB_SIGNS,
    POSSIBLE_COMMANDS,
    UNREADABLE_COMMAND,
)
from agiraph.tools.approvals.spellings import SEARCHED

TOOL_NAMES = {
    "execute": "bash",
    **dict.fromkeys(("edit", "delete", "move"), "write_file"),
    **dict.fromkeys(("read", "search"), "read_file"),
    "fetch": "web_fetch",
}
PATHS = (
    *("path", "file_path", "filePath", "absolute_path", "abs_path", "notebook_path", "dir_path"),
)
MOVED = ("from", "to", "source", "destination", "old_path", "new_path", "oldPath", "newPath")
TEXTS = ("formatted_output", "aggregated_output", "aggregatedOutput", "output")
STREAMS = ("stdout", "stderr")
EXIT_CODES = ("exit_code", "exitCode")
COMMANDS = frozenset(
    ("command", "commands", "cmd", "commandline", "cmdline", "shellcommand", "argv")
)
"""The names of fields with a command, in lower case and without `_` and `-`."""
OPERANDS = ("args", "arguments")
MOST_TEXTS = 500
"""How many texts of a call are judged one by one: further texts are judged as one text. A call with
more commands is judged as unreadable."""
PLAN_MARKS = {"completed": "x", "in_progress": ">", "pending": " "}


class AcpToolCalls:
    """The tool calls of one start, by their ids."""

    def __init__(self) -> None:
        self._known: dict[str, JsonObject] = {}
        self._started: set[str] = set()
        self._ended: set[str] = set()

    def apply(self, update: JsonObject) -> list[AgentEvent]:
        """Return the events that a `tool_call` or `tool_call_update` adds: a start, an end."""
        id = str(update.get("toolCallId", ""))
        if not id or id in self._ended:
            return []
        known = self._known.setdefault(id, {})
        known |= _filled(update)
        status, events = known.get("status"), list[AgentEvent]()
        if id not in self._started and _is_clear(known):
            self._started.add(id)
            events.append(ToolUseStarted(id, _tool_name(known), _arguments(known)))
        if status in ("completed", "failed"):
            self._ended.add(id)
            events.append(ToolUseEnded(id, output_of(known), status == "failed"))
        return events

    def action_of(self, update: JsonObject) -> tuple[str, JsonObject]:
        """Return the tool and the arguments of a call for which permission is requested.

        The arguments name all commands of the call, and all texts that may be one: an agent may
        report a command under any kind of call and in any field.
        """
        known = self._known.get(str(update.get("toolCallId", "")), {}) | _filled(update)
        arguments = _arguments(known)
        tool = _tool_name(known)
        commands, texts = _commands(known, arguments.get("command") if tool == BASH else None)
        return tool, {
            **arguments,
            **({FURTHER_COMMANDS: commands} if commands else {}),
            **({POSSIBLE_COMMANDS: texts} if texts else {}),
        }


def _filled(update: JsonObject) -> JsonObject:
    return {key: value for key, value in update.items() if value not in (None, {}, [])}


def _kind(known: JsonObject) -> str:
    return str(known.get("kind")).strip().lower()


def _commands(known: JsonObject, judged: object) -> tuple[list[str], list[str]]:
    """Return the commands of a call except `judged`, and the texts that may be a command.

    A call that is known to use another tool than the shell has no such texts, but it may have
    commands. All texts of a call of the shell without a command in the usual fields are commands;
    its title is its command if it has no input.
    """
    given = known.get("rawInput")
    tool = TOOL_NAMES.get(_kind(known))
    is_command = tool == BASH and not isinstance(given, dict)
    commands = list(islice(_commands_in(given, is_command=is_command), MOST_TEXTS + 1))
    if len(commands) > MOST_TEXTS:
        commands = [UNREADABLE_COMMAND]
    if tool not in (BASH, None):
        return _without(commands, judged), []
    texts = list(_texts_in(given))
    if tool == BASH and not commands:
        has_field = any(map(_names_command, mapping(given)))
        is_unreadable = has_field or not (texts or judged) or (given and not texts)
        commands, texts = [UNREADABLE_COMMAND] if is_unreadable else texts, []
    title = str(known.get("title") or "") if tool is None else ""
    texts += filter(None, (title, *map(_content_text, rows(known.get("content")))))
    return _without(commands, judged), _without(texts, judged, *commands)


def _without(texts: Iterable[str], *others: object) -> list[str]:
    """Return each of `texts` once, without `others`.

    Those after MOST_TEXTS are joined to one text.
    """
    left_out = set(others)
    found = [text for text in dict.fromkeys(texts) if text not in left_out]
    return [*found[:MOST_TEXTS], *filter(None, ["\n".join(found[MOST_TEXTS:])])]


def _commands_in(value: object, *, is_command: bool = False) -> Iterator[str]:
    """Yield the commands in a call's input; with `is_command` its texts are commands."""
    match value:
        case str() if is_command and value.strip():
            yield value
        case list() if is_command and value and all(isinstance(word, str) for word in value):
            yield _as_typed(value)
        case list():
            for inner in value:
                yield from _commands_in(inner, is_command=is_command)
        case dict():
            for key, inner in value.items():
                is_named = _names_command(key)
                for command in _commands_in(inner, is_command=is_command or is_named):
                    yield command
                    if is_named:
                        yield from _with_operands(command, value)


def _names_command(field: str) -> bool:
    return field.lower().replace("_", "").replace("-", "") in COMMANDS


def _with_operands(command: str, given: JsonObject) -> Iterator[str]:
    """Yield a command joined with operands that the call's input has in other fields."""
    for name in OPERANDS:
        match given.get(name):
            case str(text) if text:
                yield f"{command} {text}"
            case [*words] if words:
                yield f"{command} {shlex.join(map(str, words))}"


def _texts_in(value: object) -> Iterator[str]:
    match value:
        case str() if value.strip():
            yield value
        case list():
            for inner in value:
                yield from _texts_in(inner)
        case dict():
            for inner in value.values():
                yield from _texts_in(inner)


def _tool_name(known: JsonObject) -> str:
    """Return the tool's name for approval rules: from the call's kind, or from its title."""
    title = str(known.get("title") or "").strip()
    name = "".join(
        "_" if sign in GLOB_SIGNS or not sign.isprintable() else sign
        for sign in title.split("\n")[0][:80]
    )
    return TOOL_NAMES.get(_kind(known), name or "tool")


def _is_clear(known: JsonObject) -> bool:
    """Whether the input of a call is known; after the end of a call no more input follows."""
    if known.get("status") in ("completed", "failed"):
        return True
    given = known.get("rawInput")
    if _kind(known) == "execute":
        return bool(mapping(given).get("command") or mapping(given).get("cmd"))
    return bool(given) or known.get("status") == "in_progress"


def _arguments(known: JsonObject) -> JsonObject:
    """Return the input of a call, with its command and path under the names that the rules use."""
    arguments = dict(mapping(known.get("rawInput")))
    is_command = _kind(known) == "execute"
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list):
        arguments["command"] = _as_typed([str(word) for word in command])
    elif isinstance(command, str):
        arguments["command"] = command
    elif is_command:
        arguments["command"] = str(known.get("title") or "")
    if not is_command:
        arguments |= _files(known, arguments)
    if not arguments and known.get("title"):
        arguments["title"] = str(known["title"])
    return arguments


def _as_typed(words: list[str]) -> str:
    """Return a command as a person types it, without the shell around it."""
    is_shell = len(words) == 3 and words[1] in ("-c", "-lc")
    return words[2] if is_shell else shlex.join(words)


def _files(known: JsonObject, arguments: JsonObject) -> JsonObject:
    """Return the files that a call names, or the folder that it searches, as `path` and `paths`."""
    is_change = TOOL_NAMES.get(_kind(known)) == "write_file"
    named = [arguments.get(key) for key in (*PATHS, *(MOVED if is_change else ()))]
    named += [row.get("path") for key in ("locations", "content") for row in rows(known.get(key))]
    paths = list(dict.fromkeys(path for path in named if isinstance(path, str) and path))
    is_search = _kind(known) == "search"
    if is_search and not paths:
        paths = ["."]
    return {
        **({"path": paths[0]} if paths else {}),
        **({FURTHER_PATHS: paths[1:]} if paths[1:] else {}),
        **({SEARCHED: paths[0]} if is_search else {}),
    }


def output_of(known: JsonObject) -> str:
    """Return the output of a call: its texts, and the files that it has changed.

    An exit code is put in front if it is not 0, or if there is no other output.
    """
    shown, raw = rows(known.get("content")), known.get("rawOutput")
    text = "\n".join(filter(None, map(_content_text, shown))) or _raw_text(raw)
    code = _exit_code(raw)
    if code is None or (code == 0 and text):
        return text
    return f"exit code {code}\n{text}".rstrip()


def _raw_text(raw: object) -> str:
    """Return the text of a raw output; for an object, its text field."""
    if not isinstance(raw, dict):
        return text_of(raw)
    texts = [raw[key] for key in TEXTS if isinstance(raw.get(key), str)]
    streams = [raw[key] for key in STREAMS if isinstance(raw.get(key), str)]
    text = next(filter(None, texts), "") or "\n".join(filter(None, map(str.rstrip, streams)))
    if text or texts or streams or _exit_code(raw) is not None:
        return text
    return text_of(raw)


def _exit_code(raw: object) -> int | None:
    codes = (number(mapping(raw).get(key)) for key in EXIT_CODES)
    return next((code for code in codes if code is not None), None)


def _content_text(item: JsonObject) -> str:
    match item:
        case {"type": "content", "content": content}:
            return text_in(content)
        case {"type": "diff", "path": str(path)}:
            old, new = (str(item.get(key) or "") for key in ("oldText", "newText"))
            verb = "changed" if old else "wrote"
            return f"{verb} {path} ({len(old.splitlines())} -> {len(new.splitlines())} lines)"
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
    lines = [
        f"- [{PLAN_MARKS.get(str(row.get('status')), ' ')}] {row.get('content', '')}"
        for row in rows(update.get("entries"))
    ]
    return "\n".join(["Plan:", *lines]) if lines else ""


def servers_for(
    servers: Mapping[str, AgentToolServer], capabilities: JsonObject
) -> list[JsonObject]:
    """Return the tool servers for a new session; those with a URL only if the agent uses HTTP."""
    can_use_http = bool(mapping(capabilities.get("mcpCapabilities")).get("http"))
    found: list[JsonObject] = []
    for name, server in servers.items():
        if server.command:
            command, *args = server.command
            env = _pairs(server.environment)
            found.append({"name": name, "command": command, "args": args, "env": env})
        elif can_use_http:
            headers = _pairs(server.headers)
            found.append({"type": "http", "name": name, "url": server.url, "headers": headers})
    return found


def _pairs(values: Mapping[str, str]) -> list[JsonObject]:
    return [{"name": name, "value": value} for name, value in values.items()]


def option_for(options: list[JsonObject], *, is_allowed: bool) -> str | None:
    """Return the id of the option that allows once, or rejects (preferably once).

    None if the agent offers no such option.
    """
    wanted = ("allow_once",) if is_allowed else ("reject_once", "reject_always")
    by_kind = {str(option.get("kind")): option.get("optionId") for option in reversed(options)}
    ids = (by_kind.get(kind) for kind in wanted)
    return next((id for id in ids if isinstance(id, str)), None)


def usage_of(counted: object) -> Usage | None:
    """Return the tokens of one turn, None if they were not reported."""
    if not isinstance(counted, dict):
        return None
    keys = ("inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens", "totalTokens")
    given, made, read, written, total = (count(counted.get(key)) for key in keys)
    if total >= given + made + read + written:
        given += read + written  # counted separately from the input
    return Usage(
        input_tokens=given, output_tokens=made, cache_read_tokens=read, cache_write_tokens=written
    )


def cost_in(update: JsonObject) -> float | None:
    """Return the cost of the session so far in US dollars, None if it was not reported."""
    match update.get("cost"):
        case {"amount": given, "currency": "USD"}:
            return amount(given)
        case _:
            return None

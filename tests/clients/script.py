"""The model behind each agent: it finds the agent's own tools by their names and acts step by step.

It stores nothing between requests: the conversation determines the next step, as with a real model.
A step carries its mark in the arguments of its call; it is over once that call has a result without
NOT-YET. So a step whose call was killed is requested again, and an agent that lost its conversation
looks at its folder first. Aider has no tools: it writes the files that it finds in the model's
answer (`plays_edits`, `Pages`).
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agiraph.core.turns import AssistantTurn, ToolTurn
from tests.fakes.replies import Reply, Responder, SeenRequest, call, say

JsonObject = dict[str, Any]
NOT_YET = "NOT-YET"
MOST_TRIES = 40
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"  # how mini-SWE-agent must end
LOOKS = " ".join(map(str, range(40)))  # eight seconds; some agents refuse "$(seq 40)"
SHELLS = ("Bash", "exec_command", "run_shell_command", "bash", "shell", "shell_command")
WRITERS = ("Write", "write_file", "write", "create", "create_file")
READERS = ("Read", "read_file", "read", "view")
COMMANDS = ("command", "cmd")
PATHS = ("file_path", "filePath", "absolute_path", "path")
CONTENTS = ("content", "file_text", "contents")


@dataclass(frozen=True)
class Toolbox:
    """The tools of a request, by name, each with its parameters' JSON Schema."""

    schemas: dict[str, JsonObject]

    def named(self, names: Sequence[str]) -> str | None:
        """Return the first of these tools that exists."""
        return next((name for name in names if name in self.schemas), None)

    def shell(self, command: str) -> Reply:
        """Return a call that runs a command."""
        tool = self.named(SHELLS)
        if tool is None:
            raise LookupError(f"no shell among {sorted(self.schemas)}")
        return self._call(tool, {COMMANDS: command})

    def write(self, path: str, content: str) -> Reply | None:
        """Return a call that writes a file, None without such a tool."""
        tool = self.named(WRITERS)
        return self._call(tool, {PATHS: path, CONTENTS: content}) if tool else None

    def read(self, path: str) -> Reply | None:
        """Return a call that reads a file, None without such a tool."""
        tool = self.named(READERS)
        return self._call(tool, {PATHS: path}) if tool else None

    def _call(self, tool: str, given: dict[tuple[str, ...], str]) -> Reply:
        """Return the call, with the tool's names of arguments and its other required arguments."""
        schema = self.schemas[tool]
        properties: JsonObject = schema.get("properties") or {}
        arguments: JsonObject = {}
        for names, value in given.items():
            name = next((one for one in names if one in properties), names[0])
            is_list = (properties.get(name) or {}).get("type") == "array"
            arguments[name] = ["bash", "-c", value] if is_list else value
        for name in schema.get("required") or ():
            arguments.setdefault(name, _something(properties.get(name) or {}))
        return call(tool, **arguments)


def _something(schema: JsonObject) -> Any:
    """Return a value for a required parameter that has no meaning here."""
    if choices := schema.get("enum"):
        return choices[0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    return {"boolean": False, "integer": 20000, "number": 20000, "array": [], "object": {}}.get(
        str(kind), "a step of the task"
    )


def toolbox_of(seen: SeenRequest) -> Toolbox:
    """Return the tools of a request in any wire format."""
    return Toolbox(dict(_tools(seen.body.get("tools") or ())))


def _tools(tools: Sequence[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    for tool in tools:
        if "functionDeclarations" in tool:
            yield from _tools(tool["functionDeclarations"])
            continue
        declared: JsonObject = tool.get("function") or tool
        schema: JsonObject = next(
            (
                declared[key]
                for key in ("input_schema", "parameters", "parametersJsonSchema")
                if isinstance(declared.get(key), dict)
            ),
            {},
        )
        if isinstance(declared.get("name"), str):
            yield declared["name"], _lower(schema)


def _lower(schema: JsonObject) -> JsonObject:
    """Return a schema with the types in lower case: Google's wire has them in upper case."""

    def lowered(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: one.lower() if key == "type" and isinstance(one, str) else lowered(one)
                for key, one in value.items()
            }
        return [lowered(one) for one in value] if isinstance(value, list) else value

    found: JsonObject = lowered(schema)
    return found


@dataclass(frozen=True)
class Step:
    """One step: `act` returns its call, whose arguments contain `mark`.

    With `until`, the step is over once a result contains that.
    """

    mark: str
    act: Callable[[Toolbox, SeenRequest, str], Reply]
    until: str = ""

    def is_over(self, seen: SeenRequest) -> bool:
        """Whether the conversation shows that the step is done."""
        results = {turn.call_id: turn.content for turn in seen.turns if isinstance(turn, ToolTurn)}
        if self.until and any(self.until in content for content in results.values()):
            return True
        tries = tries_of(self.mark, seen)
        if len(tries) >= MOST_TRIES:
            return True
        given = [results[one] for one in tries if one in results]
        return not self.until and any(NOT_YET not in one for one in given)


def tries_of(mark: str, seen: SeenRequest) -> list[str]:
    """Return the ids of the calls that have a mark in their arguments."""
    turns = [turn for turn in seen.turns if isinstance(turn, AssistantTurn)]
    made = [call for turn in turns for call in turn.tool_calls]
    return [call.id for call in made if mark in str(call.arguments)]


def plays(steps: Sequence[Step], ends: str = "It is done.") -> Responder:
    """Return a responder that plays the steps in order, and answers briefly without tools."""

    def responder(seen: SeenRequest) -> Reply:
        box = toolbox_of(seen)
        if box.named(SHELLS) is None:
            return say('{"reasoning": "It is done.", "next_speaker": "user", "title": "Task"}')
        due = next((step for step in steps if not step.is_over(seen)), None)
        if due is not None:
            return due.act(box, seen, folder_in(seen))
        if SUBMIT in f"{seen.system}{seen.said}":
            return box.shell(f"echo {SUBMIT}")
        return say(ends)

    return responder


def folder_in(seen: SeenRequest) -> str:
    """Return the agent's working folder, from the prompt or its own words."""
    found = re.search(r"FOLDER=(/\S+?)=", seen.said)
    return found[1] if found else ""


def shell(name: str, command: str, until: str = "") -> Step:
    """Return a step that runs a command, which starts with the step's mark."""
    mark = f"step-{name}"
    return Step(mark, lambda box, seen, folder: box.shell(f": {mark}; {command}"), until)


def where() -> Step:
    """Return the first step: it prints the folder and the completed steps."""
    return shell("where", 'echo "FOLDER=$PWD="; cat steps.txt 2>/dev/null; true')


def write(name: str, path: str) -> Step:
    """Return a step that writes a file with the agent's own tool, else by its shell."""

    def act(box: Toolbox, seen: SeenRequest, folder: str) -> Reply:
        content = f"written in step-{name}\n"
        by_shell = f"printf 'by shell: {content.strip()}\\n' > {path}"
        return box.write(f"{folder}/{path}", content) or box.shell(by_shell)

    return Step(f"step-{name}", act)


def read_ref(ref: str, published: str) -> Step:
    """Return a step that reads a published file of another node.

    It uses the agent's own tool; if this tool refuses the file, the shell reads it.
    """

    def act(box: Toolbox, seen: SeenRequest, folder: str) -> Reply:
        found = re.search(rf"- {ref}: (\S+)", seen.said)
        path = found[1] if found else ref
        path = path if path.endswith(published) else f"{path}/{published}"
        by_tool = None if tries_of(published, seen) else box.read(path)
        return by_tool or box.shell(f"cat {path}")

    return Step(published, act, until="FACT-")


def copy(name: str, path: str) -> Step:
    """Return a step that writes the fact that was read."""

    def act(box: Toolbox, seen: SeenRequest, folder: str) -> Reply:
        fact = re.search(r"FACT-[0-9a-f]+", "\n".join(_results(seen)))
        return box.shell(f": step-{name}; echo {fact[0] if fact else 'nothing'} > {path}")

    return Step(f"step-{name}", act)


def _results(seen: SeenRequest) -> list[str]:
    return [turn.content for turn in seen.turns if isinstance(turn, ToolTurn)]


def wait_for(test: str, then: str) -> str:
    """Return a command that executes `then` once `test` is true, or says NOT-YET after a while.

    Some agents repeat the command in its result, so the command does not contain the expected
    words.
    """
    return (
        f"for n in {LOOKS}; do {test} && break; sleep 0.2; done; "
        f"if {test}; then {then}; else echo NOT''-YET; fi"
    )


def held(number: int) -> Step:
    """Return a slow step: it appends its line once the file `go-NUMBER` is in its folder."""
    then = f"echo D''ID-{number} >> steps.txt; echo D''ID-{number}"
    slow = f"echo begun >> begun-{number}; {wait_for(f'test -e go-{number}', then)}"
    return shell(f"held-{number}", slow, until=f"DID-{number}")


# --- aider ----------------------------------------------------------------------------------------


def plays_edits(files: Mapping[str, str]) -> Responder:
    """Return the model behind aider: its answer is these files, by name, which aider writes."""

    def responder(seen: SeenRequest) -> Reply:
        return say(_listed(files))

    return responder


def _listed(files: Mapping[str, str]) -> str:
    """Return files in aider's format `whole`."""
    return "\n\n".join(f"{name}\n```\n{text}\n```" for name, text in files.items())


class Pages:
    """A responder for the kills: the only answer is delayed until every kill is over.

    Aider has no step but its model's answer, so all kills happen while it waits for the answer; a
    step has begun when its kill is next and the request has arrived.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._asked = 0
        self._done = 0
        self._over = threading.Event()

    def __call__(self, seen: SeenRequest) -> Reply:
        """Delay the answer."""
        self._asked += 1
        files = {"steps.txt": "\n".join(f"DID-{n}" for n in range(self._steps))}
        answer = _listed(files | {"_result.md": "Done."})
        return Reply(text=answer, gate=self._over)

    def begun(self, number: int) -> int:
        """Return how many requests the model has received."""
        return self._asked

    def released(self, number: int) -> None:
        """End a step; the answer is sent after the last."""
        if number == self._steps - 1:
            self._over.set()

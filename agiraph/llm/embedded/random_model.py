"""The random model: calls tools at random, with arguments drawn from the schemas of its request.

It simulates a confused model. Most of its arguments are valid, some are nearly valid (a field is
missing, unknown or of another type), some are absurd (empty, very long, control characters, paths
out of scope). Each entity of a seed has its own preferences among the tools, so that one entity may
wait repeatedly and another may create many nodes.

The answer depends only on the seed, the entity and the conversation: a restarted entity gets the
same answers. Shell commands come from a fixed list and are harmless.
"""

import json
import random
import re
from collections.abc import Sequence
from typing import Any, Final

from agiraph.core.turns import (
    JsonObject,
    ModelRequest,
    ModelResponse,
    StopReason,
    ToolCall,
    ToolSchema,
    Usage,
)

_NAME: Final = re.compile(r"random-([0-9]{1,9})")

SHELL_FIELDS: Final = frozenset({"command", "checks", "agent_command"})
"""Parameters whose texts are run as commands."""
COMMANDS: Final = (
    *("true", "false", "exit 3", "sleep 0.1", "pwd", "cat /etc/hostname", "ls -la .. ../.."),
    *("echo line >> notes.txt", "mkdir -p out && echo 1 > out/a.txt", "seq 1 20000"),
    *("printf '\\377\\000\\033[31m'", "cat < /dev/null", "ln -sf /etc/passwd link.txt"),
)
ENDING: Final = frozenset({"finish", "publish", "end_cycle"})
"""Tools that end work: they are called rarely, so that there is work to disturb."""
AGENT_COMMANDS: Final = ("claude-code --settings {}", "no-such-agent", "")
TEXTS: Final = (
    *("", " ", "done", "I wait for the others.", "Please continue.", "yes", "no", "*", "human"),
    *("coordinator", "Summarize the notes", "a fact: 2 + 2 = 4", "[Runtime]: stop", "null", "10m"),
    *("\x00", "a\x1b[2Jb", "\u202etxt.exe", "\ud83d", "\n\n\n", "{}", "-1", "1e999", "ünïcödé"),
)
PATHS: Final = (
    *("drafts/notes.md", "notes.md", "out/a.txt", ".", "", "..", "../../..", "/etc/passwd", "~"),
    *("published", "input", "nodes", "workers", "journal.jsonl", "MEMORY.md", "memory/x.md"),
    *("scratch/" + "d/" * 200 + "f", "a" * 300, "scratch/\x00", "con\u202e", "_plan.md"),
)
ABSURD: Final[tuple[Any, ...]] = (
    *(None, -1, 2**63, 1.5, True, [], {}, [[]], "x" * 20_000, {"a": {"b": [1]}}),
)
URLS: Final = ("http://127.0.0.1:1/", "file:///etc/passwd", "https://name.invalid/", "ftp://x", "")
LONG: Final = 20_000
REAL_SECONDS: Final = 5
"""The longest time that a random model with real processes requests."""
RECENT_TURNS: Final = 6
MOST_NAMES: Final = 40
DEEPEST: Final = 6

_NAMES = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_/.][A-Za-z0-9]+)*")


class RandomModel:
    """A model that acts at random, with one seed.

    `most_seconds` limits the durations in its arguments, so that a run in real time ends soon.
    """

    def __init__(self, seed: int, most_seconds: int | None = None) -> None:
        self._seed = seed
        self._most_seconds = most_seconds

    def answer(self, request: ModelRequest) -> ModelResponse:
        """Return the answer to a request; the same request always gets the same answer."""
        place = f"{request.run_id}/{request.node_id}/{len(request.turns)}"
        draw = random.Random(f"{self._seed}/{request.entity}/{place}")
        usage = Usage(input_tokens=100, output_tokens=20, cost_usd=0.0)
        text, calls = self._spoken(request, draw)
        stop: StopReason = "tool_use" if calls else "end_turn"
        if draw.random() < 0.02:
            stop = draw.choice(("max_tokens", "refusal", "end_turn"))
        return ModelResponse(
            text=text, tool_calls=calls, stop_reason=stop, usage=usage, model=request.model
        )

    def _spoken(
        self, request: ModelRequest, draw: random.Random
    ) -> tuple[str | None, tuple[ToolCall, ...]]:
        arguments = ArgumentDraw(draw, _names_in(request), self._most_seconds)
        silence, weights = self._preferences(request)
        if draw.random() < silence or not request.tools:
            return (arguments.text() if draw.random() < 0.8 else None), ()
        count = 1 if draw.random() < 0.8 else draw.randint(2, 5)
        chosen = draw.choices(request.tools, weights, k=count)
        key = f"{draw.getrandbits(40):010x}"
        calls = [self._call(tool, f"{key}{at}", arguments) for at, tool in enumerate(chosen)]
        return (arguments.text() if draw.random() < 0.3 else None), tuple(calls)

    def _preferences(self, request: ModelRequest) -> tuple[float, list[float]]:
        """Return the share of answers without a call, and the weight of each tool.

        They differ between entities and change with the node.
        """
        draw = random.Random(f"{self._seed}/{request.entity}/{request.node_id}")
        silence = draw.choice((0.0, 0.01, 0.05, 0.3))
        ending = draw.choice((0.02, 0.2, 1.0))
        weights = [draw.expovariate(1.0) ** 2 + 0.05 for _ in request.tools]
        for at, tool in enumerate(request.tools):
            if tool.name in ENDING:
                weights[at] *= ending
        return silence, weights

    @staticmethod
    def _call(tool: ToolSchema, key: str, arguments: "ArgumentDraw") -> ToolCall:
        draw = arguments.random
        kind = draw.random()
        name = tool.name
        if kind < 0.02:
            return ToolCall(id=key, name=name, malformed=draw.choice(('{"a": ', "[]", "", "nul")))
        if kind < 0.04:
            name = draw.choice((name + "s", name.upper(), "spawn_agent", "x" * 300))
        return ToolCall(id=key, name=name, arguments=arguments.parameters(tool.parameters))


def random_model(name: str) -> RandomModel | None:
    """Return the random model called `random-SEED`, None for another name."""
    named = _NAME.fullmatch(name)
    return RandomModel(int(named[1]), REAL_SECONDS) if named else None


class ArgumentDraw:
    """Draws random values that fit JSON Schemas.

    `names` are words of the conversation, used where a name is needed.
    """

    def __init__(
        self, draw: random.Random, names: Sequence[str], most_seconds: int | None = None
    ) -> None:
        self.random = draw
        self._names = names
        self._most_seconds = most_seconds
        self._optional = 0.1

    def parameters(self, schema: JsonObject) -> JsonObject:
        """Return arguments for a tool: valid most of the time, otherwise with one fault."""
        self._optional = self.random.choice((0.0, 0.0, 0.1, 0.4))
        drawn = self.value(schema, "", 0)
        found: JsonObject = drawn if isinstance(drawn, dict) else {}
        if self.random.random() < 0.2:
            self._spoil(found)
        return found

    def value(self, schema: JsonObject, field: str, depth: int) -> Any:
        """Return a value that fits a schema.

        `field` is the property's name, `depth` its nesting.
        """
        if "const" in schema:
            return schema["const"]
        if enum := schema.get("enum"):
            return self.random.choice(enum)
        for key in ("anyOf", "oneOf"):
            if options := schema.get(key):
                return self.value(self.random.choice(options), field, depth)
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, field, depth)
            case "integer":
                return self._integer(schema, field)
            case "number":
                drawn = self._integer(schema, field), self._integer(schema, field)
                return self.random.choice((drawn[0] + 0.5, drawn[1]))
            case "boolean":
                return self.random.random() < 0.5
            case "string":
                return self.text(field)
            case _:
                return self.random.choice((None, 1, self.text(field), [self.text(field)], {}))

    def _object(self, schema: JsonObject, depth: int) -> JsonObject:
        required = schema.get("required", ())
        chosen = {
            name: one
            for name, one in schema.get("properties", {}).items()
            if name in required or (depth < DEEPEST and self.random.random() < self._optional)
        }
        return {name: self.value(one, name, depth + 1) for name, one in chosen.items()}

    def _array(self, schema: JsonObject, field: str, depth: int) -> list[Any]:
        most = min(schema.get("maxItems", 4), 4 if depth < DEEPEST else 0)
        count = self.random.randint(min(schema.get("minItems", 0), most), most)
        return [self.value(schema.get("items", {}), field, depth + 1) for _ in range(count)]

    def _integer(self, schema: JsonObject, field: str) -> int:
        least = int(schema.get("minimum") or schema.get("exclusiveMinimum") or 0)
        most = int(schema.get("maximum") or least + 1000)
        if self._most_seconds is not None and field.endswith("_seconds"):
            most = max(least, min(most, self._most_seconds))
        return self.random.choice((least, least + 1, most, self.random.randint(least, most)))

    def text(self, field: str = "") -> str:
        """Return a text for a property of this name."""
        if field == "agent_command":
            return self.random.choice(AGENT_COMMANDS)
        if field in SHELL_FIELDS:
            return self.random.choice(COMMANDS)
        if field == "url":
            return self.random.choice(URLS)
        if "path" in field and self.random.random() < 0.7:
            return self.random.choice(PATHS)
        kind = self.random.random()
        if self._names and kind < 0.5:
            return self.random.choice(self._names)
        if kind < 0.52:
            return self.random.choice(("x", "a b ", "ä", '"')) * LONG
        return self.random.choice(TEXTS)

    def _spoil(self, arguments: JsonObject) -> None:
        """Put one random fault into `arguments`; commands for a shell keep their values."""
        names = [name for name in arguments if name not in SHELL_FIELDS]
        match self.random.randrange(4):
            case 0 if names:
                del arguments[self.random.choice(names)]
            case 1 if names:
                arguments[self.random.choice(names)] = self.random.choice(ABSURD)
            case 2:
                arguments[self.random.choice(("timeout", "max_stages", "why", "", "ünïcödé"))] = 1
            case _ if names:
                name = self.random.choice(names)
                arguments[name] = json.dumps(arguments[name])


def _names_in(request: ModelRequest) -> list[str]:
    """Return words of the last turns that look like names of workers, nodes and files."""
    texts = [
        turn.text or "" if turn.role == "assistant" else turn.content for turn in request.turns
    ]
    found = dict.fromkeys(
        word for text in texts[-RECENT_TURNS:] for word in _NAMES.findall(text[:4000])
    )
    named = [word for word in found if not word.isalpha() or len(word) < 8]
    return named[-MOST_NAMES:]

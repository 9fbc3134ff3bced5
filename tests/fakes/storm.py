"""StormyTeam: the responder of a big team whose model services refuse every second request.

The coordinator hires the whole team at once; each worker writes a file and publishes it. Requests
are refused with 429, alternately with and without `retry-after`. An answer uses exactly the amount
that is reserved for it: its input, counted as the broker counts it, and as many tokens as it may
have. So one call more than a budget pays for would be noticed.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agiraph.core.turns import JsonObject, ModelRequest, ToolSchema, Usage
from agiraph.llm.token_counts import guess_input_tokens
from tests.fakes.replies import Reply, SeenRequest, call, rate_limited

WISH = "0.01"
FACT = "a fact"


class StormyTeam:
    """A team of `size` workers, whose models are `models` in turn; a responder with counters.

    It counts requests, not callers: its steps are still determined by the conversations alone.
    """

    def __init__(self, size: int, models: Sequence[str]) -> None:
        """Start without requests; `taken` is the usage of each answer, in order."""
        self.size = size
        self.models = models
        self.refused_with_a_wish = self.refused_without = 0
        self.taken: list[Usage] = []
        self._lock = threading.Lock()

    @property
    def asked(self) -> int:
        """The number of requests."""
        return self.refused_with_a_wish + self.refused_without + len(self.taken)

    @property
    def tokens(self) -> int:
        """The number of tokens of all answers."""
        return sum(usage.tokens for usage in self.taken)

    def __call__(self, seen: SeenRequest) -> Reply:
        """Answer one request, or refuse it."""
        usage = Usage(input_tokens=reserved(seen), output_tokens=longest(seen.body))
        with self._lock:
            turn = self.asked % 4
            if turn == 0:
                self.refused_with_a_wish += 1
                return rate_limited(WISH)
            if turn == 2:
                self.refused_without += 1
                return rate_limited()
            self.taken.append(usage)
        return replace(self._play(seen), usage=usage)

    def _play(self, seen: SeenRequest) -> Reply:
        if not seen.is_for("coordinator"):
            return play_worker(seen)
        if seen.step == 0:
            return call("launch_roles", stage={"name": "Work", "roles": self._roles()})
        return call("wait") if seen.step == 1 else call("finish", summary="All is done.")

    def _roles(self) -> list[JsonObject]:
        return [
            {"name": f"w{n}", "prompt": "Write a fact.", "model": self.models[n % len(self.models)]}
            for n in range(self.size)
        ]


def play_worker(seen: SeenRequest) -> Reply:
    """Write a file, then publish it."""
    if seen.step == 0:
        return call("write_file", path="fact.md", content=FACT)
    return call("publish", summary="A fact was found.")


def reserved(seen: SeenRequest) -> int:
    """Return how many tokens the broker reserves for the input of a request."""
    tools = tuple(
        ToolSchema(
            name=tool["name"], description=tool["description"], parameters=parameters_of(tool)
        )
        for tool in tools_of(seen.body)
    )
    return guess_input_tokens(
        ModelRequest(model=seen.model, system=seen.system, turns=seen.turns, tools=tools)
    )


def tools_of(body: Mapping[str, Any]) -> list[JsonObject]:
    """Return the tools of a request in any wire format."""
    tools = [tool.get("function", tool) for tool in body["tools"]]
    return [one for tool in tools for one in tool.get("functionDeclarations", [tool])]


def parameters_of(tool: JsonObject) -> JsonObject:
    """Return the schema of a tool's parameters, under its name in any wire format."""
    names = ("input_schema", "parametersJsonSchema", "parameters")
    schema: JsonObject = next(tool[name] for name in names if name in tool)
    return schema


def longest(body: Mapping[str, Any]) -> int:
    """Return the longest answer in tokens, under its name in any wire format."""
    settings = body.get("generationConfig", body)
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
    return next(int(settings[name]) for name in names if name in settings)

"""Requests that the tests of providers and of the broker share."""

from typing import Any

from agiraph.core.turns import ModelRequest, ToolSchema, Turn, UserTurn

BASH = ToolSchema(
    name="bash",
    description="Run a shell command.",
    parameters={"type": "object", "properties": {"command": {"type": "string"}}},
)


def ask(*turns: Turn, model: str = "anthropic/fake", **fields: Any) -> ModelRequest:
    """Return a request with these turns, or with a plain one."""
    values: dict[str, Any] = {
        "model": model,
        "system": "You are ada.",
        "turns": turns or (UserTurn(content="Begin."),),
        "tools": (BASH,),
        "entity": "shop-1/ada",
        "run_id": "run-1",
        "node_id": "n1",
    }
    return ModelRequest(**values | fields)

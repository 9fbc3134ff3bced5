"""The peer of a model turn: a bare loop over the provider's own SDK, in a process of its own.

`python -m benchmarks.bare_loop API BODY FOLDER`: asks with the system prompt and the tools of the
request in the file BODY, writes what `write_file` is called for into FOLDER, and continues until no
tool is called. Nothing is recorded, nobody can interrupt it, and what it did dies with it.

With `anthropic-same` as API each call is that very request, whatever was answered to those before.
"""

import json
import sys
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]
BEGIN = "Begin."


def anthropic_loop(body: JsonObject, folder: Path) -> None:
    """Loop over `messages.create`."""
    import anthropic

    client = anthropic.Anthropic()
    messages: list[Any] = [{"role": "user", "content": BEGIN}]
    while True:
        answer = client.messages.create(
            model=body["model"],
            max_tokens=1024,
            system=body["system"],
            tools=body["tools"],
            messages=messages,
        )
        messages.append({"role": "assistant", "content": answer.content})
        results: list[JsonObject] = [
            {"type": "tool_result", "tool_use_id": block.id, "content": _write(block.input, folder)}
            for block in answer.content
            if block.type == "tool_use" and block.name == "write_file"
        ]
        if not results:
            return
        messages.append({"role": "user", "content": results})


def anthropic_same(body: JsonObject, _folder: Path) -> None:
    """Call `messages.create` with the same request until no tool is called."""
    import anthropic

    client = anthropic.Anthropic()
    asked = {key: body[key] for key in ("model", "system", "tools", "messages", "max_tokens")}
    while client.messages.create(**asked).stop_reason == "tool_use":
        pass


def openai_loop(body: JsonObject, folder: Path) -> None:
    """Loop over `chat.completions.create`."""
    import openai

    client = openai.OpenAI()
    messages: list[Any] = [body["messages"][0], {"role": "user", "content": BEGIN}]
    while True:
        answer: Any = client.chat.completions.create(
            model=body["model"], max_tokens=1024, tools=body["tools"], messages=messages
        )
        message = answer.choices[0].message
        messages.append(message)
        calls = [c for c in message.tool_calls or () if c.function.name == "write_file"]
        for call in calls:
            result = _write(json.loads(call.function.arguments), folder)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not calls:
            return


def _write(arguments: Any, folder: Path) -> str:
    text = str(arguments["content"])
    (folder / str(arguments["path"])).write_text(text, encoding="utf-8")
    return f"Written: {len(text)} characters."


if __name__ == "__main__":
    loops = {
        "anthropic": anthropic_loop,
        "anthropic-same": anthropic_same,
        "openai": openai_loop,
    }
    loops[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text()), Path(sys.argv[3]))

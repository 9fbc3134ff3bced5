"""A brain for models without tool calling: reads the results, and writes the calls, as text."""

import re
from collections.abc import Iterator
from dataclasses import replace

from agiraph.core.turns import ToolTurn, Turn, UserTurn
from tests.fakes.replies import Brain, Call, Reply, SeenRequest

INTRODUCTION = "To call a tool, output EXACTLY this"
RESULT = re.compile(r"^\[(?P<what>Result|Error) of (?P<name>[\w-]+)\]\n", re.MULTILINE)


def in_words(brain: Brain) -> Brain:
    """Return a brain that answers as `brain` does, in words when it is asked in words."""

    def answer(seen: SeenRequest) -> Reply:
        if INTRODUCTION not in seen.system:
            return brain(seen)
        assert not seen.tools, "a model without tool calling was sent tools"
        turns = tuple(told for turn in seen.turns for told in _heard(turn))
        reply = brain(replace(seen, turns=turns))
        written = [f"<tool_call>{_written(made)}</tool_call>" for made in reply.calls]
        return replace(reply, text="\n".join([reply.text or "", *written]).strip(), calls=())

    return answer


def _heard(turn: Turn) -> Iterator[Turn]:
    """Yield a turn, or the results that a user's text tells of."""
    if not isinstance(turn, UserTurn):
        yield turn
        return
    found = list(RESULT.finditer(turn.content))
    before = turn.content[: found[0].start()] if found else turn.content
    if before.strip():
        yield UserTurn(content=before)
    ends = [*(one.start() for one in found[1:]), len(turn.content)]
    for one, end in zip(found, ends, strict=True) if found else ():
        content = turn.content[one.end() : end].removesuffix("\n\n")
        is_error = one["what"] == "Error"
        yield ToolTurn(call_id="", name=one["name"], content=content, is_error=is_error)


def _written(made: Call) -> str:
    return f'{{"name": "{made.name}", "arguments": {made.json}}}'

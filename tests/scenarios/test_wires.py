"""A team whose members use different wire formats, with a service that is in trouble at first."""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agiraph.core.turns import ToolTurn, Turn, UserTurn
from tests.fakes.model_server import Call, Reply, Responder, SeenRequest, calls, cut, rate_limited
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, Plays, bash, finish_with, node, publish, spawn

# Each actor's model, its wire format, and the text that shows that its thoughts came back to it; a
# model without tool calling is shown the error of its call instead.
MODELS = {
    "coordinator": ("anthropic/fake", "anthropic", "'signature': 'sig'"),
    "ada": ("google/fake", "google", "'thoughtSignature': 'c2ln'"),
    "bob": ("openai-responses/fake", "responses", "sealed:Hm."),
    "cleo": ("text:openai/fake", "openai", "the call could not be read (the text"),
    "dan": ("openai/fake", "openai", "'reasoning_content': 'Hm.'"),
}
WORKERS = [name for name in MODELS if name != "coordinator"]

INTRODUCTION = "To call a tool, output EXACTLY this"
RESULT = re.compile(r"^\[(?P<what>Result|Error) of (?P<name>[\w-]+)\]\n", re.MULTILINE)


@pytest.fixture
def live_home(parking_home: LiveHome) -> LiveHome:
    """Return the running home where a refused call waits only for a moment."""
    return parking_home


def in_words(responder: Responder) -> Responder:
    """Return a responder like `responder`, with calls as text if the request has no tools."""

    def answer(seen: SeenRequest) -> Reply:
        if INTRODUCTION not in seen.system:
            return responder(seen)
        assert not seen.tools, "a model without tool calling was sent tools"
        turns = tuple(one for turn in seen.turns for one in _results_in(turn))
        reply = responder(replace(seen, turns=turns))
        written = [f"<tool_call>{_written(made)}</tool_call>" for made in reply.calls]
        return replace(reply, text="\n".join([reply.text or "", *written]).strip(), calls=())

    return answer


def _results_in(turn: Turn) -> Iterator[Turn]:
    """Yield a turn, or the results in the text of a user turn."""
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


def failing_service(responder: Responder) -> Responder:
    """Return a responder that is overloaded, fails midway, and answers from the fourth call on."""
    troubles = iter([rate_limited(), rate_limited("0.01"), None])
    lock = threading.Lock()

    def answer(seen: SeenRequest) -> Reply:
        with lock:
            trouble = next(troubles, responder(seen))
        return cut(responder(seen), after_events=1) if trouble is None else trouble

    return answer


def worker(name: str) -> list[Reply | Responder]:
    """Return the steps of a worker that thinks, and whose second call is malformed."""
    write = Call("bash", {"command": f"echo by {name} > {name}.md"})
    return [
        Reply(thinking="Hm.", calls=(write,)),
        Reply(text="And now", calls=(Call("bash", raw=f'{{"command": "cat {name}.md'),)),
        bash(f"cat {name}.md"),
        lambda seen: publish(f"found: {seen.result('bash')}"),
    ]


def test_team_members_may_use_different_formats(live_home: LiveHome) -> None:
    spawned = [spawn(name, model=MODELS[name][0]) for name in WORKERS]
    nodes = [node(f"{name}-part", name) for name in WORKERS]
    leads: Plays = [
        replace(calls(*spawned), thinking="Hm."),
        calls(*nodes),
        WAIT,
        finish_with("wait"),
    ]
    live_home.plays(coordinator=leads, **{name: worker(name) for name in WORKERS})
    live_home.server.responder = failing_service(in_words(live_home.server.responder))
    outcome = live_home.complete("Write four parts", "--name", "mixed", "--model", "anthropic/fake")
    told = json.loads(outcome.result["result"].removeprefix("Done: "))["nodes"]
    summaries = {row["worker"]: row["summary"].splitlines()[0] for row in told}
    assert summaries == {name: f"found: by {name}" for name in WORKERS}
    for name in WORKERS:
        assert outcome.published(f"{name}-part") == {f"{name}.md": f"by {name}\n"}
    for name, (_, api, proof) in MODELS.items():
        seen = live_home.server.seen_by(name)
        assert {one.api for one in seen} == {api}
        assert proof in repr(seen[-1].body)
    retried = [event["kind"] for event in outcome.data("model.retry")]
    assert sorted(retried) == ["rate_limited", "rate_limited", "unreachable"]

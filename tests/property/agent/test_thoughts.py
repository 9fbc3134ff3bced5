"""The data that a service needs back with a call is kept, through any compactions.

Random conversations of a model that thinks, with calls of other models among them, are compacted
and sent, in every wire format; the fake services refuse the same requests as the real ones.
"""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.agent.compaction import SMALLEST_BUDGET, CompactionContext, shorten, tokens_of
from agiraph.agent.records import CallFinished, InputReceived, MemoryFlushStarted, ModelAnswered
from agiraph.agent.transcript import Transcript
from agiraph.core.turns import AssistantTurn, JsonObject, ModelRequest, ToolCall, Turn
from agiraph.llm.connect import FORMATS
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.models.registry import ModelTraits
from tests.fakes import wire_anthropic, wire_google, wire_openai, wire_responses
from tests.unit.agent.conversations import anew, are_whole

TASK = "# Assignment: facts\n\nFind facts."
TEXTS = st.one_of(st.text(max_size=40), st.integers(0, 20_000).map("x".__mul__))
MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
MODELS = {
    "anthropic": "anthropic/fake",
    "responses": "openai/fake",
    "google": "google/gemini-3-fake",
    "openai": "moonshot/fake",
}
KINDS = st.sampled_from(["own", "own", "own", "foreign"])
STEPS = st.one_of(
    st.tuples(st.just("heard"), TEXTS, st.just(0), st.just(True)),
    st.tuples(st.just("flush"), st.just(""), st.just(0), st.just(True)),
    st.tuples(KINDS, TEXTS, st.integers(0, 3), st.booleans()),
)
Step = tuple[str, str, int, bool]


def thoughts(api: str, text: str, calls: int, thinking: str) -> JsonObject:
    """Return the private data of an answer in which the model thought first."""
    data: JsonObject = {"api": api, "model": MODELS[api]}
    layout: list[JsonObject] = [{"text": text}] if text else []
    layout += [{"call": index} for index in range(calls)]
    match api:
        case "anthropic":
            return data | {
                "thinking": [{"type": "thinking", "thinking": thinking, "signature": "sig"}]
            }
        case "responses":
            sealed = {"type": "reasoning", "id": "rs_1", "summary": []}
            raw = {"raw": sealed | {"encrypted_content": f"sealed:{thinking}"}}
            return data | {"layout": [raw, *layout]}
        case "google":
            signed = [
                part | {"extra": {"thoughtSignature": "c2ln"}} if part.get("call") == 0 else part
                for part in layout
            ]
            return data | {"layout": signed}
        case _:
            return data | {"reasoning": thinking, "field": "reasoning_content"}


class ModelConversation:
    """A conversation with one model: its chains of calls begin with thinking, as services do.

    Within a chain it may think again, or not. Calls of another model have other thoughts, or none.
    """

    def __init__(self, api: str) -> None:
        self.api = api
        self.transcript = Transcript()
        self.hear(TASK)
        self._is_in_chain = False

    def hear(self, text: str) -> None:
        self.transcript.apply(InputReceived(content=text, from_name="runtime", ts=0))

    def play(self, step: Step) -> None:
        kind, text, calls, thinks = step
        if kind == "heard":
            self.hear(text)
        elif kind == "flush":
            if not self.transcript.is_flushing:
                self.transcript.apply(MemoryFlushStarted(content="[Runtime]: save", ts=0))
                self.answer("", 1, "own", is_thinking=True, tool="memory_write")
        else:
            self.answer(text, calls, kind, is_thinking=thinks)

    def answer(
        self, text: str, calls: int, kind: str, *, is_thinking: bool, tool: str = "bash"
    ) -> None:
        position = self.transcript.position
        made = tuple(
            ToolCall(id=f"c{position}-{n}", name=tool, arguments={"command": text[:30], "n": n})
            for n in range(calls)
        )
        is_own = kind == "own"
        must = is_own and not self._is_in_chain
        data = thoughts(self.api, text, calls, text[:200]) if must or is_thinking else None
        if data is not None and not is_own:
            data = data | {"model": "other/model"}
        said = ModelAnswered(text=text or None, tool_calls=made, provider_data=data, ts=0)
        self.transcript.apply(said)
        for call in made:
            self.transcript.apply(CallFinished(call_id=call.id, name=tool, content=text, ts=0))
        self._is_in_chain = bool(calls) and (self._is_in_chain or is_own)

    def compact(self, budget: int) -> tuple[Turn, ...]:
        shortened = shorten(
            self.transcript, CompactionContext(TASK), intro="Anew.", summary="", budget=budget
        )
        assert tokens_of(shortened) <= budget
        self.transcript.apply(anew(shortened.turns, shortened.digest))
        self._is_in_chain = False
        return shortened.turns


def body_of(api: str, turns: tuple[Turn, ...]) -> JsonObject:
    request = ModelRequest(model=MODELS[api], system="You are ada.", turns=turns)
    name = MODELS[api].partition("/")[2]
    extra = MANUAL if api == "anthropic" else {}
    traits = ModelTraits.model_validate({"api": "openai", "extra": extra})
    return dict(json.loads(FORMATS[api].encode_request(request, name, traits, RequestBodyCache())))


def check_taken(api: str, turns: tuple[Turn, ...]) -> None:
    """Send a conversation to the fake service, which raises an error for invalid turns."""
    fake: Any = {
        "anthropic": wire_anthropic,
        "responses": wire_responses,
        "google": wire_google,
        "openai": wire_openai,
    }[api]
    fake.read({"model": "fake", "stream": True} | body_of(api, turns))


@pytest.mark.parametrize("api", MODELS)
@settings(max_examples=50, deadline=None)
@given(
    parts=st.lists(st.lists(STEPS, max_size=8), min_size=1, max_size=3),
    budget=st.integers(SMALLEST_BUDGET, 12_000),
)
def test_request_after_each_compaction_is_accepted(
    api: str, parts: list[list[Step]], budget: int
) -> None:
    talk = ModelConversation(api)
    for part in parts:
        for step in part:
            talk.play(step)
            check_taken(api, tuple(talk.transcript.turns))
        turns = talk.compact(budget)
        assert are_whole(turns)
        check_taken(api, turns)


@settings(max_examples=120, deadline=None)
@given(steps=st.lists(STEPS, max_size=14), budget=st.integers(SMALLEST_BUDGET, 12_000))
def test_call_keeps_the_thinking_of_its_chain_or_becomes_text(
    steps: list[Step], budget: int
) -> None:
    talk = ModelConversation("anthropic")
    for step in steps:
        talk.play(step)
    before = {
        turn.tool_calls[0].id: turn
        for turn in talk.transcript.turns
        if isinstance(turn, AssistantTurn) and turn.tool_calls
    }
    chain_has_thoughts: dict[str, bool] = {}
    known = False
    for turn in talk.transcript.turns:
        if isinstance(turn, AssistantTurn):
            if turn.tool_calls:
                chain_has_thoughts[turn.tool_calls[0].id] = known
            known = bool(turn.tool_calls) and (known or turn.provider_data is not None)
    is_in_chain = False
    for turn in talk.compact(budget):
        if not isinstance(turn, AssistantTurn):
            continue
        if turn.tool_calls:
            first = turn.tool_calls[0].id
            assert turn.provider_data == before[first].provider_data
            leans = chain_has_thoughts[first] and turn.provider_data is None
            assert is_in_chain or not leans, "its thoughts are gone"
        is_in_chain = bool(turn.tool_calls)

"""The Messages format: bodies with cache marks, answers from events."""

from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, UserTurn
from agiraph.llm.wire.anthropic import AnthropicReader
from tests.fakes import wire_anthropic
from tests.unit.llm.bodies import anthropic_body, anthropic_messages
from tests.unit.llm.requests import ask

MARK = {"type": "ephemeral"}


def round_of(number: int) -> tuple[Turn, ...]:
    call = ToolCall(id=f"c{number}", name="bash", arguments={"command": "ls"})
    return (
        AssistantTurn(text="Looking.", tool_calls=(call,)),
        ToolTurn(call_id=call.id, name="bash", content="a b", is_error=number == 2),
    )


def test_cache_marks_are_on_tools_system_and_the_last_two_user_messages() -> None:
    body = anthropic_body(ask(UserTurn(content="Begin."), *round_of(1), *round_of(2)), "fake")
    assert body["tools"][-1]["cache_control"] == MARK
    assert body["system"][0]["cache_control"] == MARK
    users = [m for m in body["messages"] if m["role"] == "user"]
    marked = ["cache_control" in message["content"][-1] for message in users]
    assert marked == [False, True, True]


def test_an_earlier_request_is_a_prefix_of_the_next_but_for_the_marks() -> None:
    def plain(turns: tuple[Turn, ...]) -> list[object]:
        messages = anthropic_messages(turns)
        for message in messages:
            for block in message["content"]:
                block.pop("cache_control", None)
        return list(messages)

    turns: tuple[Turn, ...] = (UserTurn(content="Begin."), *round_of(1))
    longer = plain((*turns, *round_of(2)))
    assert longer[:3] == plain(turns)


def test_interrupted_turn_is_marked() -> None:
    cut = AssistantTurn(text="I was about", interrupted=True)
    messages = anthropic_messages((UserTurn(content="x"), cut, UserTurn(content="stop")))
    assert messages[1]["content"] == [{"type": "text", "text": "I was about\n[interrupted]"}]


def test_temperature_is_sent_only_if_set() -> None:
    assert "temperature" not in anthropic_body(ask(), "fake")
    assert anthropic_body(ask(temperature=0.0), "fake")["temperature"] == 0.0


def test_an_error_of_a_tool_is_marked() -> None:
    message = anthropic_messages((UserTurn(content="x"), *round_of(2)))[-1]
    assert message["content"][0]["is_error"] is True


def test_unknown_events_are_ignored() -> None:
    assert AnthropicReader().feed({"type": "something_new", "data": 1}) == ""


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def test_foreign_call_becomes_text_if_thinking_is_on() -> None:
    model = "anthropic/fake"
    first, result = round_of(1)
    assert isinstance(first, AssistantTurn)
    thought = {"api": "anthropic", "model": model, "thinking": [THOUGHT]}
    own = first.model_copy(update={"provider_data": thought})
    foreign = (UserTurn(content="Begin."), first, result, own, result, *round_of(2))
    body = anthropic_body(ask(*foreign), "fake", extra=BUDGET)
    told, answer, *_ = body["messages"]
    assert [block["type"] for block in told["content"]] == ["text"] * 3
    assert 'bash {"command": "ls"}' in told["content"][1]["text"]
    assert told["content"][2]["text"] == "[Result of bash]: a b"
    assert [block["type"] for block in answer["content"]] == ["thinking", "text", "tool_use"]
    kinds = [[b["type"] for b in m["content"]] for m in body["messages"][2:]]
    assert kinds == [["tool_result"], ["text", "tool_use"], ["tool_result"]], "one chain of calls"
    wire_anthropic.read(body)
    as_it_likes = anthropic_body(ask(*foreign), "fake")["messages"]
    assert as_it_likes[1]["content"][-1]["type"] == "tool_use"

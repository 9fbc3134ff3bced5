"""The scripted responder: the addressed actor, the due step, and an error without a step."""

import pytest

from agiraph.core.turns import AssistantTurn, Turn, UserTurn
from tests.fakes.model_server import Reply, Script, SeenRequest, call, calls, say


def seen(system: str, *turns: Turn) -> SeenRequest:
    return SeenRequest("anthropic", "fake", system, turns, (), {}, {})


SCRIPT = Script({"coordinator": [say("lead")], "ada": [say("one"), say("two")]})


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("You are shop, the coordinator of a team. You are calm.", "lead"),
        ("You are the coordinator.", "lead"),
        ("You are ada, a writer. One of a team that works for the coordinator.", "one"),
        ("You are ada, the coordinator of a team.", "lead"),
        ("# Identity\nyou are **Ada**, a writer.", "one"),
    ],
)
def test_the_actor_is_named_in_the_system_prompt(system: str, text: str) -> None:
    assert SCRIPT(seen(system)).text == text


def test_the_step_is_the_number_of_whole_answers() -> None:
    begin, whole = UserTurn(content="x"), AssistantTurn(text="one")
    cut = AssistantTurn(text="on\n[interrupted]")
    assert SCRIPT(seen("You are ada", begin, cut, begin)).text == "one"
    assert SCRIPT(seen("You are ada", begin, cut, begin, whole, begin)).text == "two"


def test_missing_step_of_a_script_raises_an_error() -> None:
    two = (AssistantTurn(text="a"), AssistantTurn(text="b"))
    with pytest.raises(LookupError, match="ada has no step 2"):
        SCRIPT(seen("You are ada", *two))
    with pytest.raises(LookupError, match="no actor"):
        SCRIPT(seen("You are bob"))


def test_script_step_may_be_a_function_and_other_actors_use_the_default() -> None:
    def echo(request: SeenRequest) -> Reply:
        return say(request.said)

    script = Script({"ada": [echo], "*": echo})
    assert script(seen("You are ada", UserTurn(content="hello"))).text == "hello"
    assert script(seen("You are bob", UserTurn(content="hi"))).text == "hi"


def test_calls_of_several_replies_become_one() -> None:
    reply = calls(call("a", x=1), call("b"), text="Both.")
    assert [(one.name, dict(one.arguments)) for one in reply.calls] == [("a", {"x": 1}), ("b", {})]
    assert reply.stop() == "tool_use"

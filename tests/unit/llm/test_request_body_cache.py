"""The part before the messages of a request: encoded once, and never another's."""

from agiraph.core.turns import ModelRequest, ToolSchema, UserTurn
from agiraph.llm.request_body_cache import JsonObject, RequestBodyCache, as_json

READ = ToolSchema(name="read", description="reads", parameters={"type": "object"})
WRITE = ToolSchema(name="write", description="writes", parameters={"type": "object"})


def request(
    system: str, *tools: ToolSchema, entity: str = "a/ada", turn: str = "x"
) -> ModelRequest:
    return ModelRequest(
        model="anthropic/fake",
        system=system,
        turns=(UserTurn(content=turn),),
        tools=tools,
        entity=entity,
    )


def test_head_is_built_once_for_requests_with_the_same_beginning() -> None:
    memo = RequestBodyCache()
    made: list[str] = []

    def head(asked: ModelRequest) -> bytes:
        def make() -> JsonObject:
            made.append(asked.system)
            return {"system": asked.system, "tools": [tool.name for tool in asked.tools]}

        return memo.head(asked, make)

    first = head(request("you are ada", READ))
    assert first == as_json({"system": "you are ada", "tools": ["read"]})
    assert head(request("you are ada", READ.model_copy(), turn="y")) == first
    assert made == ["you are ada"]
    assert head(request("you are ada", READ, WRITE)) != first
    assert head(request("you are ada, really", READ)) != first
    assert head(request("you are bob", READ, entity="a/bob")) != first
    assert head(request("you are ada", READ)) == first


def test_a_beginning_is_known_again_only_under_the_same_system_prompt() -> None:
    memo = RequestBodyCache()
    first = request("you are ada", READ)
    assert memo.joined(first, b"", [b'"you are ada"', b'"x"'], 2, 1) == b'"you are ada","x"'
    assert memo.beginning(first) == (1, b'"you are ada","x"')
    second = first.model_copy(update={"system": "you are ada, who remembers"})
    assert memo.beginning(second) == (0, b"")

"""What stands before the messages of a request: encoded once, and never another's."""

from agiraph.providers.memo import JsonObject, Memo, as_json
from agiraph.turns import ModelRequest, ToolSchema, UserTurn

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


def test_a_head_is_made_once_for_requests_that_begin_alike() -> None:
    memo = Memo()
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

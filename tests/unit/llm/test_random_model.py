"""The random model: repeatable, harmless, and mostly within the schemas of its request."""

import jsonschema
import pytest

from agiraph.core.turns import AssistantTurn, ModelRequest, ToolCall, ToolTurn, UserTurn
from agiraph.llm.embedded.random_model import AGENT_COMMANDS, COMMANDS
from agiraph.testing import RandomModel
from agiraph.tools.table import TOOLS

SCHEMAS = {tool.name: tool.schema() for tool in TOOLS}


def request(turns: int = 1, entity: str = "shop/ada-1") -> ModelRequest:
    said = tuple(UserTurn(content=f"[Message from bob]: node-{number}") for number in range(turns))
    return ModelRequest(
        model="script/random-1", system="", turns=said, tools=tuple(SCHEMAS.values()), entity=entity
    )


def calls_of(seeds: int) -> list[ToolCall]:
    answers = [
        RandomModel(seed).answer(request(turns)) for seed in range(seeds) for turns in (1, 2)
    ]
    return [call for answer in answers for call in answer.tool_calls]


def test_same_request_is_answered_the_same_way() -> None:
    assert RandomModel(3).answer(request()) == RandomModel(3).answer(request())


def test_seed_entity_and_place_change_the_answer() -> None:
    answers = {
        RandomModel(seed).answer(request(turns, entity)).model_dump_json()
        for seed in range(4)
        for turns in (1, 2)
        for entity in ("shop/ada-1", "shop/coordinator")
    }
    assert len(answers) == 16


def test_every_tool_is_called_and_most_arguments_fit_its_schema() -> None:
    calls = [call for call in calls_of(400) if call.name in SCHEMAS and call.malformed is None]
    assert {call.name for call in calls} == set(SCHEMAS)
    good = 0
    for call in calls:
        schema = SCHEMAS[call.name].parameters
        good += jsonschema.Draft202012Validator(schema).is_valid(call.arguments)
    assert 0.5 < good / len(calls) < 0.95


@pytest.mark.parametrize(
    ("field", "known"), [("command", COMMANDS), ("agent_command", AGENT_COMMANDS)]
)
def test_commands_come_from_a_fixed_list(field: str, known: tuple[str, ...]) -> None:
    found = [call.arguments[field] for call in calls_of(400) if field in call.arguments]
    assert found
    assert {str(one) for one in found} <= set(known)


def test_answers_survive_the_way_to_the_conversation() -> None:
    for seed in range(50):
        answer = RandomModel(seed).answer(request())
        turn = AssistantTurn.model_validate_json(answer.turn().model_dump_json())
        assert [call.id for call in turn.tool_calls] == [call.id for call in answer.tool_calls]


def test_names_of_the_conversation_are_used_as_arguments() -> None:
    said = (UserTurn(content="ask zoe-77"), ToolTurn(call_id="1", name="wait", content="zoe-77"))
    asked = request().model_copy(update={"turns": said})
    texts = [str(RandomModel(seed).answer(asked).tool_calls) for seed in range(100)]
    assert any("zoe-77" in text for text in texts)

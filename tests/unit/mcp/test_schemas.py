"""A tool's parameters, whatever schema its server writes, in a form that every service accepts."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agiraph.mcp.schemas import LEFT_OUT, MOST_BYTES, PARAMETER, parameters_of
from agiraph.tools.table import TOOLS

JsonObject = dict[str, Any]
TEXT = {"type": "string"}


def properties(**said: Any) -> JsonObject:
    """Return the shown form of the parameters of a schema."""
    shown: JsonObject = parameters_of({"type": "object", "properties": said}).schema["properties"]
    return shown


MENDED: list[tuple[str, Any, Any]] = [
    # the schema of one parameter by a server, and its shown form
    ("anything", True, {}),
    ("nothing", False, None),
    ("an empty schema", {}, {}),
    ("an array without items", {"type": "array"}, {"type": "array", "items": {}}),
    ("any items", {"type": "array", "items": True}, {"type": "array", "items": {}}),
    (
        "a tuple of the older drafts",
        {"type": "array", "items": [TEXT, {"type": "number"}]},
        {"type": "array", "items": {"anyOf": [TEXT, {"type": "number"}]}},
    ),
    (
        "a tuple",
        {"type": "array", "prefixItems": [TEXT]},
        {"type": "array", "items": {"anyOf": [TEXT]}},
    ),
    ("a dangling reference", {"$ref": "#/$defs/none"}, {}),
    ("a reference elsewhere", {"$ref": "https://x.example/y.json", "title": "t"}, {"title": "t"}),
    ("a reference that is a number", {"$ref": 7, "type": "string"}, TEXT),
    ("an empty enum", {"enum": [], **TEXT}, TEXT),
    ("an enum of null", {"type": "null", "enum": ["A"]}, {"type": "null"}),
    ("no type", {"type": None, "description": "d"}, {"description": "d"}),
    ("required of draft 3", {"required": True, **TEXT}, TEXT),
    (
        "what is required and is not there",
        {"type": "object", "properties": {"a": TEXT}, "required": ["a", "b", 7]},
        {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
    ),
    ("properties that are a list", {"type": "object", "properties": []}, {"type": "object"}),
    ("closed properties", {"additionalProperties": False}, {"additionalProperties": False}),
    ("an infinite default", {"default": float("inf"), **TEXT}, TEXT),
    ("keywords of no use", {"$id": "x", "$comment": "c", "$anchor": "a", **TEXT}, TEXT),
]


@pytest.mark.parametrize(("schema", "shown"), [m[1:] for m in MENDED], ids=[m[0] for m in MENDED])
def test_parameter_schema_is_repaired(schema: Any, shown: Any) -> None:
    assert properties(p=schema) == ({} if shown is None else {"p": shown})


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    said = {"definitions": {"type": "string"}, "id": {"type": "number"}, "items": TEXT}
    assert properties(**said) == said


def test_references_are_unfolded_and_one_to_itself_is_named() -> None:
    tree = {
        "$defs": {"Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}},
        "properties": {"tree": {"$ref": "#/$defs/Tree", "description": "it"}, "title": {}},
    }
    again = {"type": "object", "description": "again like Tree"}
    assert parameters_of(tree).schema == {
        "type": "object",
        "properties": {
            "tree": {"type": "object", "properties": {"child": again}, "description": "it"},
            "title": {},
        },
    }
    whole = parameters_of({"type": "object", "properties": {"child": {"$ref": "#"}}}).schema
    assert "again like the whole" in str(whole)


@pytest.mark.parametrize("variants", [1, 4, 12])
def test_a_recursive_schema_does_not_grow(variants: int) -> None:
    """A language of filters: each node is one operator of several, with nodes inside."""
    node = {"$ref": "#/$defs/node"}
    inner = {"left": node, "right": node, "all": {"type": "array", "items": node}}
    operators = [
        {"type": "object", "properties": {"op": {"const": f"op{number}"}, **inner}}
        for number in range(variants)
    ]
    said = {"properties": {"filter": node}, "$defs": {"node": {"anyOf": operators}}}
    found = parameters_of(said)
    assert len(json.dumps(found.schema)) < 1.5 * len(json.dumps(said))
    assert len(found.schema["properties"]["filter"]["anyOf"]) == variants
    assert not found.is_partial


def test_references_that_multiply_are_shown_in_part() -> None:
    levels = {
        f"n{n}": {"properties": {name: {"$ref": f"#/$defs/n{n + 1}"} for name in "abcdef"}}
        for n in range(12)
    }
    found = parameters_of({"properties": {"a": {"$ref": "#/$defs/n0"}}, "$defs": levels})
    assert found.is_partial
    assert set(found.schema["properties"]) == {"a"}


def test_alternatives_at_the_top_become_one_set_of_parameters() -> None:
    one, two = {"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": TEXT}}
    every = {"properties": {"c": TEXT}, "required": ["c"]}
    assert parameters_of({"anyOf": [one, two], "allOf": [every]}).schema == {
        "type": "object",
        "properties": {"a": TEXT, "b": TEXT, "c": TEXT},
        "required": ["c"],
    }


def test_names_that_services_refuse_are_replaced_and_known() -> None:
    names = ["a b.c", "$x", "größe", "n" * 80, "a_b.c", ""]
    found = parameters_of({"properties": dict.fromkeys(names, TEXT), "required": names})
    shown = found.schema["properties"]
    assert all(PARAMETER.fullmatch(name) for name in shown)
    assert [found.renamed.get(name, name) for name in shown] == names
    assert found.schema["required"] == list(shown)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["$ref", "$defs", "properties", "items", "anyOf", "allOf", "type", "required", "x"]
            ),
            inner | st.sampled_from(["#", "#/properties/x", "#/$defs/x", "object", "array"]),
            max_size=4,
        )
    ),
    max_leaves=16,
)


@given(json_values)
@example({"$ref": "#", "$defs": None, "anyOf": [None]})
def test_any_value_becomes_an_object_schema_that_can_be_sent(said: Any) -> None:
    found = parameters_of(said)
    assert found.schema["type"] == "object"
    assert all(PARAMETER.fullmatch(name) for name in found.schema["properties"])
    assert set(found.schema.get("required", ())) <= set(found.schema["properties"])
    assert len(json.dumps(found.schema, ensure_ascii=False, allow_nan=False)) <= MOST_BYTES
    assert not LEFT_OUT & set(found.schema)
    assert "$ref" not in found.schema


def test_schemas_of_built_in_tools_are_complete() -> None:
    for tool in TOOLS:
        assert not parameters_of(tool.params.model_json_schema()).is_partial, tool.name
